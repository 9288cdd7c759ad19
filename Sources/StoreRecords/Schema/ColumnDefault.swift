/// The DEFAULT of a column, in the form of `pragma_table_xinfo`.
enum ColumnDefault {
    /// Returns whether a default can differ between devices: it calls a function, or is a time.
    ///
    /// SQLite has removed the parentheses around an expression.
    static func varies(_ expression: String?) -> Bool {
        guard let expression else { return false }
        var plain = ""
        var closing: Character?
        for character in expression {
            if let end = closing {
                if character == end { closing = nil }
            } else if ["'", "\"", "`"].contains(character) {
                closing = character
            } else {
                plain.append(character)
            }
        }
        return plain.contains("(") || plain.uppercased().contains("CURRENT_")
    }
}
