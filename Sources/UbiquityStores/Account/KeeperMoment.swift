/// A moment in the work of a ``StoreKeeper``: a test holds it there, and changes the world meanwhile.
package enum KeeperMoment: Hashable, Sendable {
    /// What a step does.
    package enum Kind: Hashable, Sendable { case ask, prepare, tellWillChange, swap, tellDidChange }

    /// It has read who is signed in, and nothing follows from that yet.
    case looked
    /// It begins a step.
    case begins(Kind)
    /// It has done a step, and has not noted that.
    case done(Kind)
    /// It could not do a step, and has not noted that.
    case failed(Kind)
}

extension StoreLife.Step {
    var kind: KeeperMoment.Kind {
        switch self {
        case .ask: .ask
        case .prepare: .prepare
        case .tellWillChange: .tellWillChange
        case .swap: .swap
        case .tellDidChange: .tellDidChange
        }
    }
}
