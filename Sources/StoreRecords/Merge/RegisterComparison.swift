internal import Foundation
internal import GRDB
package import StoreFormat
package import SystemPackage
internal import UbiquityContainers

/// A record in which a snapshot differs from what the logs say.
package struct RecordDifference: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable {
        /// The record has other values, stamps or authors.
        case altered
        /// No log has such a record.
        case invented
        /// The logs have the record, and the snapshot lacks it.
        case missing
        /// No log has deleted a record of which a death is listed.
        case death
    }

    package var kind: Kind
    /// The values of the key, as text, by column; for a death its mark.
    package var key: [String: String]

    package init(kind: Kind, key: [String: String]) { (self.kind, self.key) = (kind, key) }
}

/// Compares the registers of one table in two baselines: the lives, and the value and stamp of each column.
///
/// Which rows are shown does not matter: that follows from the registers.
package struct RegisterComparison {
    private typealias Side = (tables: BaselineTables, header: BaselineHeader, table: BaselineHeader.Table)

    private let shape: TableShape
    private let ours: (file: FilePath, header: BaselineHeader, table: BaselineHeader.Table)
    private let theirs: (file: FilePath, header: BaselineHeader, table: BaselineHeader.Table)
    /// The columns that both know.
    private let columns: [String]

    /// Compares two verified files.
    ///
    /// - Parameters:
    ///   - shape: the table, as `ours` has it.
    ///   - ours: what the logs say.
    ///   - theirs: what is compared with it.
    /// - Throws: `LogFault` if a file does not have the table.
    package init(_ shape: TableShape, _ ours: (FilePath, BaselineHeader), _ theirs: (FilePath, BaselineHeader)) throws {
        func table(_ header: BaselineHeader) throws -> BaselineHeader.Table {
            let found = header.tables.first { $0.table.name == shape.name || shape.formerNames.contains($0.table.name) }
            guard let found, shape.presentKey(found.table.keyColumns) == shape.keyColumns else {
                throw LogFault.damaged("it does not have the table “\(shape.name)” with its key")
            }
            return found
        }
        self.shape = shape
        self.ours = (ours.0, ours.1, try table(ours.1))
        self.theirs = (theirs.0, theirs.1, try table(theirs.1))
        let known = Set(self.theirs.table.table.columns.compactMap(shape.number).map { shape.columns[$0] })
        columns = shape.columns.filter(known.contains)
    }

    /// Returns the number of records that the snapshot has.
    package func count() throws -> Int64 {
        try open { db in try Int64.fetchOne(db, sql: "SELECT count(*) FROM \(Self.records(theirs.table, theirs.header, in: "theirs"))")! }
    }

    /// Returns the differences, by key.
    package func differences() throws -> [RecordDifference] {
        try open { db in
            let keys = shape.ownKeyColumns
            let (own, other) = (digested(ours.table, ours.header, in: "ours"), digested(theirs.table, theirs.header, in: "theirs"))
            func keysOnly(_ left: String, _ right: String) throws -> [[DatabaseValue]] {
                try Row.fetchAll(db, sql: "SELECT \(keys) FROM (SELECT * FROM \(left) EXCEPT SELECT * FROM \(right)) ORDER BY \(keys)")
                    .map { Array($0.databaseValues) }
            }
            let (lacking, added) = (try keysOnly(own, other), try keysOnly(other, own))
            let (missing, invented) = (Set(lacking), Set(added))
            return lacking.map { difference(invented.contains($0) ? .altered : .missing, $0) }
                + added.filter { !missing.contains($0) }.map { difference(.invented, $0) }
        }
    }

    private func difference(_ kind: RecordDifference.Kind, _ key: [DatabaseValue]) -> RecordDifference {
        RecordDifference(
            kind: kind, key: Dictionary(zip(shape.keyColumns, key.map { String.fromDatabaseValue($0) ?? "\($0)" })) { first, _ in first })
    }

    private func open<Result>(_ body: (Database) throws -> Result) throws -> Result {
        let queue = try DatabaseQueue()
        defer { try? queue.close() }
        return try queue.inDatabase { db in
            for (file, name) in [(ours.file, "ours"), (theirs.file, "theirs")] {
                try db.execute(sql: "ATTACH DATABASE ? AS \(name)", arguments: [AttachedDatabase.readOnly(file, isImmutable: true)])
            }
            db.add(function: digest(ours.table, ours.header, "ours"))
            db.add(function: digest(theirs.table, theirs.header, "theirs"))
            return try body(db)
        }
    }

    /// All living records of a side, for FROM.
    private static func records(_ table: BaselineHeader.Table, _ header: BaselineHeader, in schema: String) -> String {
        let tables = BaselineTables(header, in: schema)
        let names = table.table.keyColumns.indices.map { "k\($0)" } + ["life", "time", "peer", "columns", "others"]
        let all = (names + table.table.columns.indices.map { "v\($0)" }).joined(separator: ", ")
        return "(SELECT \(all) FROM \(tables.records(table)) UNION ALL SELECT \(all) FROM \(tables.others(table)))"
    }

    /// The keys of a side with a digest of the rest, for FROM.
    private func digested(_ table: BaselineHeader.Table, _ header: BaselineHeader, in schema: String) -> String {
        let present = shape.presentKey(table.table.keyColumns)
        let keys = shape.keyColumns.enumerated().map { "k\(present.firstIndex(of: $1)!) AS k\($0)" }
        let rest = ["life", "time", "peer", "columns", "others"] + table.table.columns.indices.map { "v\($0)" }
        return
            "(SELECT \(keys.joined(separator: ", ")), digest_\(schema)(\(rest.joined(separator: ", "))) AS digest FROM \(Self.records(table, header, in: schema)))"
    }

    /// Returns a function that hashes a record in a form that does not depend on its file.
    private func digest(_ table: BaselineHeader.Table, _ header: BaselineHeader, _ schema: String) -> DatabaseFunction {
        let peers = header.peers.mapValues(\.description)
        let columns = columns.map { column in
            table.table.columns.firstIndex { shape.number(of: $0).map { shape.columns[$0] } == column }!
        }
        return DatabaseFunction("digest_\(schema)", argumentCount: 5 + table.table.columns.count, pure: true) { values in
            let stamp = Stamp(HybridTime(rawValue: values[1].integer), PeerNumber(rawValue: values[2].integer))
            let written = ColumnSet(rawValue: values[3].integer)
            let others = values[4].bytes.withUnsafeBytes { RecordClock.unpack($0) } ?? []
            var writer = WireWriter(reserving: 256)
            writer.little(UInt64(bitPattern: values[0].integer))
            for column in columns {
                let other = others.first { $0.column == column }?.stamp
                let stamp = other ?? (written.contains(ColumnSet(column: column)) ? stamp : .least)
                writer.little(UInt64(bitPattern: stamp.time.rawValue))
                writer.raw(Array((peers[stamp.peer.rawValue] ?? "").utf8) + [0])
                writer.raw(values[5 + column].exactBytes)
            }
            return Data(ContentHash(of: writer.bytes).bytes)
        }
    }
}

extension DatabaseValue {
    fileprivate var integer: Int64 { if case .int64(let number) = storage { number } else { 0 } }

    fileprivate var bytes: [UInt8] { if case .blob(let data) = storage { Array(data) } else { [] } }

    /// The type and the bytes of the value.
    fileprivate var exactBytes: [UInt8] {
        func sized(_ tag: UInt8, _ bytes: [UInt8]) -> [UInt8] {
            [tag] + withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { Array($0) } + bytes
        }
        return switch storage {
        case .null: [0]
        case .int64(let number): sized(1, withUnsafeBytes(of: number.littleEndian) { Array($0) })
        case .double(let number): sized(2, withUnsafeBytes(of: number.bitPattern.littleEndian) { Array($0) })
        case .string(let text): sized(3, Array(text.utf8))
        case .blob(let data): sized(4, Array(data))
        }
    }
}
