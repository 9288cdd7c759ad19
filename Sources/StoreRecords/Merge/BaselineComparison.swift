internal import Dispatch
internal import Foundation
internal import GRDB
package import StoreFormat
internal import Synchronization
package import SystemPackage

/// Finds the records of a baseline that a store does not hold as they are.
///
/// It reads the store on connections of its own, and blocks nobody. What the store held then, it still holds when the
/// other records are joined, because a record only gains writes. A record that was equal need not be joined.
package struct BaselineComparison: Sendable {
    /// The rowids of differing records, by the number of the table in the baseline.
    ///
    /// A table that is missing here is compared while it is joined.
    let differing: [Int64: [Int64]]

    /// The number of differing records of a table above which a list of them saves nothing.
    private static let most = 200_000

    /// A table that can be compared: both sides find a row by its rowid.
    private struct Part {
        var table: BaselineHeader.Table
        var shape: TableShape
    }

    /// Compares the records of both, in two halves at a time.
    ///
    /// - Parameters:
    ///   - baseline: the file of the baseline.
    ///   - header: its header.
    ///   - file: the store.
    /// - Returns: nil if no table can be compared.
    /// - Throws: GRDB's errors.
    package init?(_ baseline: FilePath, _ header: BaselineHeader, with file: StoreFile) throws {
        guard file.pool is DatabasePool, header.schema == file.migrations.last ?? "" else { return nil }
        let parts = header.tables.compactMap { table -> Part? in
            let shape = file.shapes.first { $0.name == table.table.name }
            guard let shape, table.table == shape.logTable, shape.hasRowid, table.form?.hasRowid == true else { return nil }
            return Part(table: table, shape: shape)
        }
        guard !parts.isEmpty else { return nil }
        let found = Mutex<[[Int64: [Int64]]]>([])
        let failure = Mutex<(any Error)?>(nil)
        DispatchQueue.concurrentPerform(iterations: 2) { half in
            do {
                let part = try Self.differing(parts, half: half, of: baseline, header, file.path)
                found.withLock { $0.append(part) }
            } catch {
                failure.withLock { $0 = error }
            }
        }
        if let error = failure.withLock({ $0 }) { throw error }
        let halves = found.withLock { $0 }
        differing = halves[0].reduce(into: [:]) { all, table in
            guard let other = halves[1][table.key], table.value.count + other.count <= Self.most else { return }
            all[table.key] = table.value + other
        }
    }

    private static func differing(
        _ parts: [Part], half: Int, of baseline: FilePath, _ header: BaselineHeader, _ store: FilePath
    ) throws -> [Int64: [Int64]] {
        var configuration = Configuration()
        configuration.readonly = true
        let queue = try DatabaseQueue(path: store.string, configuration: configuration)
        defer { try? queue.close() }
        return try queue.inDatabase { db in
            try db.execute(sql: "ATTACH DATABASE ? AS \(BaselineJoiner.schema(0))", arguments: [AttachedDatabase.readOnly(baseline, isImmutable: true)])
            let peers = try StoreKnowledge.peers(db)
            let tables = BaselineTables(header, in: BaselineJoiner.schema(0))
            let sameness = RecordSameness(numbers: header.peers.compactMapValues { peers[$0]?.rawValue })
            return try parts.reduce(into: [:]) { all, part in
                let isAside = try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM main.\(part.shape.asideTable))")!
                guard !isAside else { return }
                all[part.table.number] = try differing(part, half: half, tables, sameness, db)
            }
        }
    }

    /// Returns nil if too many records differ.
    private static func differing(
        _ part: Part, half: Int, _ tables: BaselineTables, _ sameness: RecordSameness, _ db: Database
    ) throws -> [Int64]? {
        let record = "\(tables.schema).\(RecordForm.table(part.table.number))"
        let middle = try Int64.fetchOne(db, sql: "SELECT (min(rowid) + max(rowid)) / 2 FROM \(record)") ?? 0
        let rows = try RawStatement(
            """
            SELECT r.place FROM \(tables.records(part.table)) r WHERE r.place \(half == 0 ? "<=" : ">") \(middle)
            AND \(sameness.isNews(part.shape, knowsPlace: true))
            """, db)
        defer { rows.reset() }
        var places: [Int64] = []
        while try rows.step() {
            places.append(rows.integer(0))
            if places.count > most { return nil }
        }
        return places
    }
}

/// The SQL condition that a store's row `t` and clock `c` equal a record `r` of a baseline.
struct RecordSameness {
    private let peer: String
    private let others: String

    /// Creates the condition for expressions of the numbers in the store of a baseline's peers.
    init(peer: (String) -> String, others: (String) -> String) {
        self.init(peer: "c.peer = \(peer("r.peer"))", others: "c.others IS \(others("r.others"))")
    }

    private init(peer: String, others: String) { (self.peer, self.others) = (peer, others) }

    /// Creates the condition for the numbers in the store of those peers of a baseline that the store knows.
    init(numbers: [Int64: Int64]) {
        if numbers.allSatisfy({ $0.key == $0.value }) {
            self.init(peer: { $0 }, others: { $0 })
        } else {
            let cases = numbers.sorted { $0.key < $1.key }.map { " WHEN \($0.key) THEN \($0.value)" }.joined()
            // Stamps of several peers are packed with the numbers of the baseline.
            self.init(peer: "c.peer = CASE r.peer WHEN 0 THEN 0\(cases) END", others: "c.others IS NULL AND r.others IS NULL")
        }
    }

    /// Returns the condition that the store does not hold a record as it is.
    ///
    /// - Parameters:
    ///   - shape: the table.
    ///   - knowsPlace: whether the record has a rowid, which is often that of the store's row: then both are read in
    ///     their order.
    func isNews(_ shape: TableShape, knowsPlace: Bool) -> String {
        let isClock = shape.hasRowid ? "c.rid = t.rowid" : shape.keyColumns.indices.map { "c.k\($0) = r.k\($0)" }.joined(separator: " AND ")
        let keys = shape.keyColumns.enumerated().map { "t.\($1.quotedIdentifier) = r.k\($0)" }
        let clock = ["life", "time", "columns"].map { "c.\($0) = r.\($0)" } + [peer, others]
        // Two branches of one peer may have given the same stamp to two values.
        let values = shape.columns.enumerated().flatMap { number, column in
            let name = "t.\(column.quotedIdentifier)"
            let isSame = "NOT (\(ExactComparison.differ(name, "r.v\(number)")))"
            // For zeros, only the merge itself sees the sign.
            return shape.untyped.contains(ColumnSet(column: number)) ? [isSame, "NOT (\(ExactComparison.isZero(name)))"] : [isSame]
        }
        func isMissing(_ place: [String]) -> String {
            """
            NOT EXISTS (SELECT 1 FROM main.\(shape.name.quotedIdentifier) t CROSS JOIN main.\(shape.clockTable) c
            WHERE \((place + [isClock] + clock + values).joined(separator: " AND ")))
            """
        }
        guard knowsPlace, !shape.isRowidKey else { return isMissing(keys) }
        // The sign keeps SQLite from finding the row by its key.
        return "\(isMissing(["t.rowid = r.place"] + shape.keyColumns.enumerated().map { "+t.\($1.quotedIdentifier) = r.k\($0)" })) AND \(isMissing(keys))"
    }
}
