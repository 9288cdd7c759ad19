package import Foundation
internal import GRDB
package import StoreFormat
package import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// The state of a store file, without the key or value of any record.
package struct StoreReport: Sendable, Encodable {
    /// A table, index or trigger with the statement that created it.
    package struct Definition: Sendable, Encodable {
        package var type: String
        package var name: String
        package var sql: String
    }

    /// A value that lost to another, without the value.
    package struct Lost: Sendable, Encodable {
        package var table: String
        package var columns: [String]
        package var reason: String
        package var author: String
        package var written: Date
        package var winner: String?
        package var noticed: Date
    }

    /// A file that cannot be used.
    package struct Quarantined: Sendable, Encodable {
        package var peer: String
        package var file: String
        package var kind: QuarantinedLog.Kind
        /// The reason; nil for a file that the schema refuses, because that reason can contain a record's content.
        package var reason: String?
        package var since: Date
    }

    /// The SQLite file; below, its bytes and those of its write-ahead log.
    package var file: String
    package var bytes: Int64
    package var walBytes: Int64
    /// The format version of this package's tables in it.
    package var format: Int
    package var account: String
    package var container: String
    package var contentName: String
    package var place: String
    package var peer: String
    package var successor: String?
    package var epoch: Int64
    package var sequence: Int64
    package var attached: Bool
    package var gathered: Bool
    package var receipt: Int64
    /// The greatest stamp written or seen.
    package var clock: Date
    package var knowledge: [Receipt.Entry]
    package var holes: [Receipt.Entry]?
    /// The number of sealed logs that are not published; below, their bytes.
    package var unpublished: Int
    package var unpublishedBytes: Int64
    package var quarantine: [Quarantined]
    /// The number of held records, by table.
    package var held: [String: Int]
    /// The number of records that have become one with others, by table.
    package var duplicates: [String: Int]
    package var broken: Int
    package var conflicts: [Lost]
    /// The number of rows of each app table.
    package var rows: [String: Int]
    package var migrations: [String]
    package var schema: [Definition]
}

extension InspectedStore {
    /// Returns a report about the store, without its content.
    ///
    /// - Returns: the report, as of one moment except for the sizes of files.
    /// - Throws: GRDB's errors, or `UbiquitousStoreError` if the store's own state is damaged.
    package func report() throws -> StoreReport {
        func size(_ suffix: String) -> Int64 { (try? LinuxFileLayer().size(of: FilePath(file.string + suffix))) ?? 0 }
        return try read { db in
            let state = try StoreState.read(db)
            let knowledge = try StoreKnowledge.all(state, db)
            let listing = RelationListing(db)
            let row = try Row.fetchOne(
                db,
                sql: """
                    SELECT format, gathered, (SELECT count(*) FROM ubiquity_outbox) AS logs,
                    (SELECT coalesce(sum(length(bytes)), 0) FROM ubiquity_outbox) AS bytes FROM ubiquity_state
                    """)!
            return StoreReport(
                file: file.string, bytes: size(""), walBytes: size("-wal"), format: row["format"], account: state.account, container: state.container,
                contentName: state.content, place: state.place.rawValue, peer: state.peer.description, successor: state.successor?.description,
                epoch: state.epoch, sequence: state.sequence, attached: state.attached, gathered: row["gathered"], receipt: state.receipt,
                clock: state.clock.date, knowledge: knowledge.listed, holes: knowledge.listedHoles, unpublished: row["logs"],
                unpublishedBytes: row["bytes"], quarantine: try QuarantinedLog.list(db).map(StoreReport.Quarantined.init),
                held: StoreReport.counts(try listing.held().map(\.record.table)),
                duplicates: StoreReport.counts(try listing.duplicates().flatMap(\.members).map(\.record.table)),
                broken: try CheckInspector.list(db).count, conflicts: try ConflictHistory(db).list().map(StoreReport.Lost.init),
                rows: try StoreReport.rows(db), migrations: try SyncedSchema.migrations(db), schema: try StoreReport.schema(db))
        }
    }
}

extension StoreReport {
    fileprivate static func counts(_ tables: [String]) -> [String: Int] { Dictionary(tables.map { ($0, 1) }, uniquingKeysWith: +) }

    fileprivate static func schema(_ db: Database) throws -> [Definition] {
        try Row.fetchAll(db, sql: "SELECT type, name, sql FROM main.sqlite_master WHERE sql IS NOT NULL ORDER BY rowid").map {
            Definition(type: $0["type"], name: $0["name"], sql: $0["sql"])
        }
    }

    fileprivate static func rows(_ db: Database) throws -> [String: Int] {
        let tables = try String.fetchAll(
            db,
            sql: """
                SELECT name FROM main.sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'
                AND name NOT LIKE 'ubiquity\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
                """)
        return try Dictionary(
            uniqueKeysWithValues: tables.map { ($0, try Int.fetchOne(db, sql: "SELECT count(*) FROM main.\($0.quotedIdentifier)")!) })
    }
}

extension StoreReport.Lost {
    fileprivate init(_ conflict: Conflict) {
        self.init(
            table: conflict.record.table, columns: conflict.lost.map(\.column), reason: "\(conflict.reason)", author: conflict.author,
            written: conflict.written, winner: conflict.winner, noticed: conflict.noticed)
    }
}

extension StoreReport.Quarantined {
    fileprivate init(_ log: QuarantinedLog) {
        self.init(peer: log.peer, file: log.file, kind: log.kind, reason: log.kind == .refused ? nil : log.reason, since: log.since)
    }
}
