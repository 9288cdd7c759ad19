internal import Foundation
internal import GRDB
internal import StoreFormat
package import StoreRecords
internal import Synchronization
internal import SystemPackage
internal import TreeWatching
package import UbiquityContainers

/// Moves logs between a store and its container: publishes what is sealed, joins what is ready.
///
/// Its state is only what can be found again: the store file and the container hold the truth.
package actor StoreEngine {
    package nonisolated let file: StoreFile
    /// The content's container; nil of a file for which nothing goes out or in.
    package nonisolated let container: UbiquityContainer?
    let layout: ContentLayout
    private let marks: PathPrefix?
    package nonisolated let contentName: String
    let sealer: Sealer
    private(set) var notices: Broadcast<StoreNotice>
    let progress: Broadcast<ImportProgress>
    let log: StoreLog
    package nonisolated let files: any FileLayer
    let conflictRetention: ConflictRetention
    let now: @Sendable () -> Date
    let coalescing: Coalescing?
    private let executor: any SerialExecutor

    package var peer: PeerIdentifier
    var epoch: Int64 = 1
    var suspended: ContainerAttachment.Reason?
    /// Whether somebody wants nothing to go out or in.
    var isPaused = false
    /// What another program has asked for, when last looked at.
    var request: StoreRequest?
    let wipePolicy: WipePolicy
    /// What has been said of the present absence of the content.
    var wipeAnswer: WipePolicy.Answer?
    let exchangesAutomatically: Bool
    let isReadOnly: Bool
    /// Nil where the content is to be listed anew.
    var inventory: ContentInventory?
    /// Files that came to this store's own directory, and have not been looked at.
    var arrivals: [LogFileName] = []
    var waiting: [WaitingPeer] = []
    /// What the baselines say of themselves that have been read; nil of one that cannot be used.
    var headers: [BaselineID: BaselineHeader?] = [:]
    /// The baselines that hold nothing which this store does not.
    var contained: Set<BaselineID> = []
    /// When it is to be seen whether logs can be trimmed or others need a baseline; nil where nothing has happened that could say so.
    var maintenance: ContinuousClock.Instant? = .now + StoreEngine.receiptDelay
    /// Until when it is waited for a file that holds what others lack; nil where nothing is known to be in none.
    var strandedUntil: ContinuousClock.Instant?
    let baselines: BaselinePolicy?
    /// About how many bytes the logs have that no baseline holds: what has been measured once, and what has come since.
    var looseBytes = 0
    /// The last own log up to which those have been removed that a baseline holds, as far as seen since everything was listed.
    var trimmed: Int64 = 0
    var hasMeasuredLoose = false
    /// The baselines that hold a little more than this store, and until when it is waited for the logs themselves; nil of those for which it is not.
    var later: [BaselineID: ContinuousClock.Instant?] = [:]
    /// In seconds: how long a peer may be silent before it is retired; nil for as long as it likes.
    let silenceLimit: TimeInterval?
    /// The baselines that are whole, and hold what this store cannot.
    var refused: Set<BaselineID> = []
    /// The baselines that have been read to the end, and are whole.
    var verified: Set<BaselineID> = []
    var lastReceipt: Knowledge?
    var lastAwaits: [AwaitedFile] = []
    private var failure: String?
    private var watchFault: String?
    /// The writer's `PRAGMA data_version` when last looked at: another value means that another process has committed.
    var dataVersion: Int64?
    let isStopping = Mutex(false)
    /// The right to exchange, while something is done with it.
    var lease: ExchangeLease?
    /// When logs that wait for more are to go out; what an earlier process left goes out at once.
    var closing: ContinuousClock.Instant? = .now

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ context: StoreContext, in container: UbiquityContainer?, file: StoreFile, sealer: Sealer, state: StoreState) {
        self.file = file
        self.sealer = sealer
        self.container = container
        contentName = context.options.content
        notices = context.notices
        progress = context.progress
        // The file's directory says whether it is the account's own, or the one before its content is read.
        log = StoreLog(
            logger: context.logger, name: "\(state.peer.account): \(FilePath(root: nil, file.path.components.suffix(2)))")
        conflictRetention = context.options.conflictRetention
        now = context.now
        coalescing = context.options.coalescing
        baselines = context.options.baselines
        silenceLimit = context.options.silenceLimit.map { $0 / .seconds(1) }
        files = context.files
        let label = "Ubiquity store engine"
        executor = context.options.givesWay ? BackgroundExecutor(label: label) : QueueExecutor(label: label)
        wipePolicy = context.options.wipePolicy
        exchangesAutomatically = context.options.exchangesAutomatically
        isReadOnly = context.isReadOnly
        // Without a container nothing is looked for there.
        layout = ContentLayout(container: container?.path ?? file.path.removingLastComponent(), content: contentName)
        marks = container.map { PathPrefix($0.markDirectory) }
        peer = state.peer
        epoch = state.epoch
    }

    /// Finds or makes this peer's place in the content, before anything else.
    ///
    /// A store that had its place and does not find it is suspended; nothing is made then. Where another process exchanges for this store
    /// there is nothing to do.
    package func start() throws {
        try leased(waiting: false) { state in
            publisher.removeDrafts(of: state.peer, epoch: state.epoch)
        }
    }

    /// Tells other observers from now on, for the file is in use now.
    package func tell(_ notices: Broadcast<StoreNotice>) {
        self.notices = notices
        if let suspended { notices.post(.didSuspend(suspended)) }
    }

    /// Tells observers, and the log.
    func post(_ notice: StoreNotice) {
        log.write(notice, showsContents: UbiquityLog.showsContents)
        notices.post(notice)
    }

    /// When it is to be exchanged though nothing happens; nil for never.
    ///
    /// A store that is suspended waits for the container.
    var nextTime: ContinuousClock.Instant? { suspended == nil && !isPaused ? ([closing, maintenance] + later.values).compactMap { $0 }.min() : nil }

    /// Makes waits for other processes end at once, for the store closes.
    nonisolated func stopWaiting() { isStopping.withLock { $0 = true } }

    /// Takes in what the watcher saw below the container.
    ///
    /// - Returns: whether there is reason to exchange.
    func note(_ batch: TreeChangeBatch) -> Bool {
        let isReason = batch.reduce(false) { isReason, change in note(change) || isReason }
        log.detail("\(counted(batch.count, "change")) in the container: \(isReason ? "a reason" : "no reason") to exchange")
        return isReason
    }

    private func note(_ change: TreeChange) -> Bool {
        switch change.kind {
        case .attributes: return false
        case .ready, .overflow, .rescanned, .rootLost, .rootBack:
            inventory = nil
            return true
        case .created, .modified, .moved, .removed:
            let place = change.withPathBytes(layout.place), source = change.withSourceBytes(layout.place)
            if case .receipt(let owner) = place, owner != peer {
                // Many come one after another; each is a reason, and none is urgent. The exchange sets the alarm.
                defer { maintenance = maintenance ?? .now + Self.receiptDelay }
                return maintenance == nil
            }
            guard isReason(place) || source.map(isReason) == true || isMark(change) else { return false }
            if inventory != nil { enter(change, at: place, from: source) }
            return true
        }
    }

    /// Whether what happens at a place can be a reason to exchange.
    private func isReason(_ place: ContentPlace) -> Bool {
        switch place {
        case .log, .baseline, .other, .above: true
        case .receipt, .aside, .elsewhere: false
        }
    }

    private func isMark(_ change: TreeChange) -> Bool {
        func isBelow(_ path: UnsafeRawBufferPointer) -> Bool { marks?.rest(of: path) != nil }
        return change.withPathBytes(isBelow) || change.withSourceBytes(isBelow) == true
    }

    /// Brings the inventory up to date.
    private func enter(_ change: TreeChange, at place: ContentPlace, from source: ContentPlace?) {
        if let source { enter(source, isThere: false) }
        enter(place, isThere: change.kind != .removed)
        // A directory moved in, or a peer's first: what lies in it is told too, but a rename of a whole tree is one change.
        if change.kind == .moved, change.isDirectory { inventory = nil }
    }

    private func enter(_ place: ContentPlace, isThere: Bool) {
        switch place {
        case .baseline(let id, epoch: epoch):
            headers[id] = nil
            refused.remove(id)
            verified.remove(id)
            if isThere {
                inventory!.baselines.insert(id)
            } else {
                inventory!.baselines.remove(id)
                later[id] = nil
            }
        case .log(peer, epoch: epoch, let name): if isThere { arrivals.append(name) }
        case .log(let author, epoch: epoch, let name):
            if isThere { inventory!.insert(name, of: author) } else { inventory!.remove(name, of: author) }
        default: break
        }
    }

    /// Publishes, imports, and tells what has been read: once, as far as it goes now.
    ///
    /// - Parameter all: whether logs that wait for more saves go out too.
    /// - Throws: `UbiquitousStoreError`, or GRDB's errors.
    func exchange(all: Bool = false) throws {
        let began = ContinuousClock.now
        try leased { _ in
            log.detail("exchange of epoch \(epoch) as \(peer)\(inventory == nil ? ", everything listed anew" : "")")
            try publishMakingRoom(all: all)
            try recheck()
            if inventory == nil { removeEnded() }
            try listFaulty()
            try importAll(isEager: all)
            try publishReceipt()
            try maintain(all: all)
            log.detail("exchanged in \(began.elapsed)")
        }
    }

    private func publishMakingRoom(all: Bool) throws {
        do {
            try publish(all: all)
        } catch let error as GivesWay {
            throw error
        } catch {
            // What fills the disk may be the files of ended epochs: then the next attempt finds room.
            removeEnded()
            throw error
        }
    }

    /// How long it is waited for more receipts before one is looked at.
    private static let receiptDelay = Duration.seconds(10)

    /// Says why changes are not noticed by themselves, nil where they are.
    func setWatchFault(_ fault: String?) { watchFault = fault }

    /// Exchanges without anybody who waits: a failure stands in the status, and the next reason to exchange tries again.
    ///
    /// - Returns: whether it went well.
    package func exchangeInBackground() -> Bool {
        do {
            try exchange()
            try fulfilRequest()
            failure = nil
        } catch {
            note(failed: error)
        }
        return failure == nil
    }

    /// The same reason is told once, however often it is tried again.
    private func note(failed error: any Error) {
        let reason = String(describing: error)
        if reason != failure { log.fault("the exchange has failed: \(reason)") }
        failure = reason
    }

    /// The same with everything listed anew, until nothing is left to do.
    func settle() throws {
        inventory = nil
        do {
            try exchange(all: true)
            failure = nil
        } catch {
            failure = String(describing: error)
            log.exchange("could not exchange, as the caller is told: \(error)")
            throw error
        }
        if isPaused || suspended != nil { throw suspension }
    }

    /// Takes over what was in the tables before they were synced, as far as that can be done now.
    package func takeOver() throws { try leased { _ in } }

    /// Publishes what is sealed or noted, and imports nothing.
    package func publishOnly() throws {
        try leased { _ in try publishMakingRoom(all: true) }
    }

    package func status() throws -> StoreStatus {
        // A container that cannot be read says nothing; why it cannot, the last exchange has told.
        let others = suspended == nil && container != nil ? (try? active(receipts())) ?? [:] : [:]
        return try file.pool.read { db in
            let state = try StoreState.read(db)
            let unpublished = try Int.fetchOne(db, sql: "SELECT count(*) FROM ubiquity_outbox")!
            return StoreStatus(
                suspended: suspended, isPaused: state.paused, peer: state.peer, epoch: state.epoch, knowledge: try StoreKnowledge.all(state, db),
                unpublished: unpublished,
                syncedAsOf: (try? syncedAsOf(others, db)) ?? nil, waiting: waiting,
                quarantined: try QuarantinedLog.list(db), broken: try CheckInspector.list(db), held: try RelatedTables.heldCount(file.shapes, db),
                failure: failure ?? watchFault)
        }
    }
}
