internal import Foundation
internal import GRDB
internal import Logging
internal import SystemPackage
internal import UbiquityContainers

/// The files of a store that follows the account, and how they are opened.
struct StoreFiles: Sendable {
    /// The file that the app names.
    let path: FilePath
    let identifier: ContainerIdentifier
    let home: DeviceHome
    var context: StoreContext

    private var content: String { context.options.contentName }

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
            let peer = try await blocking { try localPeer() }
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

    private func open(
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

    // MARK: Made anew

    /// Where an account's file lies while a new one is made in its place.
    private func former(_ account: AccountName) throws -> FilePath {
        let peer = try home.peer(of: account, in: identifier)
        return StoreFile.path(for: path, peer: peer, contentName: content).removingLastComponent().removingLastComponent().appending("former")
    }

    /// Whether an account's former file is still to be brought into the present one.
    func hasFormer(_ account: AccountName) throws -> Bool {
        FileManager.default.fileExists(atPath: try former(account).appending(path.lastComponent!).string)
    }

    /// Puts an account's file out of the way, so that a new one is made.
    ///
    /// It is one rename of the directory in which the file lies with what belongs to it. Nobody may have the file open: what they write would go where nobody looks.
    func setFormer(_ account: AccountName) async throws {
        try await blocking {
            let former = try former(account)
            let file = StoreFile.path(for: path, peer: try home.peer(of: account, in: identifier), contentName: content)
            // One that was begun goes on.
            guard !FileManager.default.fileExists(atPath: former.string), FileManager.default.fileExists(atPath: file.string) else { return }
            // Whoever opens it waits, and finds none.
            guard let lock = try StoreLock.take(FilePath(file.string + "-open"), within: .seconds(60), unless: { Task.isCancelled }) else {
                throw UbiquitousStoreError(.timedOut, "Another process has been opening \(file) for a minute; see whether it is stopped.", path: file)
            }
            defer { withExtendedLifetime(lock) {} }
            guard let exclusion = try StoreUse.exclude(file) else { throw Self.isOpenElsewhere(file) }
            defer { withExtendedLifetime(exclusion) {} }
            do {
                // SQLite leaves its write-ahead log only where no other connection is open (sqlite.org/wal.html).
                let queue = try DatabaseQueue(path: file.string)
                defer { try? queue.close() }
                let isPaused = try queue.writeWithoutTransaction { db in
                    if try db.tableExists("ubiquity_state"), try StoreState.read(db).paused { return true }
                    try refuseLocalContent(of: file, db)
                    _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE")
                    return false
                }
                // Nothing goes out or in.
                if isPaused { return }
            } catch let error as DatabaseError where [.SQLITE_BUSY, .SQLITE_LOCKED].contains(error.resultCode) {
                throw Self.isOpenElsewhere(file, error)
            } catch let error as DatabaseError where [.SQLITE_NOTADB, .SQLITE_CORRUPT].contains(error.resultCode) {
                // It is looked at again where it lies.
            }
            try rename(file.removingLastComponent(), to: former)
        }
    }

    private static func isOpenElsewhere(_ file: FilePath, _ cause: (any Error)? = nil) -> UbiquitousStoreError {
        UbiquitousStoreError(
            .timedOut, "\(file) is to be made anew, and another process has it open: let that end first.", path: file, cause: cause)
    }

    /// Refuses to make a file anew that holds what is nowhere else.
    private func refuseLocalContent(of file: FilePath, _ db: Database) throws {
        let content = try StoreErasure.localContent(context.schema, db)
        guard !content.isEmpty else { return }
        throw UbiquitousStoreError(
            .unsupported,
            "\(file) holds what never leaves this device (\(content.joined(separator: ", "))), which would be lost if it were made anew: use rebuildFromUbiquitousContent(), which keeps that.",
            path: file)
    }

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

    private func rename(_ directory: FilePath, to target: FilePath) throws {
        do {
            try context.files.renameNew(directory, to: target)
            try context.files.syncDirectory(target.removingLastComponent())
        } catch {
            throw UbiquitousStoreError(
                .fileSystem, "\(directory) cannot be moved out of the way; check the owner and mode of the directory that it lies in.",
                path: directory, cause: error)
        }
    }

    /// Brings what had not gone out from a former file of an account into the present one, and removes it.
    func absorbFormer(of account: AccountName, into base: StoreBase) async throws {
        let former = try former(account)
        let file = former.appending(path.lastComponent!)
        guard FileManager.default.fileExists(atPath: file.string) else { return }
        do {
            let source = try await open(at: file, account.description, .store, identity: base.engine.peer)
            // What had been removed by then stays so; what had not gone out is set aside.
            let epoch = try await source.pool.read { db in try StoreState.read(db).epoch }
            guard try await base.pool.read({ db in try StoreState.read(db).epoch }) == epoch else {
                try source.pool.close()
                let aside = try await setDamagedAside(former).appending(path.lastComponent!)
                context.logger.error("\(file): its content has been removed since; what had not gone out from it lies at \(aside)")
                return context.notices.post(.didSetAside(aside))
            }
            let join = StoreJoin(source: source, destination: base, conflictRetention: context.options.conflictRetention)
            try await blocking { try join.finish() }
            try source.pool.close()
        } catch let error as UbiquitousStoreError where error.code == .notADatabase {
            context.notices.post(.didSetAside(try await setDamagedAside(former).appending(path.lastComponent!)))
            return
        }
        try await blocking { try FileManager.default.removeItem(atPath: former.string) }
    }

    /// Where the file of a place lies, or would; nil where that has not been settled.
    func file(of place: StoreTransition.Place) throws -> FilePath? {
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
