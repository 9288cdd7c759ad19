/// When a store writes down all that it holds as a baseline, from which others can begin, and after which logs are no longer needed.
public struct BaselinePolicy: Sendable, Hashable {
    /// How many logs, of whichever peers, no baseline holds by then.
    public var logs: Int
    /// How large they are by then, in bytes, and never less than twice the last baseline.
    public var bytes: Int

    /// Limits.
    ///
    /// - Parameters:
    ///   - logs: how many logs no baseline holds by then.
    ///   - bytes: how large they are by then.
    public init(logs: Int = 2000, bytes: Int = 64 << 20) {
        self.logs = logs
        self.bytes = bytes
    }
}
