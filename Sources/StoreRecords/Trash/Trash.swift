internal import Foundation
public import GRDB
package import StoreFormat

/// A trash for the records of one table: a record in it is hidden, is empty, and is deleted after a set time.
///
/// ```swift
/// let trash = Trash("score", flag: "isTrashed", lifetime: .seconds(30 * 86_400))
/// try await store.write { db in try trash.move(record, db) }
/// let shown = try await store.read { db in try Row.fetchAll(db, sql: "SELECT * FROM score WHERE \(trash.hides)") }
/// try await store.empty(trash)  // at launch, and once a day
/// ```
///
/// A plain deletion reaches every device and reader too, and is simpler. The trash is for an app that shows what was
/// deleted for some time, such as the gap in a list that others refer to. <doc:PublicContainers> compares the two.
///
/// The flag is a synced column that is 0 or NULL in all other records. The time at which a record was moved is that of
/// the last write of the flag, which the store keeps for each column.
public struct Trash: Sendable, Hashable {
    /// The table.
    public let table: String
    /// The column that is 1 in a record in the trash.
    public let flag: String
    /// How long a record lies in the trash.
    public let lifetime: Duration

    /// Describes the trash of a table.
    ///
    /// - Parameters:
    ///   - table: a synced table.
    ///   - flag: a synced column of it, such as `isTrashed INTEGER NOT NULL DEFAULT 0`.
    ///   - lifetime: how long a record lies in the trash before `UbiquitousStore.empty(_:)` deletes it.
    public init(_ table: String, flag: String = "isTrashed", lifetime: Duration = .seconds(30 * 86_400)) {
        (self.table, self.flag, self.lifetime) = (table, flag, lifetime)
    }

    /// The SQL condition that is true for a record outside of the trash, for `WHERE \(trash.hides)` and
    /// `filter(sql: trash.hides)`.
    public var hides: String { "coalesce(\(flag.quotedIdentifier), 0) = 0" }

    /// Returns the condition ``hides`` for a table that a query gives another name.
    ///
    /// - Parameter alias: the name of the table in the query.
    /// - Returns: the condition.
    public func hides(in alias: String) -> String { "coalesce(\(alias.quotedIdentifier).\(flag.quotedIdentifier), 0) = 0" }

    /// Moves a record into the trash.
    ///
    /// The flag becomes 1. Every other synced column becomes NULL, or its default if it is NOT NULL. The key, which names
    /// the account of a record in a store with a scope, and the columns that never leave the device stay. A record that
    /// lies in the trash already stays as it is.
    ///
    /// - Parameters:
    ///   - record: a record of the table.
    ///   - db: the database of `UbiquitousStore.write(_:)`.
    /// - Returns: whether there is such a record outside of the trash.
    /// - Throws: `UbiquitousStoreError`: `notFound` if there is no such synced table or column, or the record is of another
    ///   table or key; `unsupported` if a column cannot be cleared. `DatabaseError` if this account may not change the
    ///   record, or the cleared row breaks a rule of the table.
    @discardableResult
    public func move(_ record: ObjectID, _ db: Database) throws -> Bool {
        let table = try TrashTable(self, db)
        guard record.table == self.table, record.key.count == table.keyColumns.count else {
            throw UbiquitousStoreError(
                .notFound,
                "The trash is that of “\(self.table)”, whose key is (\(table.keyColumns.joined(separator: ", "))): move a record of this table by its whole key."
            )
        }
        let columns = try table.cleared.map { "\($0.name.quotedIdentifier) = \(try $0.emptyValue(in: self.table))" }
        try db.execute(
            sql: """
                UPDATE \(self.table.quotedIdentifier) SET \(([flag.quotedIdentifier + " = 1"] + columns).joined(separator: ", ")) \
                WHERE \(table.keyCondition) AND \(hides)
                """, arguments: StatementArguments(record.key.map(\.databaseValue)))
        return db.changesCount > 0
    }
}

extension Trash {
    /// Checks that the table and the flag are there, and that every other column can be cleared.
    ///
    /// - Parameters:
    ///   - shapes: the synced tables, with the rules by which their columns merge.
    ///   - db: a connection.
    /// - Throws: `UbiquitousStoreError`, as ``move(_:_:)``.
    package func check(_ shapes: [TableShape], _ db: Database) throws {
        let found = try TrashTable(self, db)
        for column in found.cleared { _ = try column.emptyValue(in: table) }
        guard let shape = shapes.first(where: { $0.name == table }) else { return }
        for (number, name) in shape.columns.enumerated() where shape.rules.policy(of: number) != .lastWriter {
            throw UbiquitousStoreError(
                .unsupported,
                "The column “\(name)” of “\(table)” keeps a value by the policy \(shape.rules.policy(of: number)), so that the trash cannot \(name == flag ? "tell since when a record lies in it" : "clear it"): take the policy from the column, or delete records instead."
            )
        }
    }

    /// Returns the records that have lain in the trash for longer than its lifetime.
    ///
    /// A record whose flag no save has written, as in a database from before the table was synced, is not among them.
    ///
    /// - Parameters:
    ///   - now: the time.
    ///   - isIncluded: whether a record can be among them; called before its stamps are read.
    ///   - db: a connection.
    /// - Returns: the records.
    /// - Throws: `UbiquitousStoreError` with `notFound`, or `malformed` if the store file is damaged; GRDB's errors.
    package func expired(now: HybridTime, where isIncluded: (ObjectID) -> Bool, _ db: Database) throws -> [ObjectID] {
        let found = try TrashTable(self, db)
        let search = try RecordClockSearch(found.known, db)
        let columns = found.keyColumns.map(\.quotedIdentifier).joined(separator: ", ")
        let rows = try RawStatement("SELECT \(columns) FROM \(table.quotedIdentifier) WHERE NOT (\(hides))", db, isCached: false)
        defer { rows.reset() }
        var expired: [ObjectID] = []
        while try rows.step() {
            let record = ObjectID(table: table, key: found.keyColumns.indices.map { rows.value($0) })
            guard isIncluded(record), case .alive(let clock?) = try search.standing(of: record.key) else { continue }
            let moved = clock.stamp(of: found.flagNumber).time
            if moved != .least, now.date.timeIntervalSince(moved.date) > lifetime / .seconds(1) { expired.append(record) }
        }
        return expired
    }

    /// Deletes records of the table.
    ///
    /// - Parameters:
    ///   - records: the records.
    ///   - db: in a transaction.
    /// - Throws: GRDB's errors.
    package func delete(_ records: [ObjectID], _ db: Database) throws {
        let found = try TrashTable(self, db)
        let statement = try db.cachedStatement(sql: "DELETE FROM \(table.quotedIdentifier) WHERE \(found.keyCondition) AND NOT (\(hides))")
        for record in records { try statement.execute(arguments: StatementArguments(record.key.map(\.databaseValue))) }
    }
}
