/// A reference that the app names beside the foreign keys.
struct KeyReference: Sendable {
    var column: ColumnName
    var parent: String
    /// An SQL condition on the rows that refer.
    var condition: String?
}
