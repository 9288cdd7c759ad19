package import SystemPackage

/// What a presenter is told or asked.
package enum PresenterMessage: Hashable, Sendable {
    // Asked before a claim is granted.
    case relinquishToReader
    case relinquishToWriter
    case saveChanges
    case accommodateDeletion
    case accommodateSubitemDeletion(FilePath)

    /// Sent after a claim has ended, to take back what a `relinquish…` gave away.
    case reacquire(MessageID)

    // Told after the fact.
    case didMove(FilePath)
    case didChange
    case didDisappear
    case subitemDidAppear(FilePath)
    case subitemDidMove(from: FilePath, to: FilePath)
    case subitemDidChange(FilePath)
    case didChangeUbiquityAttributes(Set<String>)
    case version(VersionEvent, String)
    case subitemVersion(VersionEvent, String, FilePath)

    /// What happened to a version of an item (C-44).
    package enum VersionEvent: String, Hashable, Sendable {
        case gained, lost, resolved
    }

    /// Whether a claim waits for the answer.
    package var isQuestion: Bool {
        switch self {
        case .relinquishToReader, .relinquishToWriter, .saveChanges, .accommodateDeletion, .accommodateSubitemDeletion: true
        default: false
        }
    }

    /// The places inside the presented directory that it is about; none where it is about the presented item.
    var subitems: [FilePath] {
        switch self {
        case .subitemDidAppear(let path), .subitemDidChange(let path), .subitemVersion(_, _, let path): [path]
        case .subitemDidMove(let from, let to): [from, to]
        default: []
        }
    }

    /// Whether it tells of a move of the presented item.
    var isMove: Bool {
        if case .didMove = self { return true }
        return false
    }

    /// Whether it tells of a version.
    var isOfVersion: Bool {
        switch self {
        case .version, .subitemVersion: true
        default: false
        }
    }

    /// Whether the message asks for something that a matching `reacquire` takes back.
    var isRelinquish: Bool { self == .relinquishToReader || self == .relinquishToWriter }

    /// The name of the presenter's method.
    package var name: String {
        switch self {
        case .relinquishToReader: "relinquishPresentedItemToReader"
        case .relinquishToWriter: "relinquishPresentedItemToWriter"
        case .saveChanges: "savePresentedItemChanges"
        case .accommodateDeletion: "accommodatePresentedItemDeletion"
        case .accommodateSubitemDeletion: "accommodatePresentedSubitemDeletion"
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

/// Who caused a message.
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

/// A message on its way to a presenter.
///
/// The messages of one presenter are handled one after the other, in the order of the arbiter's actions.
package struct Delivery: Hashable, Sendable {
    package let id: MessageID
    package let presenter: PresenterID
    package let message: PresenterMessage
    package let cause: Cause
    /// The claim that waits for the answer; nil when none does.
    package let awaitedBy: ClaimID?
}
