/// Conditions in SQL that compare values by type and bytes, as `RecordValue` does.
package enum ExactComparison {
    /// Returns a condition that is true if two values differ, except for the sign of zero.
    ///
    /// `IS NOT` alone would miss `x` → `X` under NOCASE, and `1` → `1.0`.
    package static func differ(_ old: String, _ new: String) -> String {
        "\(old) COLLATE BINARY IS NOT \(new) COLLATE BINARY OR typeof(\(old)) <> typeof(\(new))"
    }

    /// Returns a condition that is true if a value is 0.0 or -0.0, which no built-in function of SQLite distinguishes.
    ///
    /// A typed column does not hold -0.0: SQLite stores it as an integer, and reads 0.0
    /// (sqlite.org/datatype3.html#storage_classes_and_datatypes).
    package static func isZero(_ value: String) -> String { "typeof(\(value)) = 'real' AND \(value) = 0.0" }
}
