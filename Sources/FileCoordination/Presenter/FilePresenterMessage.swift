import SystemPackage

/// The message that a presenter is handling: who caused it, and about what kind of item.
public struct FilePresenterMessage: Sendable {
    /// The message in whose handling this code runs, or nil elsewhere; a task-local value, so detached tasks do not see it.
    @TaskLocal public static var current: FilePresenterMessage?

    /// The process whose access caused the message.
    public let processIdentifier: Int32
    /// The purpose of the coordinator whose access caused it.
    public let purposeIdentifier: String
    /// Whether that is this process.
    public let isFromThisProcess: Bool
    /// Whether the presented item is a file package.
    public let presentedItemIsPackage: Bool
}
