package import SystemPackage

/// What the arbiter can be told.
package enum ArbiterEvent: Sendable {
    /// A process begins to coordinate.
    case clientJoined(ClientID, process: Int32, name: String)
    /// A process died, or hung up: its claims end, its presenters go, its pending answers count as given (C-60).
    case clientGone(ClientID)

    case request(ClaimRequest)
    /// An accessor is done, normally or by an error (C-12); one observation an item, or none where nobody would hear of them.
    case end(ClaimID, [Observation])
    /// Nobody waits for this claim any more. A running accessor finishes normally (C-55).
    case cancel(ClaimID)
    /// The caller's deadline passed (C-61). A running accessor finishes normally.
    case deadline(ClaimID)
    /// An accessor moved an item that its claim covers (C-38).
    case moved(ClaimID, Move)

    case addPresenter(PresenterID, FilePath?, observedAttributes: Set<String>)
    case removePresenter(PresenterID)
    /// A presenter has another URL, or none, by its own account (C-35).
    case relocatePresenter(PresenterID, FilePath?)
    /// A presenter's process saw a change that nobody coordinated (C-63).
    case noticed(PresenterID, PresenterMessage)
    /// A presenter has handled a message.
    case handled(MessageID, Answer)

    /// The ubiquity attributes of an item changed (C-43).
    case attributesChanged(FilePath, Set<String>, Cause)
    /// A version of an item came, went, or ceased to be a conflict (C-44).
    case versionChanged(FilePath, PresenterMessage.VersionEvent, version: String, Cause)

    /// What a client holds, awaits and presents, as it says itself; replaces what was known of it, and keeps the identifiers of messages.
    case adopted(ClientID, Holdings)
    /// A process is stopped: what its presenters have not answered counts as given, and nothing is sent to them.
    case passedOver(ClientID)
    /// A process that was passed over goes on: its presenters hear of one change.
    case resumed(ClientID)
    /// A client may have missed messages of an earlier arbiter: its presenters hear of one change.
    case missed(ClientID)

    /// What a presenter answers to a message.
    package enum Answer: Hashable, Sendable {
        case done
        /// The presenter threw an error, which stays with its client.
        case refused(String)
    }
}

/// What the arbiter wants done, in this order.
package enum ArbiterAction: Sendable {
    case grant(ClaimID, Grant)
    case fail(ClaimID, ClaimFailure)
    case deliver(Delivery)
}

/// A claim's permission to go ahead.
package struct Grant: Hashable, Sendable {
    /// Where the items are now, in the order of the request (C-41).
    package let paths: [FilePath]
    /// Whether presenters will want to know what becomes of the items, so that the caller must look at them before and after.
    package let isObserved: Bool
    /// Whether any presenter at all, the claim's own included, may see the items change on disk.
    package let isPresented: Bool

    package init(paths: [FilePath], isObserved: Bool, isPresented: Bool) {
        self.paths = paths
        self.isObserved = isObserved
        self.isPresented = isPresented
    }
}

/// Why a claim was not granted.
package enum ClaimFailure: Hashable, Sendable {
    case cancelled
    /// The deadline passed while the claim waited for these.
    case deadline([WaitStep])
    /// A presenter threw an error from `save…` or `accommodate…` (C-27).
    case refused(MessageID, PresenterID, String)
    /// The claim waits for itself by way of these, and is the youngest of them (C-50).
    case cycle([WaitStep])
    /// The arbiter's host does not take the request, or cannot be reached.
    case rejected(String)
}
