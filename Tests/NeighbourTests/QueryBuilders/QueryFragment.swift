import GRDB

// A stand-in for StructuredQueries, which is no dependency of this package: it makes statements of the form that its
// public documentation shows (quoted and qualified names, every value bound, RETURNING for what a call reads), and has
// none of its macros or types.

/// A piece of SQL with the values that it binds.
struct QueryFragment: ExpressibleByStringInterpolation, Sendable {
    var sql = ""
    var bindings: [DatabaseValue] = []

    struct StringInterpolation: StringInterpolationProtocol {
        var fragment = QueryFragment(sql: "")
        init(literalCapacity: Int, interpolationCount: Int) {}
        mutating func appendLiteral(_ literal: String) { fragment.sql += literal }
        mutating func appendInterpolation(quote name: String) { fragment.sql += "\"\(name.replacing("\"", with: "\"\""))\"" }
        mutating func appendInterpolation(_ other: QueryFragment) {
            fragment.sql += other.sql
            fragment.bindings += other.bindings
        }
        mutating func appendInterpolation(bind value: (any DatabaseValueConvertible)?) {
            fragment.sql += "?"
            fragment.bindings.append(value?.databaseValue ?? .null)
        }
    }

    init(sql: String) { self.sql = sql }
    init(stringLiteral value: String) { sql = value }
    init(stringInterpolation: StringInterpolation) { self = stringInterpolation.fragment }

    static func list(_ parts: [QueryFragment]) -> QueryFragment {
        parts.dropFirst().reduce(parts.first ?? "") { "\($0), \($1)" }
    }

    /// Runs it with a cached statement, and returns the rows that it returns.
    func fetchAll(_ db: Database) throws -> [QueryRow] {
        try Row.fetchAll(db.cachedStatement(sql: sql), arguments: StatementArguments(bindings)).map { row in
            QueryRow(values: Dictionary(row.map { ($0, $1) }, uniquingKeysWith: { first, _ in first }))
        }
    }

    /// Runs it with a cached statement.
    func execute(_ db: Database) throws { _ = try fetchAll(db) }
}

/// A row, by columns, which may leave the database's queue.
struct QueryRow: Sendable {
    let values: [String: DatabaseValue]

    subscript<Value: DatabaseValueConvertible>(_ column: String) -> Value? { values[column].flatMap { Value.fromDatabaseValue($0) } }
}

/// A table, and the statements on it.
struct QueryTable: Sendable {
    let name: String
    let columns: [String]

    func column(_ column: String) -> QueryFragment { "\(quote: name).\(quote: column)" }

    /// Every column, as a query that decodes whole values selects them.
    var all: QueryFragment { .list(columns.map(column)) }

    func select(_ rest: QueryFragment = "") -> QueryFragment { "SELECT \(all) FROM \(quote: name) \(rest)" }

    func insert(_ rows: [[(any DatabaseValueConvertible)?]], _ rest: QueryFragment = "") -> QueryFragment {
        let names = QueryFragment.list(columns.map { "\(quote: $0)" })
        let values = QueryFragment.list(rows.map { row in "(\(QueryFragment.list(row.map { "\(bind: $0)" })))" })
        return "INSERT INTO \(quote: name) (\(names)) VALUES \(values) \(rest)"
    }

    func update(_ column: String, _ value: QueryFragment, _ rest: QueryFragment) -> QueryFragment {
        "UPDATE \(quote: name) SET \(quote: column) = \(value) \(rest) RETURNING \(all)"
    }

    func delete(_ rest: QueryFragment) -> QueryFragment { "DELETE FROM \(quote: name) \(rest) RETURNING \(all)" }
}
