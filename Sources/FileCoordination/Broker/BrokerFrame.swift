import SystemPackage

/// The version of the protocol; both sides refuse another version.
let brokerProtocolVersion: UInt64 = 3

/// One message between a client and the broker.
///
/// On the wire: four bytes with the length of the rest, lowest first; one byte for the kind; eight bytes for the
/// broker's epoch; the values.
enum BrokerFrame: Sendable {
    // Sent by a client.
    case hello(Hello)
    /// The client's claims, messages and presenters, after a broker took over or when the client returns a delegation;
    /// then its events.
    /// - hasMissed: whether messages of an earlier broker may have been lost.
    case reclaim(Holdings, hasMissed: Bool)
    case event(ArbiterEvent)
    /// Returns the delegation of this number with the claims under it; nil if the client did not accept it.
    case returned(UInt64, Holdings?)
    case list
    case status
    case stop
    /// Asks for a pong with this number after all earlier frames were handled.
    case ping(UInt64)
    /// Sets the log level of the broker and its clients; nil only asks for it.
    case setLogLevel(UInt64?)

    // Sent by the broker.
    case welcome(Welcome)
    /// The broker refuses this client and closes the connection.
    case refused(Refusal, String)
    case action(ArbiterAction)
    case delegated(Delegation)
    case recall(UInt64)
    case listing(CoordinationSnapshot)
    case report(BrokerReport)
    case pong(UInt64)
    /// The items of a waiting claim have moved.
    case retargeted(ClaimID, [ClaimItem])
    /// The log level of the broker and its clients.
    case logLevel(UInt64)

    /// A client's description of itself.
    struct Hello: Sendable {
        var version = brokerProtocolVersion
        let client: ClientID
        /// The name of the program.
        let name: String
        /// Whether the client only observes, and never claims.
        let isObserver: Bool
        /// The delegation that the client still has from before the broker started.
        var delegation: Delegation?
    }

    /// A broker's first frame.
    struct Welcome: Sendable {
        let version: UInt64
        let process: Int32
    }

    /// The reasons to refuse a client.
    enum Refusal: UInt8, Sendable {
        /// The client speaks another version of the protocol.
        case version
        /// The client belongs to another user.
        case user
        /// The client broke the protocol or a limit.
        case misuse
        /// The broker is leaving.
        case leaving
    }

    /// Subtrees that a client may arbitrate alone.
    struct Delegation: Sendable, Hashable {
        /// A number greater than that of any earlier delegation by this broker.
        let number: UInt64
        let roots: [FilePath]
    }
}

/// A broker's report about itself.
package struct BrokerReport: Sendable, Codable {
    /// The broker's process.
    package let process: Int32
    /// Whether the process only runs the broker, rather than an app that hosts it.
    package let isResident: Bool
    /// The version of the protocol.
    package let version: UInt64
    /// The number of this broker among all of this user's brokers since the system started.
    package let epoch: UInt64
    /// How long the broker has run, in seconds.
    package let age: Double
    /// The processes that are connected.
    package let clients: [Client]
    package let claims: Int
    package let presenters: Int

    /// A connected process.
    package struct Client: Sendable, Codable {
        package let process: Int32
        package let name: String
        package let isStopped: Bool
        /// The subtrees that it arbitrates alone.
        package let delegated: [String]
    }
}

extension BrokerFrame {
    /// The largest size of a frame in bytes.
    static let limit = 32 << 20
    /// The size in bytes of everything before the values.
    static let headerSize = 13

    private var kind: UInt8 {
        switch self {
        case .hello: 1
        case .reclaim: 2
        case .event: 3
        case .returned: 4
        case .list: 5
        case .status: 6
        case .stop: 7
        case .ping: 8
        case .setLogLevel: 9
        case .welcome: 64
        case .refused: 65
        case .action: 66
        case .delegated: 67
        case .recall: 68
        case .listing: 70
        case .report: 71
        case .pong: 72
        case .retargeted: 73
        case .logLevel: 74
        }
    }

