/// The DEFAULT of a column, as `pragma_table_xinfo` gives it.
enum ColumnDefault {
    /// Whether a default may be another value on each device: it calls a function, or is a time.
    ///
    /// SQLite has taken off the parentheses that an expression stands in.
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
