internal import StoreFormat

/// The changes of one transaction, as a row of `ubiquity_history` holds them.
///
/// A head names the tables, the columns and the authors that the changes refer to by numbers. Migrations, which rename
/// tables and columns, therefore rewrite the heads alone.
struct PackedChanges {
    /// A table of the changes.
    struct Table {
        /// The table's name; empty if the table no longer syncs.
        var name: String
        /// The number of the key's columns.
        var keys: Int
        /// The names of the updated columns, by their numbers in the changes; a dropped column has none.
        var columns: [Int: String]
    }

    private static let version: UInt8 = 1

    var tables: [Table] = []
    /// The author and time of each change; nil for changes without an author.
    var stamps: [Stamp?] = []
    private var body: [UInt8] = []

    init() {}

    // MARK: Writing

    /// Adds a run of changes.
    ///
    /// - Parameters:
    ///   - run: the changes; no more than its limit.
    ///   - table: the number of the table in `tables`.
    ///   - stamp: the author and time.
    mutating func append(_ run: ChangeRun, of table: Int, by stamp: Stamp?) {
        if stamps.last != .some(stamp) { stamps.append(stamp) }
        var header = WireWriter()
        header.varint(UInt64(stamps.count - 1))
        header.varint(UInt64(table))
        header.varint(UInt64(run.count))
        body += header.bytes
        body += run.bytes.bytes
    }

    var encoded: [UInt8] {
        var writer = WireWriter(reserving: body.count + 128)
        func text(_ string: String) {
            writer.varint(UInt64(string.utf8.count))
            writer.raw(Array(string.utf8))
        }
        writer.byte(Self.version)
        writer.varint(UInt64(tables.count))
        for table in tables {
            text(table.name)
            writer.varint(UInt64(table.keys))
            writer.varint(UInt64(table.columns.count))
            for (number, name) in table.columns.sorted(by: { $0.key < $1.key }) {
                writer.varint(UInt64(number))
                text(name)
            }
        }
        writer.varint(UInt64(stamps.count))
        for stamp in stamps {
            writer.varint(UInt64(stamp?.peer.rawValue ?? 0))
            writer.little(UInt64(bitPattern: stamp?.time.rawValue ?? 0))
        }
        writer.raw(body)
        return writer.bytes
    }

    // MARK: Reading

    init(decoding bytes: [UInt8]) throws(WireReader.Fault) {
        var reader = WireReader(bytes[...])
        func text() throws(WireReader.Fault) -> String { String(decoding: try reader.take(try reader.length()), as: UTF8.self) }
        guard try reader.byte() == Self.version else { throw .malformed("changes of an unknown version") }
        for _ in 0..<(try reader.length()) {
            let (name, keys) = (try text(), try reader.length())
            var columns: [Int: String] = [:]
            for _ in 0..<(try reader.length()) { columns[Int(truncatingIfNeeded: try reader.varint())] = try text() }
            tables.append(Table(name: name, keys: keys, columns: columns))
        }
        for _ in 0..<(try reader.length()) {
            let peer = Int64(bitPattern: try reader.varint())
            let time = HybridTime(rawValue: Int64(bitPattern: try reader.little()))
            stamps.append(peer == 0 ? nil : Stamp(time, PeerNumber(rawValue: peer)))
        }
        body = Array(try reader.take(reader.remaining))
    }

    /// Calls a body with each change and its author, until the body returns false.
    ///
    /// - Parameter visit: receives the author, the table, and the kind, columns and key of the change.
    /// - Throws: `WireReader.Fault`, or the error of the body.
    func forEach(_ visit: (Stamp?, Table, ChangeRun.Kind, ColumnSet, [RecordValue]) throws -> Bool) throws {
        var reader = WireReader(body[...])
        while !reader.isAtEnd {
            let (stamp, table) = (Int(truncatingIfNeeded: try reader.varint()), Int(truncatingIfNeeded: try reader.varint()))
            guard stamps.indices.contains(stamp), tables.indices.contains(table) else {
                throw WireReader.Fault.malformed("a change of an unknown table")
            }
            for _ in 0..<(try reader.varint()) {
                guard let kind = ChangeRun.Kind(rawValue: try reader.byte()) else { throw WireReader.Fault.malformed("a change of an unknown kind") }
                let columns = kind == .updated ? ColumnSet(rawValue: Int64(bitPattern: try reader.varint())) : []
                var key: [RecordValue] = []
                if kind != .whole { for _ in 0..<tables[table].keys { key.append(try reader.recordValue().detached) } }
                guard try visit(stamps[stamp], tables[table], kind, columns, key) else { return }
            }
        }
    }
}
