public import Foundation
internal import StoreFormat
internal import StoreRecords
internal import UbiquityContainers

/// What was set aside of a store's content, with the reason: `entry.json` of a directory below `kept` in the device home.
///
/// Beside it lie the logs that hold it, and in `values` the large values that these name.
public struct KeptEntry: Sendable, Hashable, Codable {
    /// The form of the file.
    public static let format = 1

    /// Why something was set aside.
    public enum Reason: String, Sendable, Codable {
        /// The content was removed while this device had saves that nobody had read.
        case contentRemoved
    }

    /// The form of the file.
    public var format: Int
    /// The entry's name.
    public var id: String
    /// Why it was set aside.
    public var reason: Reason
    /// When, by this device's clock.
    public var time: Date
    /// The account whose content it was.
    public var account: String
    /// The container's identifier.
    public var container: String
    /// The content's name.
    public var content: String
    /// The epoch that ended.
    public var epoch: Int64
    /// The store's peer in it.
    public var peer: String
    /// The last migration of the app's schema.
    public var schema: String
    /// The store file.
    public var store: String
    /// How many logs it holds.
    public var logs = 0
    /// How many changes of records these hold.
    public var changes = 0
    /// How many logs should be in it, and had gone from the container.
    public var missing = 0
    /// How many large values its logs name that had gone.
    public var missingValues = 0
    /// When it was written back, where it has been.
    public var restored: Date?

    init(ending state: StoreState, reason: Reason, schema: String, store: String, time: Date) {
        format = Self.format
        id = Self.id(of: state)
        self.reason = reason
        self.time = time
        account = state.account
        container = state.container
        content = state.content
        epoch = state.epoch
        peer = state.peer.description
        self.schema = schema
        self.store = store
    }

    /// One name for one end of one epoch at one peer, so that what a crash cut short is the same entry when it is done again.
    static func id(of state: StoreState) -> String {
        let subject = [state.container, state.content, state.peer.description, String(state.epoch)].joined(separator: "/")
        var bytes = Array(ContentHash(of: Array(subject.utf8)).bytes.prefix(16))
        // A UUID of version 8, whose bits are the maker's (RFC 9562, section 5.8).
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes.withUnsafeBytes { UUID(uuid: $0.load(as: uuid_t.self)) }.uuidString.lowercased()
    }

    /// Reads an entry's bytes; nil for what is damaged or newer.
    init?(decoding bytes: [UInt8]) {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        guard let entry = try? decoder.decode(KeptEntry.self, from: Data(bytes)), entry.format <= Self.format else { return nil }
        self = entry
    }

    func encoded() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try [UInt8](encoder.encode(self)) + [UInt8(ascii: "\n")]
    }
}
