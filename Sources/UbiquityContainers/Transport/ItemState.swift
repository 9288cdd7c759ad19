/// Where an item is, and how far it has got.
public struct ItemState: Sendable, Hashable, Codable {
    /// The status.
    public var status: ItemStatus
    /// The size in bytes of its newest known version; nil if unknown, and for a directory.
    public var size: Int64?
    /// Whether its newest known version is a directory.
    public var isDirectory: Bool
    /// How much has been transferred, while it is; nil if it is not, or that is unknown.
    public var progress: TransferProgress?
    /// Why it is not transferred, in words, if its status is `failed`.
    public var failure: String?

    /// Makes a state.
    ///
    /// - Parameters:
    ///   - status: the status.
    ///   - size: the size of the newest known version.
    ///   - isDirectory: whether that is a directory.
    ///   - progress: how much has been transferred.
    ///   - failure: why it is not transferred.
    public init(
        _ status: ItemStatus, size: Int64? = nil, isDirectory: Bool = false, progress: TransferProgress? = nil, failure: String? = nil
    ) {
        self.status = status
        self.size = size
        self.isDirectory = isDirectory
        self.progress = progress
        self.failure = failure
    }
}

/// How much of an item has been transferred.
public struct TransferProgress: Sendable, Hashable, Codable {
    /// The bytes that have arrived.
    public var done: Int64
    /// All bytes.
    public var total: Int64
    /// The bytes per second since the last report; nil until there are two reports.
    public var rate: Double?

    /// Makes a progress.
    ///
    /// - Parameters:
    ///   - done: the bytes that have arrived.
    ///   - total: all bytes.
    ///   - rate: the bytes per second.
    public init(done: Int64, total: Int64, rate: Double? = nil) {
        self.done = done
        self.total = total
        self.rate = rate
    }

    /// The part that has arrived, from 0 to 1.
    public var fraction: Double { total > 0 ? min(1, Double(done) / Double(total)) : 1 }

    /// The time until all of it has arrived, if the rate stays; nil without a rate.
    public var remaining: Duration? {
        guard let rate, rate > 0 else { return nil }
        return .seconds(Double(max(0, total - done)) / rate)
    }
}
