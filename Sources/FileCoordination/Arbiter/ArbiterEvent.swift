package import SystemPackage

/// The events that the arbiter handles.
package enum ArbiterEvent: Sendable {
    /// A process begins to coordinate.
    case clientJoined(ClientID, process: Int32, name: String)
    /// A process died or disconnected: its claims end, its presenters are removed, and its pending answers count as
    /// given.
    case clientGone(ClientID)

    case request(ClaimRequest)
    /// An accessor returned or threw. There is one observation for each item, or none if no presenter would be told.
    case end(ClaimID, [Observation])
    /// Nothing waits for this claim any more. A running accessor finishes normally.
    case cancel(ClaimID)
    /// The caller's deadline passed. A running accessor finishes normally.
    case deadline(ClaimID)
    /// An accessor moved an item that its claim covers.
    case moved(ClaimID, Move)

    case addPresenter(PresenterID, FilePath?, observedAttributes: Set<String>)
    case removePresenter(PresenterID)
    /// A presenter reports that it has another URL, or none.
    case relocatePresenter(PresenterID, FilePath?)
    /// A presenter's process saw an uncoordinated change.
    case noticed(PresenterID, PresenterMessage)
    /// A presenter has handled a message.
    case handled(MessageID, Answer)

    /// The ubiquity attributes of an item changed.
    case attributesChanged(FilePath, Set<String>, Cause)
    /// A version of an item was added, removed, or resolved.
    case versionChanged(FilePath, PresenterMessage.VersionEvent, version: String, Cause)

    /// The claims, messages and presenters of a client, as the client reports them. They replace the arbiter's records;
    /// messages keep their identifiers.
    case adopted(ClientID, Holdings)
    /// A process is stopped: its presenters' pending answers count as given, and they get no messages.
    case passedOver(ClientID)
    /// A stopped process continues: its presenters are told of one change.
    case resumed(ClientID)
    /// A client may have missed messages of an earlier arbiter: its presenters are told of one change.
    case missed(ClientID)

    /// A presenter's answer to a message.
    package enum Answer: Hashable, Sendable {
        case done
        /// The presenter threw an error; its client keeps the error.
        case refused(PresenterRefusal)
    }
}

/// The actions that the arbiter requests, performed in this order.
package enum ArbiterAction: Sendable {
    case grant(ClaimID, Grant)
    case fail(ClaimID, ClaimFailure)
    case deliver(Delivery)
}

/// A claim's permission to go ahead.
package struct Grant: Hashable, Sendable {
    /// The current paths of the items, in the order of the request.
    package let paths: [FilePath]
    /// Whether presenters need to know about changes of the items, so that the caller must inspect the items before and
    /// after.
    package let isObserved: Bool
    /// Whether any presenter, including the claim's own, may see the items change on disk.
    package let isPresented: Bool

    package init(paths: [FilePath], isObserved: Bool, isPresented: Bool) {
        self.paths = paths
        self.isObserved = isObserved
        self.isPresented = isPresented
    }
}

/// The reasons for the failure of a claim.
package enum ClaimFailure: Hashable, Sendable {
    case cancelled
    /// The deadline passed while the claim waited for these steps.
    case deadline([WaitStep])
    /// A presenter threw an error from `save…` or `accommodate…`.
    case refused(MessageID, PresenterID, PresenterRefusal)
    /// The claim waits for itself through these steps, and is the youngest of them.
    case cycle([WaitStep])
    /// The arbiter's host rejects the request, or cannot be reached.
    case rejected(String)
}
