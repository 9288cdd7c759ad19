internal import StoreFormat
internal import StoreRecords
internal import UbiquityContainers

/// Whether the store's place in its content is gone, and the answer that has been given.
struct ContentAbsence: Equatable, Sendable {
    /// The policy of ``WipePolicy``, without the app's closure.
    enum Rule: Sendable { case wait, republish, follow, ask }

    /// The next step for a missing content.
    enum Step: Equatable, Sendable {
        /// Ask the app.
        case ask(ContainerAttachment.Reason)
        /// Carry out an answer.
        case carryOut(WipePolicy.Answer)
    }

    /// The difference between two looks at the place.
    enum Change { case none, wentAway(ContainerAttachment.Reason), cameBack }

    /// The reason why the place is gone; nil while it is there.
    private(set) var reason: ContainerAttachment.Reason?
    /// The answer to the present absence.
    ///
    /// It stays if it could not be carried out.
    private(set) var answer: WipePolicy.Answer?

    /// Whether the content is gone and can be created again in its place.
    var isWipe: Bool { reason?.isWipe == true }

    /// Records whether the place is there.
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

    /// Records the app's answer.
    mutating func answered(_ answer: WipePolicy.Answer) { self.answer = answer }

    /// Returns the next step under a rule.
    ///
    /// - Parameters:
    ///   - rule: the rule.
    ///   - asking: whether the app may be asked.
    /// - Returns: the step; nil if the content is there, or the store waits for it.
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
    /// Whether the content is gone and can be created again in its place.
    var isWipe: Bool {
        switch self {
        case .markGone, .containerGone, .contentGone: true
        case .rootGone, .massDeletion, .silent, .unreadable: false
        }
    }
}
