internal import GRDB
internal import StoreFormat

/// Converts values to the types in which a table stores them.
///
/// A column's affinity can change a value's type (sqlite.org/datatype3.html). A row that cannot be inserted, because it
/// collides with another, is kept aside in a table that changes no type. SQLite itself converts the values, in a
/// temporary table with equal column types and no rules.
struct StoredValues {
    private let columns: [String]
    private let write: RawStatement
    private let read: RawStatement
    private let clear: RawStatement

    init(_ shape: TableShape, _ columns: [String], _ db: Database) throws {
        self.columns = columns
        let types = try Row.fetchAll(db, sql: "SELECT name, type FROM pragma_table_info(?)", arguments: [shape.name])
            .reduce(into: [String: String]()) { $0[$1["name"]] = $1["type"] }
        let isStrict = try Bool.fetchOne(db, sql: "SELECT strict FROM pragma_table_list(?) WHERE schema = 'main'", arguments: [shape.name]) ?? false
        let definitions = columns.indices.map { place in
            let type = types[columns[place]] ?? ""
            // In a table that is not STRICT, ANY means NUMERIC (sqlite.org/stricttables.html).
            return "c\(place) \(isStrict && type.uppercased() == "ANY" ? "" : type)"
        }
        let mirror = "temp.ubiquity_stored_\(shape.number)"
        try db.execute(sql: "DROP TABLE IF EXISTS \(mirror)")
        try db.execute(sql: "CREATE TABLE \(mirror) (\(definitions.joined(separator: ", ")))")
        write = try RawStatement("INSERT INTO \(mirror) VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))", db)
        read = try RawStatement("SELECT * FROM \(mirror)", db)
        clear = try RawStatement("DELETE FROM \(mirror)", db)
    }

    /// Returns the values as they are stored, in the order of the columns.
    func stored(_ values: [RecordValue]) throws -> [RecordValue] {
        for (index, value) in values.enumerated() { write.bind(index + 1, value) }
        try write.run()
        _ = try read.step()
        let stored = columns.indices.map { read.value($0).detached }
        read.reset()
        try clear.run()
        return stored
    }
}
