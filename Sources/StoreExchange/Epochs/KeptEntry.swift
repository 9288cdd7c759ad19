public import Foundation
internal import StoreFormat
internal import StoreRecords
internal import UbiquityContainers

/// A kept entry: the description of saves that were set aside.
///
/// It is `entry.json` in a directory below `kept` in the device home.
///
/// The logs lie beside it, and the large values that they name in `values`.
public struct KeptEntry: Sendable, Hashable, Codable {
    /// The version of the file format.
    public static let format = 1

    /// The reason why saves were set aside.
    public enum Reason: String, Sendable, Codable {
        /// The content was removed while this device had unread saves.
        case contentRemoved
        /// A statement of a public container has taken away the right to make them.
        case rightRemoved
    }

    /// The version of the file format.
    public var format: Int
    /// The name of the entry.
    public var id: String
    /// The reason why the saves were set aside.
    public var reason: Reason
    /// The time of setting aside, by this device's clock.
    public var time: Date
    /// The account that the content belonged to.
    public var account: String
    /// The container's identifier.
    public var container: String
    /// The content's name.
    public var content: String
    /// The epoch that ended.
    public var epoch: Int64
    /// The store's peer in that epoch.
    public var peer: String
    /// The last migration of the app's schema.
    public var schema: String
    /// The path of the store file.
    public var store: String
    /// The number of logs.
    public var logs = 0
    /// The number of changes in the logs.
    public var changes = 0
    /// The number of logs that should be in the entry, but had gone from the container.
    public var missing = 0
    /// The number of large values that the logs name and that had gone.
    public var missingValues = 0
    /// The tables of the changes, if a right was taken away.
    public var tables: [String]?
    /// The time at which the entry was restored, or nil.
    public var restored: Date?

    /// Describes saves that are set aside because their epoch ends.
    init(ending state: StoreState, schema: String, store: String, time: Date) {
        self.init(of: state, .contentRemoved, id: Self.id(of: state), schema: schema, store: store, time: time)
    }

    /// Describes saves that statements reject.
    ///
    /// - Parameters:
    ///   - state: the state of the store.
    ///   - statements: the statements that are in effect then.
    ///   - schema: the last migration of the app's schema.
    ///   - store: the path of the store file.
    ///   - time: the time of setting aside.
    init(rejected state: StoreState, by statements: [ContentHash], schema: String, store: String, time: Date) {
        let id = Self.id(of: state, statements.map(\.description))
        self.init(of: state, .rightRemoved, id: id, schema: schema, store: store, time: time)
    }

    private init(of state: StoreState, _ reason: Reason, id: String, schema: String, store: String, time: Date) {
        (format, self.id, self.reason, self.time) = (Self.format, id, reason, time)
        account = state.account
        container = state.container
        content = state.content
        epoch = state.epoch
        peer = state.peer.description
        self.schema = schema
        self.store = store
    }

    /// Returns the one name for the end of an epoch at a peer, or for a change of statements, so that a repetition after a
    /// crash continues the same entry.
    static func id(of state: StoreState, _ statements: [String] = []) -> String {
        let subject = ([state.container, state.content, state.peer.description, String(state.epoch)] + statements).joined(separator: "/")
        var bytes = Array(ContentHash(of: Array(subject.utf8)).bytes.prefix(16))
        // A UUID of version 8, whose other bits are free to choose (RFC 9562, section 5.8).
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes.withUnsafeBytes { UUID(uuid: $0.load(as: uuid_t.self)) }.uuidString.lowercased()
    }

    /// Reads the bytes of an entry.
    ///
    /// Returns nil if they are damaged or of a newer format.
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
