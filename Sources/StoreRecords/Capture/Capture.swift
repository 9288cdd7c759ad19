package import GRDB

/// The triggers that note what the app writes.
package enum Capture {
    /// Does something of which they note nothing.
    ///
    /// After an error the transaction must be rolled back.
    package static func suspended<Result>(_ db: Database, _ body: () throws -> Result) throws -> Result {
        try db.execute(sql: "UPDATE ubiquity_import SET active = 1")
        let result = try body()
        try db.execute(sql: "UPDATE ubiquity_import SET active = 0")
        return result
    }
}
