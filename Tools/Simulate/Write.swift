import GRDB

/// One statement of a save: data, so that a history prints and repeats.
struct Write: Sendable {
    /// The statement; only the schema's own rules may refuse it.
    let sql: String

    /// Writes it, unless a rule of the schema refuses it.
    func perform(_ db: Database) throws {
        try db.inSavepoint {
            do {
                try db.execute(sql: sql)
                return .commit
            } catch let error as DatabaseError
                where error.resultCode == .SQLITE_CONSTRAINT || error.message?.contains("no such") == true
                || error.message?.contains("has no column") == true
            {
                // A column, or a table, that this peer's version has not yet.
                return .rollback
            }
        }
    }
}
