internal import Foundation
internal import GRDB
internal import StoreExchange
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// The files of a store that follows the account, and how they are opened.
struct StoreFiles: Sendable {
    /// The file that the app names.
    let path: FilePath
    let identifier: ContainerIdentifier
    let home: DeviceHome
    var context: StoreContext
    /// Called at each moment of the keeper's work; nil outside of tests.
    var moments: (@Sendable (KeeperMoment) async -> Void)?

    var content: String { context.options.contentName }

    /// The same for a file that is not in use yet: nobody hears what befalls it.
    var muted: StoreFiles {
        var muted = self
        muted.context.notices = Broadcast()
        return muted
    }

    /// Opens the file of a place, or makes it; nothing of a container is looked at.
    func open(_ place: StoreTransition.Place) async throws -> StoreBase {
        switch place {
        case .local:
            let peer = try await blocking {
                let peer = try localPeer()
                try bringAlong(StoreFile.path(for: path, peer: peer, contentName: content))
                return peer
            }
            return try await open(peer, "", .local, identity: PeerIdentifier(account: peer.account, uuid: UUID()))
        case .fallback(let account):
            let peer = try await blocking { try home.peer(of: account, in: identifier) }
            return try await open(peer, account.description, .fallback, identity: PeerIdentifier(account: account.description, uuid: UUID()))
        case .account(let account):
            let container = try await blocking { try UbiquityContainer(recorded: identifier, of: account, home: home, files: context.files) }
            return try await open(container.peer, account.description, .store, in: container, identity: container.peer)
        }
    }

    // A new file's identity, where no container knows it, is of the file alone: one that is lost and made anew has said nothing of what another took in from the first.
    private func open(
        _ peer: PeerIdentifier, _ account: String, _ place: StoreFilePlace, in container: UbiquityContainer? = nil, identity: PeerIdentifier
    ) async throws -> StoreBase {
        try await open(
            at: StoreFile.path(for: path, peer: peer, contentName: content, place: place), account, place, in: container, identity: identity)
    }

    func open(
        at file: FilePath, _ account: String, _ place: StoreFilePlace, in container: UbiquityContainer? = nil, identity: PeerIdentifier
    ) async throws -> StoreBase {
        let newState = StoreState(
            account: account, container: identifier.description, content: context.options.content, peer: identity, epoch: 1, sequence: 0,
            predecessor: nil,
            clock: .least, attached: place != .store, receipt: 0, place: place)
        // The account's own gets it by joining what began with it.
        let plain = place != .store ? try await blocking { isFirst ? context.options.existingDatabase : nil } : nil
        return try await StoreBase.open(file, newState: newState, in: container, plain: plain, context)
    }

    // MARK: Out of the way

    /// Puts an account's file that cannot be read where it harms nobody.
    ///
    /// - Parameter directory: the one in which it lies, with what belongs to it.
    /// - Returns: the directory in which it lies from then on.
    /// - Throws: `UbiquitousStoreError`.
    func setDamagedAside(_ directory: FilePath) async throws -> FilePath {
        try await blocking {
            let aside = directory.removingLastComponent().appending("damaged-\(UUID().uuidString.lowercased())")
            try rename(directory, to: aside)
            return aside
        }
    }

    /// Gives a directory another name, durably.
    ///
    /// - Throws: `UbiquitousStoreError`, also where there is something of that name.
    func rename(_ directory: FilePath, to target: FilePath) throws {
        do {
            try context.files.renameNew(directory, to: target)
            try context.files.syncDirectory(target.removingLastComponent())
        } catch {
            throw UbiquitousStoreError(
                .fileSystem, "\(directory) cannot be moved out of the way; check the owner and mode of the directory that it lies in.",
                path: directory, cause: error)
        }
    }

    /// Where the file of a place lies, or would; nil where that has not been settled.
    func file(of place: StoreTransition.Place) throws -> FilePath? { try file(of: place, in: identifier) }

