/// The surroundings of the running code: coordinated accessors, and presenters' methods that handle a message.
///
/// A task-local value carries them; on a thread without a task, it is a thread-local value. They show that an access is
/// nested, or that an access of a presenter belongs to its answer. A task that an accessor starts and does not await
/// inherits them too and counts as nested; a detached task does not.
final class CoordinationContext: Sendable {
    @TaskLocal static var current: CoordinationContext?

    private let outer: CoordinationContext?
    private let surrounding: Surrounding
    /// The purpose of the accessor, or that of the presenter whose method runs.
    private let purpose: Purpose?

    init(_ surrounding: Surrounding, purpose: Purpose? = nil, outer: CoordinationContext? = current) {
        self.surrounding = surrounding
        self.purpose = purpose
        self.outer = outer
    }

    /// The purpose of the innermost accessor or presenter's method around the running code; nil for none.
    var innermostPurpose: Purpose? { purpose ?? outer?.innermostPurpose }

    /// All surroundings of the running code, outermost first.
    var surroundings: [Surrounding] { (outer?.surroundings ?? []) + [surrounding] }

    /// Whether this code runs while a presenter handles a message.
    var isHandlingMessage: Bool {
        if case .message = surrounding { return true }
        return outer?.isHandlingMessage ?? false
    }
}
