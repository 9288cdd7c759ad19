package import GRDB

/// The triggers that capture the app's writes.
package enum Capture {
    /// The values of `ubiquity_import.active`, which tell the triggers how a connection writes.
    package enum Mode: Int {
        /// The app writes, and the triggers record it.
        case noting = 0
        /// An import or a seeding writes, and the triggers record nothing.
        case importing = 1
        /// A column's policy puts a value back into a row that the app wrote, and the triggers record nothing.
        case puttingBack = 2
    }

    /// Sets the mode of the connection's next writes.
    package static func set(_ mode: Mode, _ db: Database) throws { try db.execute(sql: statement(mode)) }

    /// Returns the statement that sets the mode, also for use in a trigger.
    static func statement(_ mode: Mode) -> String { "UPDATE ubiquity_import SET active = \(mode.rawValue)" }

    /// Runs a body without capture.
    ///
    /// After an error the transaction must be rolled back.
    package static func suspended<Result>(_ db: Database, _ body: () throws -> Result) throws -> Result {
        try set(.importing, db)
        let result = try body()
        try set(.noting, db)
        return result
    }
}
