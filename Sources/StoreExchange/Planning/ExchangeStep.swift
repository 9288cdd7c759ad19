internal import StoreFormat
internal import StoreRecords
internal import UbiquityContainers

/// A step of an exchange: the next thing that ``ExchangeRunner`` does.
enum ExchangeStep: Equatable, Sendable {
    // MARK: Finding the place

    /// Takes the exchange lease, which one process of a device holds at a time, and first releases a held one.
    case takeLease(waiting: Bool)
    /// Reads the store's state, and tells observers which changes another process has written.
    case look
    /// Adopts the rows that were in the tables before the tables were synced.
    case adopt
    /// Reads the present epoch from the marks.
    case readMarks
    /// Enters an epoch that a mark names.
    case enter(epoch: Int64)
    /// Checks whether the store's place is there.
    case checkAttachment
    /// Reports that the place is gone.
    case suspend(ContainerAttachment.Reason)
    /// Reports that the place is back.
    case resume
    /// Writes the mark of the store's epoch again.
    case restoreMark
    /// Finds or creates the store's place.
    case findPlace
    /// Notes that the store has its place.
    case attach
    /// Checks whether another copy of the store uses its identifier.
    ///
    /// It examines all files of the store's directory, or only those that have arrived.
    case findStranger(amongAll: Bool)
    /// Takes a new identifier.
    case takeNewIdentifier

    // MARK: Publishing

    /// Checks whether changes are captured or logs are sealed.
    case checkOutbox
    /// Seals captured changes, and releases waiting logs if they are due or large enough.
    case seal(isDue: Bool)
    /// Publishes the released logs.
    case publish

    // MARK: Importing

    /// Removes records that a save has repaired from the list of broken records.
    case recheck
    /// Remove the files of ended epochs.
    case removeEnded
    /// Lists again the directories that could not be listed.
    case listFaulty
    /// Lists all files of the content.
    case list
    /// Reads the headers of the baselines.
    case surveyBaselines
    /// Logs the reason why a baseline is not joined.
    case passOver(BaselineID, BaselineShelf.Obstacle)
    /// Reads a baseline to the end, and joins it; `lag` is the number of its logs that this store lacks.
    case joinBaseline(BaselineID, lag: Int64)
    /// Finds the ready logs; `isPassing` allows passing over logs at which their author was retired.
    case plan(isPassing: Bool)
    /// Joins the planned logs.
    case joinLogs
    /// Checks whether any logs can be passed over.
    case findHoles
    /// Lets another process exchange if one waits.
    case giveWay
    /// Resolves the marked records.
    case unite
    /// Publishes a receipt with the present knowledge.
    case publishReceipt

    // MARK: Maintaining

    /// Counts the logs that no baseline holds.
    case countLoose
    /// Reads the receipts of the other peers.
    case readReceipts
    /// Retires peers that have been silent for too long.
    case retire([PeerIdentifier])
    /// Measures the logs that no baseline holds.
    case measureLoose
    /// Checks whether a peer waits for a log that only this store can provide.
    case checkAwaited
    /// Checks whether a log that a peer lacks is in no file.
    case checkStranded
    /// Writes a baseline.
    case roll
    /// Removes logs, values and baselines that other baselines make superfluous.
    case trim

    // MARK: Ending

    /// Runs the caller's task under the lease.
    case performTask
    /// Ends the work: nothing is left to do before the given time or a new event.
    case wait(until: ContinuousClock.Instant?)
    /// Throws the failure. If it concerns the container and needs repair by a person, the error explains that.
    case fail(isExplained: Bool)

    /// Whether the work ends with this step.
    var isEnd: Bool {
        switch self {
        case .wait, .fail: true
        default: false
        }
    }

    /// Whether the step publishes, or leads to publishing.
    var isOfPublishing: Bool {
        switch self {
        case .checkOutbox, .seal, .publish: true
        default: false
        }
    }
}

/// The outcome of a step of an exchange, with its findings.
enum ExchangeOutcome: Sendable {
    /// The state of the store, as its file states it.
    struct Standing: Equatable, Sendable {
        var hasContainer = true
        var isPaused = false
        var request: StoreRequest?
        /// Whether rows in the tables must still be adopted.
        var isAdopting = false
        /// Whether the store has had its place.
        var isAttached = true
        var epoch: Int64 = 1
    }

    case done
    /// Whether the lease is held.
    case leased(Bool)
    case standing(Standing)
    /// Whether everything has been adopted.
    case adopted(Bool)
    /// The epoch of the marks; nil if this peer is not attached.
    case marked(Int64?)
    case attachment(ContainerAttachment)
    /// The epoch of the place, and whether the store has taken a new identifier for it.
    case place(epoch: Int64, isRenewed: Bool)
    /// Whether another copy of the store uses its identifier.
    case stranger(Bool)
    case outbox(hasWork: Bool, hasLogs: Bool)
    /// Whether logs wait for more saves.
    case sealed(waits: Bool)
    /// The baselines that hold logs which this store lacks.
    ///
    /// `isForked`: whether one holds logs under this store's identifier that the store does not remember.
    case baselines([BaselineShelf.News], isForked: Bool, knowsOthers: Bool)
    /// Whether a baseline has been joined; it can be damaged or refused.
    case baseline(isJoined: Bool)
    case plan(ready: Int, isFull: Bool, isForked: Bool, waiting: [WaitingPeer])
    /// Whether one of the logs has been refused.
    case logs(isRefused: Bool)
    case holes(arePossible: Bool)
    case loose(logs: Int64)
    case receipts(PeerDirectory.Listing)
    case measured(bytes: Int)
    case awaited(Bool)
    case stranded(Bool)
    /// The baseline; nil if a save came in between.
    case rolled(BaselineID?)
    /// Another process waits for the lease.
    case gaveWay
    /// The step failed, by an error of the file system or another.
    case failed(isErrno: Bool)

    var isSuccess: Bool {
        switch self {
        case .gaveWay, .failed: false
        default: true
        }
    }
}
