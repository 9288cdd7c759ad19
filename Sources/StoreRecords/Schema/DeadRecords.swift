internal import GRDB

/// Which tables have dead records, in one import.
///
/// A change to a record that is new here asks for the record's death. A table without any dead record is known by one
/// look. All of an import's clock tables share this, so that each sees the deaths that the others write.
package final class DeadRecords {
    private var found: [Int64: Bool] = [:]
    private let db: Database

    init(_ db: Database) { self.db = db }

    /// Returns whether a table has dead records.
    func exist(in shape: TableShape) throws -> Bool {
        if let exist = found[shape.number] { return exist }
        let statement = try RawStatement("SELECT 1 FROM \(shape.deadTable) LIMIT 1", db)
        defer { statement.reset() }
        let exist = try statement.step()
        found[shape.number] = exist
        return exist
    }

    /// Notes that a record of a table dies.
    func note(in shape: TableShape) { found[shape.number] = true }
}
