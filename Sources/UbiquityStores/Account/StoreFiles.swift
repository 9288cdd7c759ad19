internal import Foundation
internal import GRDB
internal import StoreExchange
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// The files of a store that follows the account, and how they are opened.
struct StoreFiles: Sendable {
    /// The path that the app gives its store.
    let path: FilePath
    let identifier: ContainerIdentifier
    let home: DeviceHome
    var context: StoreContext
    /// Called at each moment of the keeper's work; nil outside of tests.
    var moments: (@Sendable (KeeperMoment) async -> Void)?

    var content: String { context.options.contentName }

    /// The files of a store without its observers: for a file that is not in use yet.
    var withoutObservers: StoreFiles {
        var files = self
        files.context.notices = Broadcast()
        return files
    }

    /// Returns the file of an account that lies aside while a new one is made; it need not exist.
    func former(of account: AccountName) -> FormerFile { FormerFile(files: self, account: account) }

    /// Opens or creates the file of a place, without access to a container.
    func open(_ place: StoreTransition.Place) async throws -> StoreBase {
        switch place {
        case .local:
            let peer = try await blocking { try localPeer() }
            let identity = PeerIdentifier(account: peer.account, uuid: UUID())
            do {
                return try await open(peer, "", .local, identity: identity)
            } catch let error as UbiquitousStoreError where error.code == .foreignStore {
                // The app may name another container than at the last opening.
                try await blocking { try bringAlong(StoreFile.path(for: path, peer: peer, contentName: content)) }
                return try await open(peer, "", .local, identity: identity)
            }
        case .fallback(let account):
            let peer = try await blocking { try home.peer(of: account, in: identifier) }
            return try await open(peer, account.description, .fallback, identity: PeerIdentifier(account: account.description, uuid: UUID()))
        case .account(let account):
            let container = try await blocking { try UbiquityContainer(recorded: identifier, of: account, home: home, files: context.files) }
            return try await open(container.peer, account.description, .store, in: container, identity: container.peer)
        }
    }

    // A new fallback or local file gets an identity of its own. If the file is lost and made again, the new identity
    // has published nothing that others could have taken in under the old one.
    private func open(
        _ peer: PeerIdentifier, _ account: String, _ place: StoreFilePlace, in container: UbiquityContainer? = nil, identity: PeerIdentifier
    ) async throws -> StoreBase {
        try await open(
            at: StoreFile.path(for: path, peer: peer, contentName: content, place: place), account, place, in: container, identity: identity)
    }

    func open(
        at file: FilePath, _ account: String, _ place: StoreFilePlace, in container: UbiquityContainer? = nil, identity: PeerIdentifier
    ) async throws -> StoreBase {
        let newState = newState(account, place, identity: identity)
        // The account's own file receives that content by joining the file that began with it.
        let plain = place != .store ? try await blocking { isFirst ? context.options.existingDatabase : nil } : nil
        return try await StoreBase.open(file, newState: newState, in: container, plain: plain, context)
    }

    private func newState(_ account: String, _ place: StoreFilePlace, identity: PeerIdentifier) -> StoreState {
        StoreState(
            account: account, container: identifier.description, content: context.options.content, peer: identity, epoch: 1, sequence: 0,
            predecessor: nil, clock: .least, attached: place != .store, receipt: 0, place: place)
    }

    /// Looks at the file of a place, without opening it as a store does.
    ///
    /// - Returns: what it shows; nil if there is no file, or if only opening it tells.
    func glance(at place: StoreTransition.Place) async throws -> FileGlance? {
        try await blocking {
            guard let peer = try peer(of: place, in: identifier) else { return nil }
            let kind = place.fileKind
            return FileGlance.of(
                StoreFile.path(for: path, peer: peer, contentName: content, place: kind), schema: context.schema,
                expected: newState(place.account?.description ?? "", kind, identity: peer))
        }
    }

    /// Opens the file of a place, if it exists and may hold something that another file lacks.
    func openUnlessSettled(_ place: StoreTransition.Place) async throws -> StoreBase? {
        guard try await exists(place), try await glance(at: place)?.isSettled != true else { return nil }
        return try await open(place)
    }

