/// The text of a CREATE TABLE statement, in which single columns can be changed; all else stays as the app wrote it.
///
/// `sqlite_master` holds the text from the table's name on as it was written, comments included
/// (sqlite.org/schematab.html).
struct TableStatement {
    private struct Piece {
        var token: SQLToken
        var range: Range<String.Index>
    }

    /// A column's definition: its name, and the tokens after the name.
    private struct Definition {
        var name: String
        var nameEnd: String.Index
        /// The text of its type; nil for none.
        var type: Range<String.Index>?
        var pieces: ArraySlice<Piece>
    }

    private let sql: String
    private let pieces: [Piece]
    private var definitions: [Definition] = []
    private var edits: [(range: Range<String.Index>, text: String)] = []

    private static let constraints: Set<String> = [
        "constraint", "primary", "not", "null", "unique", "check", "default", "collate", "references", "generated", "as", "on", "deferrable",
        "autoincrement", "foreign",
    ]

    /// Reads a statement; nil if it is not the text of a table with these columns.
    init?(_ sql: String, columns: [String]) {
        self.sql = sql
        var pieces: [Piece] = []
        SQLToken.forEachRange(in: sql) { pieces.append(Piece(token: $0, range: $1)) }
        self.pieces = pieces
        // CREATE TABLE name ( …
        guard pieces.count > 4, pieces[0].token.isWord("create"), pieces[1].token.isWord("table"), pieces[3].token == .symbol("(") else { return nil }
        for item in Self.items(pieces[4...]).prefix(columns.count) {
            guard let definition = Self.definition(item) else { return nil }
            definitions.append(definition)
        }
        guard definitions.map({ $0.name.lowercased() }) == columns.map({ $0.lowercased() }) else { return nil }
    }

    /// Splits the body of a statement at its commas, to the parenthesis that closes it.
    private static func items(_ pieces: ArraySlice<Piece>) -> [ArraySlice<Piece>] {
        var items: [ArraySlice<Piece>] = []
        var (start, depth) = (pieces.startIndex, 0)
        for index in pieces.indices {
            switch pieces[index].token {
            case .symbol("("): depth += 1
            case .symbol(")") where depth == 0:
                return items + [pieces[start..<index]]
            case .symbol(")"): depth -= 1
            case .symbol(",") where depth == 0:
                items.append(pieces[start..<index])
                start = index + 1
            default: break
            }
        }
        return items
    }

    private static func definition(_ item: ArraySlice<Piece>) -> Definition? {
        guard let first = item.first else { return nil }
        let name: String
        switch first.token {
        case .word(let word): name = String(word)
        case .name(let text), .string(let text): name = text
        case .symbol: return nil
        }
        let rest = item.dropFirst()
        let end = rest.firstIndex { piece in if case .word(let word) = piece.token { constraints.contains(word.lowercased()) } else { false } }
        let type = rest[..<(end ?? rest.endIndex)]
        return Definition(
            name: name, nameEnd: first.range.upperBound, type: type.first.map { $0.range.lowerBound..<type.last!.range.upperBound }, pieces: rest)
    }

    /// Gives a column another type.
    mutating func setType(_ type: String, of column: String) {
        for definition in definitions where definition.name.lowercased() == column.lowercased() {
            if let range = definition.type {
                edits.append((range, type))
            } else {
                edits.append((definition.nameEnd..<definition.nameEnd, " \(type)"))
            }
        }
    }

    /// Gives a column another default, in place of the number that is its default.
    mutating func setDefault(_ value: String, of column: String) {
        for definition in definitions where definition.name.lowercased() == column.lowercased() {
            var depth = 0
            for index in definition.pieces.indices {
                switch definition.pieces[index].token {
                case .symbol("("): depth += 1
                case .symbol(")"): depth -= 1
                case .word(let word) where depth == 0 && word.lowercased() == "default":
                    if let range = valueRange(definition.pieces[(index + 1)...]) { edits.append((range, value)) }
                default: break
                }
            }
        }
    }

    /// Returns the range of a value: of an expression in parentheses, or of a number with its sign.
    private func valueRange(_ pieces: ArraySlice<Piece>) -> Range<String.Index>? {
        guard let first = pieces.first else { return nil }
        var end = first.range.upperBound
        if first.token == .symbol("(") {
            var depth = 0
            for piece in pieces {
                if piece.token == .symbol("(") { depth += 1 }
                if piece.token == .symbol(")") { depth -= 1 }
                end = piece.range.upperBound
                if depth == 0 { break }
            }
            return first.range.lowerBound..<end
        }
        let isSigned = first.token == .symbol("-") || first.token == .symbol("+")
        for (place, piece) in pieces.enumerated().dropFirst() {
            guard piece.range.lowerBound == end || isSigned && place == 1, piece.token != .symbol(",") else { break }
            end = piece.range.upperBound
        }
        return first.range.lowerBound..<end
    }

    /// Removes AUTOINCREMENT, which only an INTEGER PRIMARY KEY takes; the word is reserved, and names nothing.
    mutating func removeAutoincrement() {
        for piece in pieces where piece.token.isWord("autoincrement") { edits.append((piece.range, "")) }
    }

    /// The statement with its changes.
    var edited: String {
        var text = ""
        var index = sql.startIndex
        for edit in edits.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
            text += sql[index..<edit.range.lowerBound] + edit.text
            index = edit.range.upperBound
        }
        return text + sql[index...]
    }
}
