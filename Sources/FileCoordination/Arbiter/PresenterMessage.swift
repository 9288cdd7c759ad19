package import SystemPackage

/// A message to a presenter: a question or a notice.
package enum PresenterMessage: Hashable, Sendable {
    // Questions, sent before a claim is granted.
    case relinquishToReader
    case relinquishToWriter
    case saveChanges
    case accommodateDeletion
    case accommodateSubitemDeletion(FilePath)
    case accommodateEviction

    /// Sent after a claim has ended, to return an item that a `relinquish…` gave up.
    case reacquire(MessageID)

    // Notices, sent after the change.
    case didMove(FilePath)
    case didChange
    case didDisappear
    case subitemDidAppear(FilePath)
    case subitemDidMove(from: FilePath, to: FilePath)
    case subitemDidChange(FilePath)
    case didChangeUbiquityAttributes(Set<String>)
    case version(VersionEvent, String)
    case subitemVersion(VersionEvent, String, FilePath)

    /// The kind of change of a version.
    package enum VersionEvent: String, Hashable, Sendable {
        case gained, lost, resolved
    }

    /// Whether a claim waits for the answer.
    package var isQuestion: Bool {
        switch self {
        case .relinquishToReader, .relinquishToWriter, .saveChanges, .accommodateDeletion, .accommodateSubitemDeletion,
            .accommodateEviction:
            true
        default: false
        }
    }

    /// The paths inside the presented directory that the message is about; empty if it is about the presented item.
    var subitems: [FilePath] {
        switch self {
        case .subitemDidAppear(let path), .subitemDidChange(let path), .subitemVersion(_, _, let path): [path]
        case .subitemDidMove(let from, let to): [from, to]
        default: []
        }
    }

    /// Whether the message reports a move of the presented item.
    var isMove: Bool {
        if case .didMove = self { return true }
        return false
    }

    /// Whether the message reports a version.
    var isOfVersion: Bool {
        switch self {
        case .version, .subitemVersion: true
        default: false
        }
    }

    /// Whether the message asks the presenter to give up its item until a matching `reacquire`.
    var isRelinquish: Bool { self == .relinquishToReader || self == .relinquishToWriter }

    /// The name of the presenter's method.
    package var name: String {
        switch self {
        case .relinquishToReader: "relinquishPresentedItemToReader"
        case .relinquishToWriter: "relinquishPresentedItemToWriter"
        case .saveChanges: "savePresentedItemChanges"
        case .accommodateDeletion: "accommodatePresentedItemDeletion"
        case .accommodateSubitemDeletion: "accommodatePresentedSubitemDeletion"
        case .accommodateEviction: "accommodatePresentedItemEviction"
        case .reacquire: "reacquire"
        case .didMove: "presentedItemDidMove"
        case .didChange: "presentedItemDidChange"
        case .didDisappear: "presentedItemDidDisappear"
        case .subitemDidAppear: "presentedSubitemDidAppear"
        case .subitemDidMove: "presentedSubitemDidMove"
        case .subitemDidChange: "presentedSubitemDidChange"
        case .didChangeUbiquityAttributes: "presentedItemDidChangeUbiquityAttributes"
        case .version(.gained, _): "presentedItemDidGain"
        case .version(.lost, _): "presentedItemDidLose"
        case .version(.resolved, _): "presentedItemDidResolveConflict"
        case .subitemVersion(.gained, _, _): "presentedSubitemDidGain"
        case .subitemVersion(.lost, _, _): "presentedSubitemDidLose"
        case .subitemVersion(.resolved, _, _): "presentedSubitemDidResolveConflict"
        }
    }
}

/// The client and purpose that caused a message.
package struct Cause: Hashable, Sendable {
    package let client: ClientID
    /// The process of the client.
    package let process: Int32
    package let purpose: Purpose

    package init(client: ClientID, process: Int32, purpose: Purpose) {
        self.client = client
        self.process = process
        self.purpose = purpose
    }
}

/// A message to one presenter.
///
/// A presenter handles its messages one after the other, in the order of the arbiter's actions.
package struct Delivery: Hashable, Sendable {
    package let id: MessageID
    package let presenter: PresenterID
    package let message: PresenterMessage
    package let cause: Cause
    /// The claim that waits for the answer; nil when none does.
    package let awaitedBy: ClaimID?
}
