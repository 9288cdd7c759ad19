/// The terms and the condition of a CREATE INDEX statement, as written.
///
/// SQLite's pragmas name an index's columns, but do not report its expressions.
struct IndexDefinition: Equatable {
    var terms: [String] = []
    var condition: String?

    /// Parses a statement; nil if it has no list of terms.
    init?(_ sql: String) {
        var depth = 0
        var term = ""
        var closing: Character?
        var isClosed = false
        var rest = ""
        for character in sql {
            if isClosed {
                rest.append(character)
                continue
            }
            if let end = closing {
                if character == end { closing = nil }
            } else if let end = Self.quotes[character] {
                closing = end
            } else if character == "(" {
                depth += 1
                if depth == 1 {
                    term = ""
                    continue
                }
            } else if character == ")" {
                depth -= 1
                isClosed = depth == 0
            } else if character == ",", depth == 1 {
                terms.append(Self.undirected(term))
                term = ""
                continue
            }
            if isClosed { terms.append(Self.undirected(term)) } else { term.append(character) }
        }
        guard isClosed else { return nil }
        let condition = Self.trimmed(rest)
        if condition.uppercased().hasPrefix("WHERE") { self.condition = Self.trimmed(String(condition.dropFirst(5))) }
    }

    private static let quotes: [Character: Character] = ["\"": "\"", "`": "`", "[": "]", "'": "'"]

    private static func trimmed(_ text: String) -> String {
        String(text.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
    }

    /// Returns a term without its direction.
    private static func undirected(_ term: String) -> String {
        let text = trimmed(term)
        for direction in [" ASC", " DESC"] where text.uppercased().hasSuffix(direction) { return trimmed(String(text.dropLast(direction.count))) }
        return text
    }
}