    // MARK: Out of the way

    /// Moves an account's unreadable file aside.
    ///
    /// - Parameter directory: the directory of the file, with everything that belongs to it.
    /// - Returns: the new path of the directory.
    /// - Throws: `UbiquitousStoreError`.
    func setDamagedAside(_ directory: FilePath) async throws -> FilePath {
        try await blocking {
            let aside = directory.removingLastComponent().appending("damaged-\(UUID().uuidString.lowercased())")
            try rename(directory, to: aside)
            return aside
        }
    }

    /// Renames a directory durably.
    ///
    /// - Throws: `UbiquitousStoreError`, also if the target exists.
    func rename(_ directory: FilePath, to target: FilePath) throws {
        do {
            try context.files.renameNew(directory, to: target)
            try context.files.syncDirectory(target.removingLastComponent())
        } catch {
            throw UbiquitousStoreError(
                .fileSystem, "\(directory) cannot be moved aside; check the owner and mode of its parent directory.",
                path: directory, cause: error)
        }
    }

    /// Returns the path of a place's file, which need not exist; nil if the path is not decided yet.
    func file(of place: StoreTransition.Place) throws -> FilePath? { try file(of: place, in: identifier) }

    /// Returns the path of a place's file in the container with an identifier; nil if the path is not decided yet.
    func file(of place: StoreTransition.Place, in identifier: ContainerIdentifier) throws -> FilePath? {
        try peer(of: place, in: identifier).map { StoreFile.path(for: path, peer: $0, contentName: content, place: place.fileKind) }
    }

    /// Returns the peer under which a place's file lies; nil if it is not chosen yet.
    private func peer(of place: StoreTransition.Place, in identifier: ContainerIdentifier) throws -> PeerIdentifier? {
        try place.account.map { try home.knownPeer(of: $0, in: identifier) } ?? localPeers().first
    }

    /// Returns whether the file of a place exists.
    func exists(_ place: StoreTransition.Place) async throws -> Bool {
        try await blocking { try file(of: place).map { FileManager.default.fileExists(atPath: $0.string) } ?? false }
    }

    /// Returns the existing files of the store, of all accounts that are known on this device.
    func locations() async throws -> [StoreLocation] {
        try await blocking {
            let places = try [.local] + home.knownAccounts.flatMap { [StoreTransition.Place.account($0), .fallback($0)] }
            let found = try places.compactMap { place in try file(of: place).map { StoreLocation(place: place, file: $0) } }
            return found.filter { FileManager.default.fileExists(atPath: $0.file.string) }
        }
    }

    /// Whether the store has no file yet.
    ///
    /// Only the first file takes over the app's existing database, so that exactly one account gets it.
    private var isFirst: Bool {
        let support = StoreFile.supportDirectory(of: path)
        let peers = ((try? FileManager.default.contentsOfDirectory(atPath: support.string)) ?? []).compactMap { PeerIdentifier($0) }
        return peers.allSatisfy { peer in
            [StoreFilePlace.store, .fallback].allSatisfy { place in
                !FileManager.default.fileExists(atPath: StoreFile.path(for: path, peer: peer, contentName: content, place: place).string)
            }
        }
    }

    /// Returns whether an account's content has been read once, as far as it was known then.
    func isGathered(_ account: AccountName) async throws -> Bool {
        if let glance = try await glance(at: .account(account)) { return glance.isGathered }
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

    /// Returns the peer under which the local files lie, and chooses it if there is none.
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

    /// Returns whether a peer belongs to an account whose name is also `local`.
    private func isAccounts(_ peer: PeerIdentifier) -> Bool {
        guard let account = try? AccountName(Self.local) else { return false }
        return (try? home.knownPeer(of: account, in: identifier)) == peer
    }
}

extension StoreTransition.Place {
    /// The kind of the place's file.
    fileprivate var fileKind: StoreFilePlace {
        switch self {
        case .local: .local
        case .fallback: .fallback
        case .account: .store
        }
    }
}
