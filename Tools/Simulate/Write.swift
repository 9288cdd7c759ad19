import GRDB

/// One statement of a save, as data, so that a history can be printed and repeated.
struct Write: Sendable {
    /// The statement; only the schema's own rules may reject it.
    let sql: String

    /// Executes the statement, unless a rule of the schema rejects it.
    func perform(_ db: Database) throws {
        try db.inSavepoint {
            do {
                try db.execute(sql: sql)
                return .commit
            } catch let error as DatabaseError
                where error.resultCode == .SQLITE_CONSTRAINT || error.message?.contains("no such") == true
                || error.message?.contains("has no column") == true
            {
                // The column or table does not exist in this peer's version yet.
                return .rollback
            }
        }
    }
}
