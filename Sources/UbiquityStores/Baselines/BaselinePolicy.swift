/// When a store writes down all that it holds as a baseline, from which others can begin, and after which logs are no longer needed.
public struct BaselinePolicy: Sendable, Hashable {
    /// How many logs, of whichever peers, no baseline holds by then.
    public var logs: Int
    /// A limit.
    ///
    /// - Parameter logs: how many logs no baseline holds by then.
    public init(logs: Int = 2000) { self.logs = logs }
}
