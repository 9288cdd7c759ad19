/// A moment in the work of a ``StoreKeeper``, at which a test can hold it and change the surroundings.
package enum KeeperMoment: Hashable, Sendable {
    /// The kind of a step.
    package enum Kind: Hashable, Sendable { case ask, prepare, tellWillChange, swap, tellDidChange }

    /// The keeper has read which account is signed in, and has not acted on it yet.
    case looked
    /// The keeper begins a step.
    case begins(Kind)
    /// The keeper has finished a step, and has not noted it yet.
    case done(Kind)
    /// The keeper has failed at a step, and has not noted it yet.
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
