/// A token of a statement that SQLite has accepted, without comments and white space.
enum SQLToken: Equatable {
    /// A word without quotes: a keyword, or a name.
    case word(Substring)
    /// A quoted name, without the quotes.
    case name(String)
    /// A string, without its quotes.
    case string(String)
    /// Any other single character: an operator, a parenthesis, a digit.
    case symbol(Character)

    /// Splits a statement into tokens.
    ///
    /// - Parameters:
    ///   - sql: a statement, or a part of one.
    ///   - body: called with each token and its end.
    static func forEach(in sql: some StringProtocol, _ body: (SQLToken, String.Index) -> Void) {
        forEachRange(in: sql) { token, range in body(token, range.upperBound) }
    }

    /// Splits a statement into tokens with their places.
    ///
    /// - Parameters:
    ///   - sql: a statement, or a part of one.
    ///   - body: called with each token and its range, quotes included.
    static func forEachRange(in sql: some StringProtocol, _ body: (SQLToken, Range<String.Index>) -> Void) {
        var rest = Substring(sql)
        while let first = rest.first {
            let start = rest.startIndex
            if rest.hasPrefix("--") {
                rest = rest.drop { !$0.isNewline }
            } else if rest.hasPrefix("/*") {
                rest = rest.firstRange(of: "*/").map { rest[$0.upperBound...] } ?? ""
            } else if first.isWhitespace {
                rest.removeFirst()
            } else if let closing: Character = ["\"": "\"", "`": "`", "[": "]", "'": "'"][first] {
                let text = quoted(until: closing, &rest)
                body(first == "'" ? .string(text) : .name(text), start..<rest.startIndex)
            } else if Self.isOfWord(first), !first.isNumber {
                let word = rest.prefix { Self.isOfWord($0) || $0.isNumber }
                rest = rest[word.endIndex...]
                body(.word(word), start..<rest.startIndex)
            } else {
                rest.removeFirst()
                body(.symbol(first), start..<rest.startIndex)
            }
        }
    }

    /// Takes a quoted text from the beginning of the rest, and returns it without its quotes.
    private static func quoted(until closing: Character, _ rest: inout Substring) -> String {
        rest.removeFirst()
        var text = ""
        while let character = rest.popFirst() {
            guard character == closing else {
                text.append(character)
                continue
            }
            // A doubled quote stands for one quote in the text; a bracket cannot be doubled.
            guard closing != "]", rest.first == closing else { break }
            text.append(rest.removeFirst())
        }
        return text
    }

    /// Returns the tokens of a statement.
    static func all(in sql: some StringProtocol) -> [SQLToken] {
        var tokens: [SQLToken] = []
        forEach(in: sql) { token, _ in tokens.append(token) }
        return tokens
    }

    /// Returns whether a character is part of a word: letters, the underscore, the dollar sign and everything beyond
    /// ASCII (sqlite.org/tokenreq.html).
    private static func isOfWord(_ character: Character) -> Bool { character.isLetter || character == "_" || character == "$" || !character.isASCII }

    /// Returns whether the token is a keyword.
    func isWord(_ word: String) -> Bool { if case .word(let own) = self { own.lowercased() == word } else { false } }

    /// The token as a name in lower case, where a name is expected; SQLite accepts a string there too.
    var identifier: String? {
        switch self {
        case .word(let word): word.lowercased()
        case .name(let name), .string(let name): name.lowercased()
        case .symbol: nil
        }
    }
}
