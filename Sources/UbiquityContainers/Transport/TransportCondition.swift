public import Foundation

/// Whether a transport works, and how far the other devices are, at one moment.
public struct TransportCondition: Sendable, Hashable, Codable {
    /// The kind of the transport.
    public var kind: TransportKind
    /// The reason why the transport carries nothing, with the remedy; nil while it works.
    public var failure: String?
    /// The time since when it has failed, or since when no device has been connected, as far as this process knows.
    public var since: Date?
    /// The other devices that share the container, by name.
    public var devices: [TransportDevice]
    /// The bytes that can still be written where the container lies; nil if unknown.
    public var free: Int64?

    /// Makes a condition.
    ///
    /// - Parameters:
    ///   - kind: the kind of the transport.
    ///   - failure: the reason why it carries nothing, with the remedy; nil if it works.
    ///   - since: since when.
    ///   - devices: the other devices.
    ///   - free: the free space.
    public init(_ kind: TransportKind, failure: String? = nil, since: Date? = nil, devices: [TransportDevice] = [], free: Int64? = nil) {
        self.kind = kind
        self.failure = failure
        self.since = since
        self.devices = devices
        self.free = free
    }

    /// Returns the condition with the free space of another one, if the two spaces differ by less than a hundredth.
    package func keepingSpace(of other: TransportCondition?) -> TransportCondition {
        var condition = self
        if let free, let before = other?.free, abs(free - before) < before / 100 { condition.free = before }
        return condition
    }

    /// Whether the transport answers and carries files.
    public var isReachable: Bool { failure == nil }

    /// Whether anything can leave or reach this device now; nil if that is unknown.
    public var isConnected: Bool? {
        switch kind {
        case .none: nil
        case .directory, .cloud: isReachable
        case .syncthing: isReachable && devices.contains(where: \.isConnected)
        }
    }

    /// Why nothing can leave or reach this device now, in words; nil if something can, or that is unknown.
    public var obstacle: String? {
        if let failure { return failure }
        guard isConnected == false else { return nil }
        if devices.isEmpty { return "\(kind) shares the container with no other device" }
        return "no other device is connected: \(devices.map(\.text).joined(separator: ", "))"
    }
}

/// Another device that shares a container, as a transport sees it.
public struct TransportDevice: Sendable, Hashable, Codable {
    /// The transport's identifier of the device.
    public var identifier: String
    /// The name that the user gave it.
    public var name: String
    /// Whether it is connected now.
    public var isConnected: Bool
    /// Whether the user has paused it.
    public var isPaused: Bool
    /// When it was connected last; nil if never, or unknown.
    public var lastSeen: Date?
    /// The bytes that it lacks of what this device has; nil if unknown.
    public var missingBytes: Int64?
    /// The files and removals that it lacks; nil if unknown.
    public var missingItems: Int?
    /// The part of all bytes that it has, from 0 to 1; nil if unknown.
    public var completion: Double?

    /// Makes a device.
    ///
    /// - Parameters:
    ///   - identifier: the transport's identifier.
    ///   - name: the name that the user gave it.
    ///   - isConnected: whether it is connected.
    ///   - isPaused: whether the user has paused it.
    ///   - lastSeen: when it was connected last.
    ///   - missingBytes: the bytes that it lacks.
    ///   - missingItems: the files and removals that it lacks.
    ///   - completion: the part that it has.
    public init(
        identifier: String, name: String, isConnected: Bool, isPaused: Bool = false, lastSeen: Date? = nil, missingBytes: Int64? = nil,
        missingItems: Int? = nil, completion: Double? = nil
    ) {
        self.identifier = identifier
        self.name = name
        self.isConnected = isConnected
        self.isPaused = isPaused
        self.lastSeen = lastSeen
        self.missingBytes = missingBytes
        self.missingItems = missingItems
        self.completion = completion
    }

    /// The name, with the time of the last connection of a device that is away.
    var text: String {
        if isPaused { return "\(name) (paused)" }
        guard !isConnected, let lastSeen else { return name }
        return "\(name) (last seen \(lastSeen.formatted(.iso8601)))"
    }
}
