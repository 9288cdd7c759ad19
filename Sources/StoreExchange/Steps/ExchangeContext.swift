package import Foundation
internal import GRDB
internal import StoreFormat
package import StoreRecords
internal import Synchronization
internal import SystemPackage
internal import TreeWatching
package import UbiquityContainers

/// The constant environment of the exchange of one store file, while the file is in use.
package struct ExchangeContext: Sendable {
    package internal(set) var file: StoreFile
    package let sealer: Sealer
    /// The content's container; nil for a file that exchanges nothing.
    package let container: UbiquityContainer?
    package let contentName: String
    package let layout: ContentLayout
    package let files: any FileLayer
    /// The container with a scope that the content lies in; nil for a plain container.
    let scope: ScopeContext?
    let log: StoreLog
    let metrics: ExchangeMetrics
    let notices: ExchangeNotices
    /// Tells the transport of published files; nil for a file that exchanges nothing.
    let hint: TransportHint?
    let progress: Broadcast<ImportProgress>
    let conflictRetention: ConflictRetention
    let coalescing: Coalescing?
    /// When baselines are rolled; nil for never, as in a container with a scope.
    let baselines: BaselinePolicy?
    /// The time after which a silent peer is retired; nil for never.
    let silenceLimit: Duration?
    let wipePolicy: WipePolicy
    let exchangesAutomatically: Bool
    let isReadOnly: Bool
    let now: @Sendable () -> Date
    let stop = StopSignal()

    /// The constant settings for the order of exchanges.
    var rules: ExchangeRules {
        ExchangeRules(
            maximumDelay: coalescing?.maximumDelay, baselines: baselines, silenceLimit: silenceLimit.map { $0 / .seconds(1) },
            wipes: ContentAbsence.Rule(wipePolicy), isScoped: scope != nil)
    }

    package var publisher: Publisher {
        var publisher = Publisher(layout: layout, storeFile: file.path, files: files, log: log)
        publisher.metrics = metrics
        publisher.hint = hint
        publisher.scope = scope
        return publisher
    }

    /// Since when the container's file system has not answered; nil if it answers.
    ///
    /// Blocks for two seconds at most.
    package var silence: Date? { container.flatMap { files.silence(of: $0.path) } }

    /// Returns the status of a store whose container does not answer, so that its runner may be waiting for that; nil if
    /// the container answers.
    ///
    /// Blocks for two seconds at most.
    ///
    /// - Returns: the status by the store's file alone.
    /// - Throws: GRDB's errors.
    package func silentStatus() throws -> StoreStatus? {
        guard silence != nil else { return nil }
        let state = try file.pool.read { db in try StoreState.read(db) }
        return try CurrencyCheck(scope: ExchangeScope(self, state)).status(suspended: .silent)
    }

    /// Throws if the container does not answer, because a call of the runner might wait for it.
    ///
    /// - Throws: `UbiquitousStoreError` with `suspended`.
    package func requireAnswer() async throws {
        guard let container, let since = try await blocking({ silence }) else { return }
        throw UbiquitousStoreError(.suspended, ContainerError.silent(container.path, since: since).message, path: container.path)
    }

    /// Returns when the transport has been told of everything that was published, or after a limit.
    package func toldTransport(within limit: Duration) async { await hint?.finished(within: limit) }

    /// Returns how far this store's changes have got; nil for a file that exchanges nothing.
    ///
    /// - Parameter status: the store's status.
    /// - Returns: the delivery at this moment.
    /// - Throws: `Errno` if the container cannot be read; the transport's error; `CancellationError`.
    package func delivery(_ status: StoreStatus) async throws -> StoreDelivery? {
        guard let hint else { return nil }
        let reader = DeliveryReader(layout: layout, own: status.peer, epoch: status.epoch, files: files)
        return try await reader.delivery(by: hint.transport, unpublished: status.unpublished)
    }

    /// Returns a reader of the content's baselines, and of those that a public place has brought.
    func baselineReader(epoch: Int64) -> BaselineReader {
        guard let place = scope?.place else { return BaselineReader(layout: layout, contentName: contentName, epoch: epoch) }
        return BaselineReader(contentName: contentName, epoch: epoch) { [layout, files] id in
            let own = layout.baseline(id, epoch: epoch)
            return (try? files.kind(of: own)) == .file ? own : place.mirror.path(.base(id.name.hash))
        }
    }

    var folders: PeerFolders { PeerFolders(layout: layout, files: files) }

    /// Posts a notice to observers, to the log and to the metrics.
    func post(_ notice: StoreNotice) {
        log.write(notice, showsContents: UbiquityLog.showsContents)
        metrics.record(notice)
        notices.post(notice)
    }

    /// Records an exchange that ends now, and what waits after it.
    ///
    /// - Parameters:
    ///   - result: how it ended.
    ///   - began: its start.
    ///   - waiting: the peers whose logs wait.
    func record(_ result: ExchangeMetrics.ExchangeResult, since began: ContinuousClock.Instant, waiting: [WaitingPeer]) {
        guard container != nil, metrics.recorder.isActive else { return }
        metrics.exchanged(result, since: began)
        // A file that cannot be read is the exchange's fault, of which its caller hears.
        guard let unpublished = try? file.pool.read({ db in try Outbox.count(db) }) else { return }
        metrics.levels(waiting: waiting, unpublished: unpublished)
    }

    /// Lets the file count no more in what is recorded of all stores, because its store closes.
    package func endRecording() { metrics.recorder.endLevels() }

    /// Posts the notices of an import.
    func post(_ outcome: ImportTransaction.Outcome) {
        metrics.imported(outcome.changes)
        if !outcome.wholeTables.isEmpty { post(.didFill(outcome.wholeTables)) }
        if let notice = outcome.changes.notice { post(.didImport(notice)) }
        if !outcome.broken.isEmpty { post(.didBreakChecks(outcome.broken)) }
        if outcome.conflicts > 0 { post(.didFindConflicts(outcome.conflicts)) }
    }

    /// Adds files to the quarantine.
    func quarantine(_ logs: [QuarantinedLog]) throws {
        for log in logs where try file.pool.write({ db in try log.enter(db) }) { post(.didQuarantine(log)) }
    }
}

/// The observers of a store, which change once the file is in use.
final class ExchangeNotices: Sendable {
    private struct State {
        var broadcast: Broadcast<StoreNotice>
        /// The suspension in force; nil while there is none.
        var suspension: StoreNotice?
    }

    private let state: Mutex<State>

    init(_ broadcast: Broadcast<StoreNotice>) { state = Mutex(State(broadcast: broadcast)) }

    /// Sends notices to other observers from now on, and first the suspension in force.
    func tell(_ other: Broadcast<StoreNotice>) {
        state.withLock { state in
            state.broadcast = other
            if let suspension = state.suspension { other.post(suspension) }
        }
    }

    func post(_ notice: StoreNotice) {
        switch notice {
        // Under the lock: other observers hear of a suspension, and of its end, once and in this order.
        case .didSuspend, .didResume:
            state.withLock { state in
                if case .didSuspend = notice { state.suspension = notice } else { state.suspension = nil }
                state.broadcast.post(notice)
            }
        default: state.withLock { $0.broadcast }.post(notice)
        }
    }
}

/// Makes waits for other processes end at once, when a store closes.
final class StopSignal: Sendable {
    private let state = Mutex(false)

    var isSet: Bool { state.withLock { $0 } }

    func set() { state.withLock { $0 = true } }

    func clear() { state.withLock { $0 = false } }
}
