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
    package let differing: [Int64: [Int64]]

    /// The number of differing records of a table above which a list of them saves nothing.
    private static let most = 200_000

    /// A table that can be compared: both sides find a row by its rowid.
    private struct Part {
        var table: BaselineHeader.Table
        var shape: TableShape
    }

    /// Compares the records of both, in two halves at a time.
    ///
    /// It is nil if no table can be compared.
    ///
    /// - Parameters:
    ///   - baseline: the file of the baseline.
    ///   - header: its header.
    ///   - file: the store.
    /// - Throws: GRDB's errors.
    package init?(_ baseline: FilePath, _ header: BaselineHeader, with file: StoreFile) throws {
        guard file.pool.isConcurrent, header.schema == file.migrations.last ?? "" else { return nil }
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
            let source = AttachedDatabase.readOnly(baseline, isImmutable: true)
            try db.execute(sql: "ATTACH DATABASE ? AS \(BaselineJoiner.schema(0))", arguments: [source])
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
