import SystemPackage

/// The message that a presenter is handling, with its cause and the kind of item.
public struct FilePresenterMessage: Sendable {
    /// The message that the running code handles, or nil; a task-local value, so detached tasks do not see it.
    @TaskLocal public static var current: FilePresenterMessage?

    /// The process whose access caused the message.
    public let processIdentifier: Int32
    /// The purpose of the coordinator whose access caused it.
    public let purposeIdentifier: String
    /// Whether the process is this process.
    public let isFromThisProcess: Bool
    /// Whether the presented item is a file package.
    public let presentedItemIsPackage: Bool
}