    /// Appends the frame's bytes.
    func append(to bytes: inout [UInt8], epoch: UInt64) {
        var writer = WireWriter()
        writer.byte(kind)
        writer.fixed(epoch)
        switch self {
        case .hello(let hello):
            // The version comes first, so that any version can read it.
            writer.number(hello.version)
            writer.put(hello.client)
            writer.put(hello.name)
            writer.put(hello.isObserver)
            writer.put(hello.delegation)
        case .reclaim(let holdings, let hasMissed):
            writer.put(holdings)
            writer.put(hasMissed)
        case .event(let event): writer.put(event)
        case .returned(let number, let holdings):
            writer.number(number)
            writer.put(holdings)
        case .list, .status, .stop: break
        case .welcome(let welcome):
            writer.number(welcome.version)
            writer.put(welcome.process)
        case .refused(let refusal, let reason):
            writer.byte(refusal.rawValue)
            writer.put(reason)
        case .action(let action): writer.put(action)
        case .delegated(let delegation): writer.put(delegation)
        case .recall(let number), .ping(let number), .pong(let number), .logLevel(let number): writer.number(number)
        case .setLogLevel(let level):
            writer.put(level != nil)
            if let level { writer.number(level) }
        case .listing(let snapshot): writer.put(snapshot)
        case .report(let report): writer.put(report)
        case .retargeted(let id, let items):
            writer.put(id)
            writer.put(items)
        }
        let count = UInt32(writer.bytes.count)
        withUnsafeBytes(of: count.littleEndian) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: writer.bytes)
    }

    /// Reads a frame without its length.
    ///
    /// - Throws: `WireError` when the bytes are not exactly one frame.
    static func read(_ bytes: ArraySlice<UInt8>) throws(WireError) -> (frame: BrokerFrame, epoch: UInt64) {
        var reader = WireReader(bytes)
        let kind = try reader.byte()
        let epoch = try reader.fixed()
        let frame: BrokerFrame
        switch kind {
        case 1:
            let version = try reader.number()
            // Another version may have other fields after this one.
            guard version == brokerProtocolVersion else {
                return (.hello(Hello(version: version, client: ClientID(0), name: "", isObserver: true)), epoch)
            }
            frame = .hello(
                Hello(version: version, client: try reader.get(), name: try reader.get(), isObserver: try reader.get(), delegation: try reader.get()))
        case 2: frame = .reclaim(try reader.get(), hasMissed: try reader.get())
        case 3: frame = .event(try reader.get())
        case 4: frame = .returned(try reader.number(), try reader.get())
        case 5: frame = .list
        case 6: frame = .status
        case 7: frame = .stop
        case 8: frame = .ping(try reader.number())
        case 9: frame = .setLogLevel(try reader.get() ? try reader.number() : nil)
        case 64:
            let version = try reader.number()
            guard version == brokerProtocolVersion else { return (.welcome(Welcome(version: version, process: 0)), epoch) }
            frame = .welcome(Welcome(version: version, process: try reader.get()))
        case 65:
            let refusal = Refusal(rawValue: try reader.byte()) ?? .misuse
            frame = .refused(refusal, try reader.get())
        case 66: frame = .action(try reader.get())
        case 67: frame = .delegated(try reader.get())
        case 68: frame = .recall(try reader.number())
        case 70: frame = .listing(try reader.get())
        case 71: frame = .report(try reader.get())
        case 72: frame = .pong(try reader.number())
        case 73: frame = .retargeted(try reader.get(), try reader.get())
        case 74: frame = .logLevel(try reader.number())
        default: throw WireError("a frame of no known kind, \(kind)")
        }
        guard reader.isAtEnd else { throw WireError("a frame is longer than its values") }
        return (frame, epoch)
    }
}

/// Cuts a stream of bytes into frames.
struct FrameBuffer {
    private var bytes: [UInt8] = []
    private var start = 0
    /// The longest accepted frame in bytes.
    var limit = BrokerFrame.limit

    mutating func add(_ more: UnsafeRawBufferPointer) {
        if start == bytes.count {
            bytes.removeAll(keepingCapacity: bytes.capacity < 1 << 20)
            start = 0
        } else if start > 1 << 16 {
            bytes.removeFirst(start)
            start = 0
        }
        bytes.append(contentsOf: more)
    }

    /// Returns the next frame; nil while it is incomplete.
    ///
    /// - Throws: `WireError` when the bytes are not a frame; the buffer cannot continue after that.
    mutating func next() throws(WireError) -> (frame: BrokerFrame, epoch: UInt64)? {
        guard bytes.count - start >= 4 else { return nil }
        let count = (0..<4).reduce(0) { $0 | Int(bytes[start + $1]) << ($1 * 8) }
        guard count >= BrokerFrame.headerSize - 4, count <= limit else { throw WireError("a frame of \(count) bytes") }
        guard bytes.count - start >= 4 + count else { return nil }
        defer { start += 4 + count }
        return try BrokerFrame.read(bytes[start + 4..<start + 4 + count])
    }
}
