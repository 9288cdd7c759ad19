internal import StoreFormat
internal import StoreRecords
internal import UbiquityContainers

/// Whether the store's place in its content is gone, and what has been said of that.
struct ContentAbsence: Equatable, Sendable {
    /// ``WipePolicy`` without the app's question.
    enum Rule: Sendable { case wait, republish, follow, ask }

    /// What is done about content that is gone.
    enum Step: Equatable, Sendable {
        /// Ask the app.
        case ask(ContainerAttachment.Reason)
        /// Carry out an answer.
        case carryOut(WipePolicy.Answer)
    }

    /// What another look at the place has changed.
    enum Change { case none, wentAway(ContainerAttachment.Reason), cameBack }

    /// Why the place is gone; nil while it is there.
    private(set) var reason: ContainerAttachment.Reason?
    /// What has been said of the present absence; an answer that could not be carried out stands.
    private(set) var answer: WipePolicy.Answer?

    /// Whether the content is gone, and can be made again in its place.
    var isWipe: Bool { reason?.isWipe == true }

    /// Learns whether the place is there.
    mutating func found(_ attachment: ContainerAttachment) -> Change {
        let before = reason
        switch attachment {
        case .attached:
            (reason, answer) = (nil, nil)
            return before == nil ? .none : .cameBack
        case .detached(let found):
            reason = found
            return before == found ? .none : .wentAway(found)
        }
    }

    /// Learns the app's answer.
    mutating func answered(_ answer: WipePolicy.Answer) { self.answer = answer }

    /// Says what is done by a rule.
    ///
    /// - Parameters:
    ///   - rule: the rule.
    ///   - asking: whether the app may be asked.
    /// - Returns: what is done; nil where the content is there, or is waited for.
    mutating func step(by rule: Rule, asking: Bool) -> Step? {
        guard isWipe, let reason else { return nil }
        switch rule {
        case .wait: answer = .wait
        case .republish: answer = .republish
        case .follow: answer = .follow
        case .ask: if answer == nil, asking { return .ask(reason) }
        }
        guard let answer, answer != .wait else { return nil }
        return .carryOut(answer)
    }
}

extension ContentAbsence.Rule {
    init(_ policy: WipePolicy) {
        self =
            switch policy {
            case .wait: .wait
            case .republish: .republish
            case .follow: .follow
            case .ask: .ask
            }
    }
}

extension ContainerAttachment.Reason {
    /// Whether the content is gone, and can be made again in its place.
    var isWipe: Bool {
        switch self {
        case .markGone, .containerGone, .contentGone: true
        case .rootGone, .massDeletion, .unreadable: false
        }
    }
}
