package import GRDB
internal import GRDBSQLite

/// A record that refers to a missing record.
package struct OrphanedRecord {
    /// The record; nil if its table does not sync.
    var record: ObjectID?
    var table: String
    var parent: String

    /// The description of the fault, without a full stop.
    package var text: String {
        "\(record.map { "the record \($0.text)" } ?? "a row of “\(table)”") refers to a record of “\(parent)” that is not there"
    }

    /// Finds a record that breaks a foreign key, at the end of a transaction.
    ///
    /// The commit also checks the foreign keys, but its error names no record, and a rehearsal never commits.
    ///
    /// - Parameters:
    ///   - db: the store, in the transaction.
    ///   - keys: the key columns of its synced tables.
    /// - Returns: the first orphaned record, or nil if all references are valid.
    /// - Throws: GRDB's errors.
    package static func first(_ db: Database, keys: [String: [String]]) throws -> OrphanedRecord? {
        var (unresolved, highest): (CInt, CInt) = (0, 0)
        sqlite3_db_status(db.sqliteConnection, SQLITE_DBSTATUS_DEFERRED_FKS, &unresolved, &highest, 0)
        guard unresolved != 0, let row = try Row.fetchOne(db, sql: "PRAGMA main.foreign_key_check") else { return nil }
        let (child, parent): (String, String) = (row["table"], row["parent"])
        guard let key = keys[child] else { return OrphanedRecord(record: nil, table: child, parent: parent) }
        return OrphanedRecord(record: try record(of: child, key, without: parent, reference: row["fkid"], db), table: child, parent: parent)
    }

    /// Finds the key of a record whose parent is missing in a table without rowids, where SQLite reports no rowid.
    private static func record(of table: String, _ key: [String], without parent: String, reference: Int, _ db: Database) throws -> ObjectID? {
        let references = try Row.fetchAll(
            db, sql: "SELECT \"from\", \"to\" FROM pragma_foreign_key_list(?, 'main') WHERE id = ? ORDER BY seq", arguments: [table, reference])
        let parentKey = try String.fetchAll(db, sql: "SELECT name FROM pragma_table_info(?, 'main') WHERE pk > 0 ORDER BY pk", arguments: [parent])
        let pairs = references.enumerated().map { index, row -> (child: String, parent: String) in
            ("c.\((row["from"] as String).quotedIdentifier)", "p.\((row["to"] as String? ?? parentKey[index]).quotedIdentifier)")
        }
        let isSet = pairs.map { "\($0.child) IS NOT NULL" }.joined(separator: " AND ")
        // The parent's column comes first, because its collation decides (sqlite.org/foreignkeys.html#fk_basics).
        let matches = pairs.map { "\($0.parent) = \($0.child)" }.joined(separator: " AND ")
        let columns = key.map { "c.\($0.quotedIdentifier)" }.joined(separator: ", ")
        let isThere = "SELECT 1 FROM main.\(parent.quotedIdentifier) p WHERE \(matches)"
        let statement = try RawStatement(
            "SELECT \(columns) FROM main.\(table.quotedIdentifier) c WHERE \(isSet) AND NOT EXISTS (\(isThere))", db)
        defer { statement.reset() }
        return try statement.step() ? ObjectID(table: table, key: key.indices.map { statement.value($0) }) : nil
    }
}
