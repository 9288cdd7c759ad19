internal import Foundation
internal import GRDB
internal import StoreFormat
package import StoreRecords
internal import Synchronization
internal import SystemPackage
internal import TreeWatching
package import UbiquityContainers

/// What the exchange of one store file works with: it stays as it is while the file is in use.
package struct ExchangeContext: Sendable {
    package let file: StoreFile
    package let sealer: Sealer
    /// The content's container; nil of a file for which nothing goes out or in.
    package let container: UbiquityContainer?
    package let contentName: String
    package let layout: ContentLayout
    package let files: any FileLayer
    let log: StoreLog
    let notices: ExchangeNotices
    let progress: Broadcast<ImportProgress>
    let conflictRetention: ConflictRetention
    let coalescing: Coalescing?
    let baselines: BaselinePolicy?
    /// How long a peer may be silent before it is retired; nil for as long as it likes.
    let silenceLimit: Duration?
    let wipePolicy: WipePolicy
    let exchangesAutomatically: Bool
    let isReadOnly: Bool
    let now: @Sendable () -> Date
    let stop = StopSignal()

    /// What does not change about the order of exchanges.
    var rules: ExchangeRules {
        ExchangeRules(
            maximumDelay: coalescing?.maximumDelay, baselines: baselines, silenceLimit: silenceLimit.map { $0 / .seconds(1) },
            wipes: ContentAbsence.Rule(wipePolicy))
    }

    package var publisher: Publisher { Publisher(layout: layout, storeFile: file.path, files: files, log: log) }

    var folders: PeerFolders { PeerFolders(layout: layout, files: files) }

    /// Tells observers, and the log.
    func post(_ notice: StoreNotice) {
        log.write(notice, showsContents: UbiquityLog.showsContents)
        notices.post(notice)
    }

    /// Tells what has come in.
    func post(_ outcome: ImportTransaction.Outcome) {
        if !outcome.wholeTables.isEmpty { post(.didFill(outcome.wholeTables)) }
        if !outcome.notice.isEmpty { post(.didImport(outcome.notice)) }
        if !outcome.broken.isEmpty { post(.didBreakChecks(outcome.broken)) }
        if outcome.conflicts > 0 { post(.didFindConflicts(outcome.conflicts)) }
    }

    /// Puts files on the list of what cannot be used.
    func quarantine(_ logs: [QuarantinedLog]) throws {
        for log in logs where try file.pool.write({ db in try log.enter(db) }) { post(.didQuarantine(log)) }
    }
}

/// The observers of a store, who are others once the file is in use.
final class ExchangeNotices: Sendable {
    private let broadcast: Mutex<Broadcast<StoreNotice>>

    init(_ broadcast: Broadcast<StoreNotice>) { self.broadcast = Mutex(broadcast) }

    func tell(_ other: Broadcast<StoreNotice>) { broadcast.withLock { $0 = other } }

    func post(_ notice: StoreNotice) { broadcast.withLock { $0 }.post(notice) }
}

/// Makes waits for other processes end at once, when a store closes.
final class StopSignal: Sendable {
    private let state = Mutex(false)

    var isSet: Bool { state.withLock { $0 } }

    func set() { state.withLock { $0 = true } }

    func clear() { state.withLock { $0 = false } }
}
