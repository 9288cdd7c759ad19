package import GRDB
internal import GRDBSQLite

/// A record that refers to one that is not there.
package struct OrphanedRecord {
    /// Nil where the table does not sync.
    var record: ObjectID?
    var table: String
    var parent: String

    /// What is wrong, without a full stop.
    package var text: String {
        "\(record.map { "the record \($0.text)" } ?? "a row of “\(table)”") refers to a record of “\(parent)” that is not there"
    }

    /// Looks at the end of a transaction whose foreign keys are checked by its commit, which names no record, and a rehearsal has none.
    ///
    /// - Parameters:
    ///   - db: the store, in the transaction.
    ///   - keys: the key columns of its synced tables.
    /// - Returns: the first one; nil where all refer to what is there.
    /// - Throws: GRDB's errors.
    package static func first(_ db: Database, keys: [String: [String]]) throws -> OrphanedRecord? {
        var (unresolved, highest): (CInt, CInt) = (0, 0)
        sqlite3_db_status(db.sqliteConnection, SQLITE_DBSTATUS_DEFERRED_FKS, &unresolved, &highest, 0)
        guard unresolved != 0, let row = try Row.fetchOne(db, sql: "PRAGMA main.foreign_key_check") else { return nil }
        let (child, parent): (String, String) = (row["table"], row["parent"])
        guard let key = keys[child] else { return OrphanedRecord(record: nil, table: child, parent: parent) }
        return OrphanedRecord(record: try record(of: child, key, without: parent, reference: row["fkid"], db), table: child, parent: parent)
    }

    /// The key of a record whose parent is missing, which a table without rowids is not told of.
    private static func record(of table: String, _ key: [String], without parent: String, reference: Int, _ db: Database) throws -> ObjectID? {
        let references = try Row.fetchAll(
            db, sql: "SELECT \"from\", \"to\" FROM pragma_foreign_key_list(?, 'main') WHERE id = ? ORDER BY seq", arguments: [table, reference])
        let parentKey = try String.fetchAll(db, sql: "SELECT name FROM pragma_table_info(?, 'main') WHERE pk > 0 ORDER BY pk", arguments: [parent])
        let pairs = references.enumerated().map { index, row -> (child: String, parent: String) in
            ("c.\((row["from"] as String).quotedIdentifier)", "p.\((row["to"] as String? ?? parentKey[index]).quotedIdentifier)")
        }
        let isSet = pairs.map { "\($0.child) IS NOT NULL" }.joined(separator: " AND ")
        // The parent's column first, whose collation decides (sqlite.org/foreignkeys.html#fk_basics).
        let matches = pairs.map { "\($0.parent) = \($0.child)" }.joined(separator: " AND ")
        let columns = key.map { "c.\($0.quotedIdentifier)" }.joined(separator: ", ")
        let isThere = "SELECT 1 FROM main.\(parent.quotedIdentifier) p WHERE \(matches)"
        let statement = try RawStatement(
            "SELECT \(columns) FROM main.\(table.quotedIdentifier) c WHERE \(isSet) AND NOT EXISTS (\(isThere))", db)
        defer { statement.reset() }
        return try statement.step() ? ObjectID(table: table, key: key.indices.map { statement.value($0) }) : nil
    }
}
