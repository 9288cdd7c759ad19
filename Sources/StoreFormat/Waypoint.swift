internal import Foundation
internal import Glibc

/// A named point in code that writes, at which a test can kill the process: `UBIQUITY_KILL_AT=<name>` or `<name>:<nth
/// time>`.
///
/// `UBIQUITY_STOP_AT` stops the process instead, until it gets SIGCONT. Waypoints work in debug builds only; in release
/// builds they cost nothing.
package enum Waypoint: String {
    case copyBatch = "copy.batch"
    case copyCompared = "copy.compared"
    case fileDrafted = "file.drafted"
    case fileSynced = "file.synced"
    case filePlaced = "file.placed"
    case recordsWritten = "records.written"
    case openCopied = "open.copied"
    case openMigrated = "open.migrated"
    case openPrepared = "open.prepared"
    case migrateCopied = "migrate.copied"
    case migrateRun = "migrate.run"
    case migrateChecked = "migrate.checked"
    case migrateUpgraded = "migrate.upgraded"
    case migrateReplacing = "migrate.replacing"
    case migrateReplaced = "migrate.replaced"
    case placeMade = "place.made"
    case placeMarked = "place.marked"
    case adoptBatch = "adopt.batch"
    case seedTaken = "seed.taken"
    case seedCommitted = "seed.committed"
    case seedSynced = "seed.wal-synced"
    case seedRemoved = "seed.file-removed"
    case saveSealed = "save.sealed"
    case saveCommitted = "save.committed"
    case relationsShown = "relations.shown"
    case publishCoalesced = "publish.coalesced"
    case publishSynced = "publish.wal-synced"
    case publishValuePlaced = "publish.value-placed"
    case publishWritten = "publish.temporary-written"
    case publishRenamed = "publish.renamed"
    case publishDirectorySynced = "publish.directory-synced"
    case publishCleared = "publish.outbox-cleared"
    case importPlanned = "import.planned"
    case importSealed = "import.sealed"
    case importApplied = "import.applied"
    case importCommitted = "import.committed"
    case receiptNumbered = "receipt.numbered"
    case receiptWritten = "receipt.written"
    case receiptTrimmed = "receipt.trimmed"
    case rollWritten = "roll.written"
    case rollSynced = "roll.synced"
    case rollRenamed = "roll.renamed"
    case rollDirectorySynced = "roll.directory-synced"
    case joinCopied = "join.copied"
    case joinReplacing = "join.replacing"
    case joinTable = "join.table"
    case joinApplied = "join.applied"
    case joinCommitted = "join.committed"
    case trimLog = "trim.log"
    case trimValue = "trim.value"
    case trimBaseline = "trim.baseline"
    case placeBundled = "place.bundled"
    case placeEntered = "place.entered"
    case placeHeadWritten = "place.head-written"
    case placeFilling = "place.filling"
    case placeFilled = "place.filled"
    case placeTaken = "place.taken"
    case statementSigned = "statement.signed"
    case statementWritten = "statement.written"
    case statementsRead = "statements.read"
    case statementsSaved = "statements.saved"
    case rebuildEmptied = "rebuild.emptied"
    case rebuildJoined = "rebuild.joined"
    case rebuildCommitted = "rebuild.committed"
    case takeBackCopied = "take-back.copied"
    case takeBackRebuilt = "take-back.rebuilt"
    case identityChosen = "identity.chosen"
    case identityMarked = "identity.marked"
    case identityPlaced = "identity.placed"
    case identityAdopted = "identity.adopted"
    case removalSealed = "removal.sealed"
    case removalMarked = "removal.marked"
    case reattachPlaced = "reattach.placed"
    case reattachMarked = "reattach.marked"
    case epochSeen = "epoch.seen"
    case epochSealed = "epoch.sealed"
    case keptWritten = "kept.log-written"
    case keptDrafted = "kept.drafted"
    case keptNamed = "kept.named"
    case epochPlaced = "epoch.placed"
    case epochEmptied = "epoch.emptied"
    case epochCommitted = "epoch.committed"
    case epochCleaned = "epoch.file-removed"
    case epochDone = "epoch.done"
    case lifeGiven = "life.given"
    case lifeJoined = "life.joined"
    case lifeSynced = "life.synced"
    case lifeSwapped = "life.swapped"
    case lifeEmptied = "life.emptied"
    case lifeDone = "life.done"

    package func pass() {
        #if DEBUG
            guard let target = Self.target, target.name == rawValue else { return }
            let passes = Self.passes.add()
            // The signal goes to this thread, so that it does not continue while another thread takes the signal.
            if passes == target.count { pthread_kill(pthread_self(), target.signal) }
        #endif
    }

    #if DEBUG
        private static let target: (name: String, count: Int, signal: Int32)? = {
            let environment = ProcessInfo.processInfo.environment
            guard let text = environment["UBIQUITY_KILL_AT"] ?? environment["UBIQUITY_STOP_AT"] else { return nil }
            let parts = text.split(separator: ":")
            return (String(parts[0]), parts.count > 1 ? Int(parts[1]) ?? 1 : 1, environment["UBIQUITY_KILL_AT"] == nil ? SIGSTOP : SIGKILL)
        }()

        private static let passes = PassCount()

        private final class PassCount: Sendable {
            private let count = Mutex(0)
            func add() -> Int {
                count.withLock {
                    $0 += 1
                    return $0
                }
            }
        }
    #endif
}

#if DEBUG
    internal import Synchronization
#endif
