/// When a store writes down all that it holds as a baseline, from which others can begin, and after which logs are no longer needed.
public struct BaselinePolicy: Sendable, Hashable {
    /// How many logs, of whichever peers, no baseline holds by then.
    public var logs: Int
    /// How many bytes these logs have by then.
    public var bytes: Int

    /// Limits, of which the one that is reached first counts.
    ///
    /// - Parameters:
    ///   - logs: how many logs no baseline holds by then.
    ///   - bytes: how many bytes these logs have by then.
    public init(logs: Int = 2000, bytes: Int = 256 << 20) {
        self.logs = logs
        self.bytes = bytes
    }
}
