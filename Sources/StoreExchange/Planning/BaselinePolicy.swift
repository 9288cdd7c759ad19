/// The limits after which a store writes all its registers as a baseline.
///
/// Other peers can begin with a baseline, and the logs that it holds are no longer needed.
public struct BaselinePolicy: Sendable, Hashable {
    /// The number of logs outside any baseline, of all peers together, after which a baseline is written.
    public var logs: Int
    /// The size of these logs in bytes after which a baseline is written.
    public var bytes: Int

    /// Creates a policy.
    ///
    /// The limit that is reached first counts.
    ///
    /// - Parameters:
    ///   - logs: the number of logs outside any baseline.
    ///   - bytes: the size of these logs in bytes.
    public init(logs: Int = 2000, bytes: Int = 256 << 20) {
        self.logs = logs
        self.bytes = bytes
    }
}
