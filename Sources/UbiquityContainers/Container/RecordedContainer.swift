internal import Foundation
package import SystemPackage

// Reads the containers that the device home records, without access to a synchronised file system.
extension DeviceHome {
    /// Returns this device's peer in an account's container; nil if the account has not used the container on this
    /// device.
    ///
    /// - Parameters:
    ///   - account: the account, which need not be signed in.
    ///   - identifier: the container's identifier.
    /// - Returns: the peer, which may not be attached yet.
    /// - Throws: `ContainerError` when the home cannot be read or understood.
    package func knownPeer(of account: AccountName, in identifier: ContainerIdentifier) throws(ContainerError) -> PeerIdentifier? {
        try HomeFiles(home: self).record(of: account)?.peers[identifier.description].flatMap { PeerIdentifier($0.identifier) }
    }

    /// Returns this device's peer in an account's container; chooses a new one if needed, which attaches when the
    /// container is used.
    ///
    /// - Parameters:
    ///   - account: an account that has been signed in on this device.
    ///   - identifier: the container's identifier.
    /// - Returns: the peer.
    /// - Throws: `ContainerError` when the home cannot be read, understood or written.
    package func peer(of account: AccountName, in identifier: ContainerIdentifier) throws(ContainerError) -> PeerIdentifier {
        if let peer = try knownPeer(of: account, in: identifier) { return peer }
        let files = HomeFiles(home: self)
        return try files.locked { () throws(ContainerError) in
            if let peer = try knownPeer(of: account, in: identifier) { return peer }
            guard var record = try files.record(of: account) else {
                throw ContainerError(
                    .malformed, "\(files.recordFile(of: account)) is missing; sign in to \(account) again.", path: files.recordFile(of: account))
            }
            let peer = PeerIdentifier(account: account.description, uuid: UUID())
            record.peers[identifier.description] = .init(identifier: peer.description, attached: false)
            try files.write(record, of: account)
            return peer
        }
    }

    /// The accounts that have been signed in on this device.
    ///
    /// - Returns: the accounts, sorted; none if the home does not exist.
    /// - Throws: `ContainerError` when the home cannot be read.
    package var knownAccounts: [AccountName] {
        get throws(ContainerError) {
            let directory = HomeFiles(home: self).accounts
            let names: [String]
            do {
                names = try FileManager.default.contentsOfDirectory(atPath: directory.string)
            } catch CocoaError.fileReadNoSuchFile {
                return []
            } catch {
                throw ContainerError(.fileSystem, "\(directory) cannot be read; check its owner and mode.", path: directory, cause: error)
            }
            let accounts = names.filter { $0.hasSuffix(".json") }.compactMap { try? AccountName(String($0.dropLast(5))) }
            return accounts.sorted { $0.description < $1.description }
        }
    }

    /// Returns the accounts that have been signed in on this device and keep their containers below a root.
    ///
    /// - Parameter root: a containers root, absolute.
    /// - Returns: the accounts by name; none if the home does not exist yet.
    /// - Throws: `ContainerError` when the home cannot be read or understood.
    package func accounts(below root: FilePath) throws(ContainerError) -> [AccountName] {
        let files = HomeFiles(home: self)
        var found: [AccountName] = []
        for account in try knownAccounts { if let record = try files.record(of: account), self.root(of: record) == root { found.append(account) } }
        return found
    }
}

extension UbiquityContainer {
    /// Makes the value of an account's container from the records of the device home.
    ///
    /// The container may never have been created; another initialiser creates it.
    ///
    /// - Parameters:
    ///   - identifier: the container's identifier.
    ///   - account: an account that has been signed in on this device.
    ///   - home: the device home.
    ///   - files: the layer that changes the container's files.
    /// - Throws: `ContainerError` when the home cannot be read, understood or written.
    package init(
        recorded identifier: ContainerIdentifier, of account: AccountName, home: DeviceHome, files: any FileLayer
    ) throws(ContainerError) {
        let peer = try home.peer(of: account, in: identifier)
        guard let record = try HomeFiles(home: home).record(of: account) else {
            throw ContainerError(.malformed, "The record of \(account) is gone; sign in again.", path: HomeFiles(home: home).recordFile(of: account))
        }
        self.init(identifier: identifier, account: account, peer: peer, home: home, root: home.root(of: record), files: files, identity: nil)
    }
}
