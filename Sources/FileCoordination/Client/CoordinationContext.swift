/// What the running code is within: coordinated accessors, and presenters' methods that handle a message.
///
/// Carried by a task-local value, which on a thread without a task is a thread-local one. It is how a nested access is known to be
/// nested (C-51), and an access of a presenter that is being asked to belong to its answer (C-52). A task that an accessor starts
/// and does not await inherits it all the same, and counts as nested; a detached task does not.
final class CoordinationContext: Sendable {
    @TaskLocal static var current: CoordinationContext?

    private let outer: CoordinationContext?
    private let surrounding: Surrounding
    /// Which coordinator the accessor belongs to; nil within a presenter's method.
    private let coordinator: UInt64?

    init(_ surrounding: Surrounding, coordinator: UInt64? = nil, outer: CoordinationContext? = current) {
        self.surrounding = surrounding
        self.coordinator = coordinator
        self.outer = outer
    }

    /// Everything that surrounds the running code, outermost first.
    var surroundings: [Surrounding] { (outer?.surroundings ?? []) + [surrounding] }

    /// Whether this code runs while a presenter handles a message.
    var isHandlingMessage: Bool {
        if case .message = surrounding { return true }
        return outer?.isHandlingMessage ?? false
    }
}