    /// Where the file of a place lies, or would, in the container of an identifier; nil where that has not been settled.
    func file(of place: StoreTransition.Place, in identifier: ContainerIdentifier) throws -> FilePath? {
        let peer = try place.account.map { try home.knownPeer(of: $0, in: identifier) } ?? localPeers().first
        var kind = StoreFilePlace.store
        if case .fallback = place { kind = .fallback }
        return peer.map { StoreFile.path(for: path, peer: $0, contentName: content, place: kind) }
    }

    /// Whether the file of a place is there.
    func exists(_ place: StoreTransition.Place) async throws -> Bool {
        try await blocking { try file(of: place).map { FileManager.default.fileExists(atPath: $0.string) } ?? false }
    }

    /// The files that are there, of whichever account that is known here.
    func locations() async throws -> [StoreLocation] {
        try await blocking {
            let places = try [.local] + home.knownAccounts.flatMap { [StoreTransition.Place.account($0), .fallback($0)] }
            let found = try places.compactMap { place in try file(of: place).map { StoreLocation(place: place, file: $0) } }
            return found.filter { FileManager.default.fileExists(atPath: $0.file.string) }
        }
    }

    /// Whether there is no file of the store yet, of whomever: only the first takes over what the app kept before, so that one account gets it.
    private var isFirst: Bool {
        let support = StoreFile.supportDirectory(of: path)
        let peers = ((try? FileManager.default.contentsOfDirectory(atPath: support.string)) ?? []).compactMap { PeerIdentifier($0) }
        return peers.allSatisfy { peer in
            [StoreFilePlace.store, .fallback].allSatisfy { place in
                !FileManager.default.fileExists(atPath: StoreFile.path(for: path, peer: peer, contentName: content, place: place).string)
            }
        }
    }

    /// Whether an account's content has once been read as far as it was known.
    func isGathered(_ account: AccountName) async throws -> Bool {
        guard try await exists(.account(account)) else { return false }
        return try await Self.isGathered(open(.account(account)))
    }

    static func isGathered(_ base: StoreBase) async throws -> Bool {
        try await base.pool.read { db in try Bool.fetchOne(db, sql: "SELECT gathered FROM ubiquity_state")! }
    }

    /// Notes that an account's content has been read.
    static func noteGathered(_ base: StoreBase) async throws {
        try await base.pool.write { db in try db.execute(sql: "UPDATE ubiquity_state SET gathered = 1") }
    }

    // MARK: The device's own

    private static let local = "local"

    /// The name under which the local files lie: found, or given now.
    private func localPeer() throws -> PeerIdentifier {
        if let peer = localPeers().first { return peer }
        let directory = StoreFile.supportDirectory(of: path)
        do {
            try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
            // Two programs may open the store for the first time at once.
            guard let lock = try StoreLock.take(directory.appending("local"), within: .seconds(60), unless: { Task.isCancelled }) else {
                throw Errno.timedOut
            }
            defer { withExtendedLifetime(lock) {} }
            if let peer = localPeers().first { return peer }
            let peer = PeerIdentifier(account: Self.local, uuid: UUID())
            try FileManager.default.createDirectory(atPath: directory.appending(peer.description).string, withIntermediateDirectories: true)
            return peer
        } catch {
            throw UbiquitousStoreError(
                .fileSystem, "The store's directory \(directory) cannot be written; check its owner, mode and free space.", path: directory,
                cause: error)
        }
    }

    private func localPeers() -> [PeerIdentifier] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: StoreFile.supportDirectory(of: path).string)) ?? []
        return names.compactMap { PeerIdentifier($0) }.filter { $0.account == Self.local && !isAccounts($0) }.sorted()
    }

    /// Whether a name is that of an account which is called the same.
    private func isAccounts(_ peer: PeerIdentifier) -> Bool {
        guard let account = try? AccountName(Self.local) else { return false }
        return (try? home.knownPeer(of: account, in: identifier)) == peer
    }
}
