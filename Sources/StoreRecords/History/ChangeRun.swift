internal import StoreFormat

/// Changes of one table by one author, as ``PackedChanges`` stores them.
struct ChangeRun {
    /// The kind of a change, as it is stored.
    enum Kind: UInt8 {
        case inserted = 1
        case updated = 2
        case deleted = 3
        case whole = 4
    }

    /// The maximum number of changes that a transaction lists; a larger one lists its tables.
    ///
    /// It bounds the memory of a save, and a reader of so many changes reads the table as fast as the records.
    static let limit = 50_000

    /// The number of changes, which counts on beyond the limit.
    private(set) var count = 0
    private(set) var bytes = WireWriter()
    /// The columns that an update names.
    private(set) var updated: ColumnSet = []

    /// Adds a change.
    ///
    /// - Parameters:
    ///   - kind: its kind.
    ///   - columns: the columns of an update.
    ///   - key: writes the values of the record's key.
    mutating func add(_ kind: Kind, _ columns: ColumnSet = [], key: (inout WireWriter) -> Void) {
        count += 1
        guard count <= Self.limit else {
            if count == Self.limit + 1 { bytes = WireWriter() }
            return
        }
        bytes.byte(kind.rawValue)
        if kind == .updated {
            bytes.varint(UInt64(columns.rawValue))
            updated.formUnion(columns)
        }
        key(&bytes)
    }

    /// Adds a change of a record with a key.
    mutating func add(_ kind: Kind, _ columns: ColumnSet = [], of key: [RecordValue]) {
        add(kind, columns) { writer in for value in key { writer.recordValue(value) } }
    }
}
