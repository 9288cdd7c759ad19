package import SystemPackage

/// A container of the signed-in account, according to its directory and this device's record.
package struct KnownContainer: Sendable {
    package var identifier: ContainerIdentifier
    package var path: FilePath
    /// This device's peer in it; nil if no app of this device has used it.
    package var peer: PeerIdentifier?
    package var state: State
    package var isDeclared: Bool

    /// The container's state on this device.
    package enum State: Sendable, Hashable, CustomStringConvertible {
        case attachment(ContainerAttachment)
        /// It exists, and no app of this device has used it.
        case unused
        /// It is declared, and does not exist yet.
        case notMade

        package var description: String {
            switch self {
            case .attachment(let attachment): attachment.description
            case .unused: "not used on this device yet"
            case .notMade: "declared, and not made yet"
            }
        }
    }

    /// Returns the container that a text names.
    ///
    /// - Parameters:
    ///   - text: a path, or the identifier of a container of the signed-in account.
    ///   - home: the device home; nil if there is none.
    /// - Returns: the container's directory; the text as a path if it is not the name of an existing container.
    package static func path(named text: String, in home: DeviceHome?) -> FilePath {
        let path = FilePath(text)
        // An existing path is what the text says, even if a container has that name too.
        guard !text.isEmpty, !text.contains("/"), PathFacts(at: path).kind == .nothing, let home, let root = try? home.containersRoot,
            let account = try? home.account
        else { return path }
        let named = root.appending(account.description).appending(text)
        return PathFacts(at: named).kind == .directory ? named : path
    }

    /// Lists the containers that exist, have existed, or are declared.
    ///
    /// - Parameter home: a device home.
    /// - Returns: the containers, by identifier.
    /// - Throws: `ContainerError`: `signedOut`, or when the home or the root cannot be read.
    package static func list(in home: DeviceHome) throws(ContainerError) -> [KnownContainer] {
        guard let (account, record) = try home.signedIn else {
            throw ContainerError(
                .signedOut, "No account is signed in at \(home.path); sign in with: ubcontrol sign-in ACCOUNT --home \(home.path)", path: home.path)
        }
        let files = LinuxFileLayer()
        let root = home.root(of: record)
        if let since = files.silence(of: root) { throw ContainerError.silent(root, since: since) }
        let directory = root.appending(account.description)
        let declared = Set(try UbiquityContainer.declared(in: home).map(\.description))
        var names = declared.union(record.peers.keys)
        do {
            names.formUnion(try files.names(in: directory))
        } catch .noSuchFileOrDirectory {
        } catch {
            throw ContainerError(.fileSystem, "\(directory) cannot be listed; check its owner and mode.", path: directory, cause: error)
        }
        var found: [KnownContainer] = []
        for name in names.sorted() {
            guard let identifier = try? ContainerIdentifier(name) else { continue }
            let path = UbiquityContainer.path(root: root, account: account, identifier: identifier)
            let isThere = (try? files.kind(of: path.appending(UbiquityContainer.markDirectoryName))) == .directory
            let entry = record.peers[name]
            let peer = entry.flatMap { PeerIdentifier($0.identifier) }
            guard isThere || entry != nil || declared.contains(name) else { continue }
            let state: State =
                if let peer, entry?.attached == true {
                    .attachment(home.attachment(of: peer, in: identifier, account, at: path, files))
                } else {
                    isThere ? .unused : .notMade
                }
            found.append(KnownContainer(identifier: identifier, path: path, peer: peer, state: state, isDeclared: declared.contains(name)))
        }
        return found
    }
}
