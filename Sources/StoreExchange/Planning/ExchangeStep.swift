internal import StoreFormat
internal import StoreRecords
internal import UbiquityContainers

/// What an exchange does next: ``ExchangeStateMachine/step``.
enum ExchangeStep: Equatable, Sendable {
    // MARK: Finding the place

    /// Take the right to exchange, which one process of a device has at a time; what was held is let go first.
    case takeLease(waiting: Bool)
    /// Read the store's state, and tell observers what another process has written.
    case look
    /// Take over what was in the tables before they were synced.
    case adopt
    /// Read which epoch the marks say is present.
    case readMarks
    /// Go over to an epoch that a mark names.
    case enter(epoch: Int64)
    /// Look whether the store's place is there.
    case checkAttachment
    /// Tell that the place is gone.
    case suspend(ContainerAttachment.Reason)
    /// Tell that the place is back.
    case resume
    /// Write the mark of the store's epoch again.
    case restoreMark
    /// Find or make the store's place.
    case findPlace
    /// Note that the store has its place.
    case attach
    /// Look whether another copy of the store uses its identifier: at all files of its directory, or those that came.
    case findStranger(amongAll: Bool)
    /// Take another identifier.
    case takeNewIdentifier

    // MARK: Publishing

    /// Look whether anything is noted or sealed.
    case checkOutbox
    /// Seal what is noted, and release what waits for more saves if it is due or large enough.
    case seal(isDue: Bool)
    /// Publish what is released.
    case publish

    // MARK: Importing

    /// Take records off the list of the broken that a save has put right.
    case recheck
    /// Remove the files of ended epochs.
    case removeEnded
    /// List the directories again that could not be listed.
    case listFaulty
    /// List all that is there.
    case list
    /// Read what the baselines say of themselves.
    case surveyBaselines
    /// Log why a baseline is not joined.
    case passOver(BaselineID, BaselineShelf.Obstacle)
    /// Read a baseline to the end, and join it; so many logs are in it that are not here.
    case joinBaseline(BaselineID, lag: Int64)
    /// Find the logs that are ready; passing over logs at which their author was retired, or not.
    case plan(isPassing: Bool)
    /// Join the logs that are planned.
    case joinLogs
    /// Look whether logs can be passed over at all.
    case findHoles
    /// Let another process exchange if one waits.
    case giveWay
    /// Resolve the records that are marked.
    case unite
    /// Say in a receipt what is known now.
    case publishReceipt

    // MARK: Maintaining

    /// Count the logs that no baseline holds.
    case countLoose
    /// Read the receipts of the other peers.
    case readReceipts
    /// Retire peers that have been silent for too long.
    case retire([PeerIdentifier])
    /// Measure the logs that no baseline holds.
    case measureLoose
    /// Look whether a peer waits for a log that only this store can bring.
    case checkAwaited
    /// Look whether a log that a peer lacks is in no file.
    case checkStranded
    /// Write a baseline.
    case roll
    /// Remove what baselines make superfluous.
    case trim

    // MARK: Ending

    /// Do what the caller wants done under the lease.
    case performTask
    /// Nothing is left to do before this time, or before something happens.
    case wait(until: ContinuousClock.Instant?)
    /// Throw what failed; explained where it is about the container, which a person must repair.
    case fail(isExplained: Bool)

    /// Whether nothing is left to do now.
    var isEnd: Bool {
        switch self {
        case .wait, .fail: true
        default: false
        }
    }

    /// Whether it publishes, or is on the way to that.
    var isOfPublishing: Bool {
        switch self {
        case .checkOutbox, .seal, .publish: true
        default: false
        }
    }
}

/// How a step of an exchange went, and what it found.
enum ExchangeOutcome: Sendable {
    /// How the store stands, as its file says.
    struct Standing: Equatable, Sendable {
        var hasContainer = true
        var isPaused = false
        var request: StoreRequest?
        /// Whether something in the tables is still to be taken over.
        var isAdopting = false
        /// Whether the store has had its place.
        var isAttached = true
        var epoch: Int64 = 1
    }

    case done
    /// Whether the lease is held.
    case leased(Bool)
    case standing(Standing)
    /// Whether everything has been taken over.
    case adopted(Bool)
    /// The epoch that the marks say is present; nil where this peer is not attached.
    case marked(Int64?)
    case attachment(ContainerAttachment)
    /// The epoch in which the place is, and whether the store has another identifier for it.
    case place(epoch: Int64, isRenewed: Bool)
    /// Whether another copy of the store uses its identifier.
    case stranger(Bool)
    case outbox(hasWork: Bool, hasLogs: Bool)
    /// Whether logs wait for more saves.
    case sealed(waits: Bool)
    /// The baselines that hold what this store does not; whether one holds logs under its identifier that it does not remember.
    case baselines([BaselineShelf.News], isForked: Bool, knowsOthers: Bool)
    /// Whether a baseline has been joined, which can be damaged, or refused.
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
    /// The baseline; nil where saves came in between.
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
