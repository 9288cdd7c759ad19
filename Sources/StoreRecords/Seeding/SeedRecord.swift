public import GRDB
internal import StoreFormat

/// A record that an app seeds.
///
/// Its key must be equal wherever and whenever it is supplied: two devices that seed separately then end with one
/// record, and a crash causes no second one. Use a natural key, or a UUID that is constant in the app.
public struct SeedRecord: Sendable, Hashable {
    /// The synced table that receives it.
    public let table: String
    let values: [String: RecordValue]

    /// Creates a record from columns.
    ///
    /// - Parameters:
    ///   - table: a synced table.
    ///   - values: the columns of the key, and other synced columns; a column without a value gets its default.
    public init(table: String, values: [String: (any DatabaseValueConvertible)?]) {
        self.table = table
        self.values = values.mapValues { RecordValue($0?.databaseValue ?? .null) }
    }

    /// Creates a record from a GRDB record, as it would be inserted.
    ///
    /// - Parameter record: the record.
    /// - Throws: the error of its encoding.
    public init<Record: TableRecord & EncodableRecord>(_ record: Record) throws {
        table = Record.databaseTableName
        values = try record.databaseDictionary.mapValues(RecordValue.init)
    }
}

/// Records that are seeded in one transaction.
package struct SeedBatch: Sendable {
    struct Row: Sendable {
        var table: String
        var columns: [String]
        var values: [RecordValue]
    }

    private static let byteLimit = 4 << 20

    private(set) var rows: [Row] = []
    private var bytes = 0
    /// Whether the source has no more records.
    package var isLast = false

    package init() {}

    /// Whether the batch is complete without another row.
    package var isFull: Bool { rows.count >= BatchSize.rows || bytes >= Self.byteLimit }

    mutating func append(_ row: Row) {
        rows.append(row)
        bytes += row.values.reduce(0) { sum, value in
            switch value {
            case .text(let bytes), .blob(let bytes): sum + bytes.count
            case .null, .integer, .real: sum + 8
            }
        }
    }

    package mutating func append(_ record: SeedRecord) {
        let columns = record.values.keys.sorted()
        append(Row(table: record.table, columns: columns, values: columns.map { record.values[$0]! }))
    }
}
