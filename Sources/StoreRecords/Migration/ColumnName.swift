/// The name of a column and its table, in lower case.
struct ColumnName: Hashable, Sendable {
    var table: String
    var column: String

    init(_ table: String, _ column: String) { (self.table, self.column) = (table.lowercased(), column.lowercased()) }
}
