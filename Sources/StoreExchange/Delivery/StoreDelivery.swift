public import Foundation
public import UbiquityContainers

/// How far a store's own changes have got: in its file, in the container, with another device, read by the other peers.
public struct StoreDelivery: Sendable, Hashable, Codable {
    /// What carries the container.
    public var transport: TransportKind
    /// Why nothing can leave this device now, with the remedy; nil if something can, or that is unknown.
    public var obstacle: String?
    /// Since when that is so; nil if unknown.
    public var obstacleSince: Date?
    /// The logs that are sealed and not yet in the container.
    public var unpublished: Int
    /// The sequence of the last log in the container; 0 for none.
    public var published: Int64
    /// The logs in the container that no other device is known to have.
    public var waitingLogs: Int
    /// The bytes of these logs, and of the large values that they may need.
    public var waitingBytes: Int64
    /// When the first of these logs was put into the container.
    public var waitingSince: Date?
    /// Whether the transport knows where each log is; otherwise only what other peers have read counts as delivered.
    public var isCertain: Bool
    /// What the other peers have read, by peer.
    public var readers: [Reader]

    /// How far another peer has read this store's logs.
    public struct Reader: Sendable, Hashable, Codable {
        /// The peer.
        public var peer: String
        /// The name of its device, from its receipt.
        public var device: String?
        /// The sequence of the last log that it has read.
        public var read: Int64
        /// The number of published logs that it has not read.
        public var behind: Int64
        /// The time of its receipt, by its own clock.
        public var seen: Date?
    }

    /// Whether another device has every change of this store.
    public var hasLeft: Bool { unpublished == 0 && waitingLogs == 0 }

    /// What has not left this device, in words; nil if everything has.
    public var text: String? {
        guard !hasLeft else { return nil }
        let logs = unpublished + waitingLogs
        let size = waitingBytes > 0 ? ", \(waitingBytes.formatted(.byteCount(style: .file)))" : ""
        let since = waitingSince.map { ", since \($0.formatted(.iso8601))" } ?? ""
        return "\(counted(logs, "log"))\(size) \(logs == 1 ? "has" : "have") not \(isCertain ? "" : "certainly ")left this device\(since)"
    }
}
