import Foundation

/// Divides a predicate string into words, constants and symbols.
struct MetadataPredicateScanner {
    enum Token: Hashable, Sendable {
        case word(String)
        case text(String)
        case number(Double)
        /// The letters behind the percent sign.
        case placeholder(String)
        case symbol(String)
    }

    private let format: String
    private var tokens: [(token: Token, position: Int)] = []
    private var index = 0

    private static let symbols = ["==", "!=", "<>", "<=", "=<", ">=", "=>", "&&", "||", "=", "<", ">", "!", "(", ")", "[", "]", "{", "}", ","]
    private static let placeholders = ["@", "K", "lld", "llu", "ld", "lu", "lf", "d", "i", "u", "f"]

    init(_ format: String) throws(MetadataPredicateError) {
        self.format = format
        var rest = Array(format)[...]
        while let first = rest.first {
            if first.isWhitespace {
                rest.removeFirst()
                continue
            }
            let position = rest.startIndex
            guard let token = try Self.token(&rest, format) else {
                throw MetadataPredicateError(format: format, position: position, expected: "a word, a constant, an operator or a parenthesis")
            }
            tokens.append((token, position))
        }
    }

    private static func token(_ rest: inout ArraySlice<Character>, _ format: String) throws(MetadataPredicateError) -> Token? {
        guard let first = rest.first else { return nil }
        if first == "'" || first == "\"" { return .text(try text(&rest, format)) }
        if first == "%" {
            let found = placeholders.first { rest.dropFirst().starts(with: $0) }
            guard let found else {
                throw MetadataPredicateError(format: format, position: rest.startIndex, expected: "%K, %@ or a placeholder of a number, such as %d")
            }
            rest = rest.dropFirst(1 + found.count)
            return .placeholder(found)
        }
        if isDigit(first) || ("-+.".contains(first) && rest.dropFirst().first.map { isDigit($0) || $0 == "." } == true) { return number(&rest) }
        if first.isLetter || first == "_" {
            let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
            rest = rest.dropFirst(word.count)
            return .word(String(word))
        }
        guard let symbol = symbols.first(where: { rest.starts(with: $0) }) else { return nil }
        rest = rest.dropFirst(symbol.count)
        return .symbol(symbol)
    }

    private static func isDigit(_ character: Character) -> Bool { ("0"..."9").contains(character) }

    private static func text(_ rest: inout ArraySlice<Character>, _ format: String) throws(MetadataPredicateError) -> String {
        let (quote, begin) = (rest.removeFirst(), rest.startIndex)
        var text = ""
        while let character = rest.popFirst() {
            if character == quote { return text }
            guard character == "\\", let escaped = rest.popFirst() else {
                text.append(character)
                continue
            }
            text.append(escaped == "n" ? "\n" : escaped == "t" ? "\t" : escaped)
        }
        throw MetadataPredicateError(format: format, position: begin, expected: "a closing \(quote) behind the text that begins before this")
    }

    private static func number(_ rest: inout ArraySlice<Character>) -> Token? {
        var characters = String(rest.prefix { isDigit($0) || "-+.eE".contains($0) })
        while !characters.isEmpty {
            if let number = Double(characters) {
                rest = rest.dropFirst(characters.count)
                return .number(number)
            }
            characters.removeLast()
        }
        return nil
    }

    // MARK: Reading

    var next: Token? { index < tokens.count ? tokens[index].token : nil }
    var isAtEnd: Bool { index >= tokens.count }

    mutating func advance() { index += 1 }

    /// Takes the next token if it is this word, in any case.
    mutating func take(word: String) -> Bool {
        guard case .word(let found) = next, found.uppercased() == word else { return false }
        advance()
        return true
    }

    mutating func take(symbol: String) -> Bool {
        guard next == .symbol(symbol) else { return false }
        advance()
        return true
    }

    /// Makes the error of an unexpected next token.
    func error(_ expected: String) -> MetadataPredicateError {
        MetadataPredicateError(format: format, position: index < tokens.count ? tokens[index].position : format.count, expected: expected)
    }
}
