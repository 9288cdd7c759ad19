import Foundation

/// Reads predicate strings by recursive descent.
struct MetadataPredicateParser {
    private var scanner: MetadataPredicateScanner
    private var arguments: ArraySlice<Any>
    private var depth = 0

    /// A predicate that is nested deeper is refused, because each level takes space on the stack.
    private static let mostDepth = 200

    static func parse(_ format: String, _ arguments: [Any]) throws(MetadataPredicateError) -> MetadataPredicate.Node {
        var parser = MetadataPredicateParser(scanner: try MetadataPredicateScanner(format), arguments: arguments[...])
        let node = try parser.alternatives()
        guard parser.scanner.isAtEnd else { throw parser.scanner.error("AND, OR or the end") }
        guard parser.arguments.isEmpty else { throw parser.scanner.error("a placeholder for each of the \(arguments.count) arguments") }
        return node
    }

    private mutating func alternatives() throws(MetadataPredicateError) -> MetadataPredicate.Node {
        var nodes = [try conjunction()]
        while scanner.take(word: "OR") || scanner.take(symbol: "||") { nodes.append(try conjunction()) }
        return nodes.count == 1 ? nodes[0] : .any(nodes)
    }

    private mutating func conjunction() throws(MetadataPredicateError) -> MetadataPredicate.Node {
        var nodes = [try term()]
        while scanner.take(word: "AND") || scanner.take(symbol: "&&") { nodes.append(try term()) }
        return nodes.count == 1 ? nodes[0] : .all(nodes)
    }

    private mutating func term() throws(MetadataPredicateError) -> MetadataPredicate.Node {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.mostDepth else { throw scanner.error("at most \(Self.mostDepth) levels") }
        if scanner.take(word: "NOT") || scanner.take(symbol: "!") { return .not(try term()) }
        if scanner.take(symbol: "(") {
            let node = try alternatives()
            guard scanner.take(symbol: ")") else { throw scanner.error("a closing parenthesis") }
            return node
        }
        if scanner.take(word: "TRUEPREDICATE") { return .constant(true) }
        if scanner.take(word: "FALSEPREDICATE") { return .constant(false) }
        let left = try operand()
        let comparison = try comparison()
        return .comparison(left, comparison, try operand())
    }

    private mutating func comparison() throws(MetadataPredicateError) -> MetadataComparison {
        let spellings: [(String, MetadataComparison.Operator)] = [
            ("==", .equal), ("=", .equal), ("!=", .unequal), ("<>", .unequal), ("<", .less), ("<=", .lessOrEqual), ("=<", .lessOrEqual),
            (">", .greater), (">=", .greaterOrEqual), ("=>", .greaterOrEqual),
        ]
        for (symbol, relation) in spellings where scanner.take(symbol: symbol) {
            return MetadataComparison(relation: relation, modifiers: try modifiers())
        }
        for relation in [MetadataComparison.Operator.like, .begins, .ends, .contains, .isIn] where scanner.take(word: relation.rawValue) {
            return MetadataComparison(relation: relation, modifiers: try modifiers())
        }
        throw scanner.error("an operator, such as ==, LIKE, BEGINSWITH, ENDSWITH, CONTAINS or IN")
    }

    private mutating func modifiers() throws(MetadataPredicateError) -> MetadataComparison.Modifiers {
        guard scanner.take(symbol: "[") else { return [] }
        guard case .word(let letters) = scanner.next, letters.lowercased().allSatisfy({ "cd".contains($0) }) else {
            throw scanner.error("[c], [d] or [cd]")
        }
        scanner.advance()
        guard scanner.take(symbol: "]") else { throw scanner.error("a closing bracket") }
        var modifiers: MetadataComparison.Modifiers = []
        if letters.lowercased().contains("c") { modifiers.insert(.ignoresCase) }
        if letters.lowercased().contains("d") { modifiers.insert(.ignoresDiacritics) }
        return modifiers
    }

    // MARK: Operands

    private static let words: [String: MetadataValue] = [
        "TRUE": .number(1), "YES": .number(1), "FALSE": .number(0), "NO": .number(0), "NULL": .nothing, "NIL": .nothing,
    ]
    private static let reserved: Set<String> = [
        "AND", "OR", "NOT", "LIKE", "BEGINSWITH", "ENDSWITH", "CONTAINS", "IN", "TRUEPREDICATE", "FALSEPREDICATE",
    ]

    private mutating func operand() throws(MetadataPredicateError) -> MetadataPredicate.Operand {
        if scanner.take(symbol: "{") { return .value(.list(try list())) }
        switch scanner.next {
        case .text(let text):
            scanner.advance()
            return .value(.text(text))
        case .number(let number):
            scanner.advance()
            return .value(.number(number))
        case .placeholder(let letter): return try argument(letter)
        case .word(let word) where !Self.reserved.contains(word.uppercased()):
            scanner.advance()
            return Self.words[word.uppercased()].map { .value($0) } ?? .attribute(word)
        default: throw scanner.error("an attribute, such as %K or kMDItemFSName, or a constant, such as %@, 'text' or 12")
        }
    }

    private mutating func argument(_ kind: String) throws(MetadataPredicateError) -> MetadataPredicate.Operand {
        guard let argument = arguments.first else { throw scanner.error("an argument for %\(kind)") }
        let value = MetadataValue(argument)
        if kind == "K" {
            guard case .text(let name) = value else {
                throw scanner.error("the name of an attribute as the argument for %K, not \(type(of: argument))")
            }
            take()
            return .attribute(name)
        }
        guard let value else {
            throw scanner.error("a string, number, date, URL or array as the argument for %\(kind), not \(type(of: argument))")
        }
        if kind != "@" {
            guard case .number = value else { throw scanner.error("a number as the argument for %\(kind), not \(type(of: argument))") }
        }
        take()
        return .value(value)
    }

    private mutating func take() {
        arguments.removeFirst()
        scanner.advance()
    }

    private mutating func list() throws(MetadataPredicateError) -> [MetadataValue] {
        var values: [MetadataValue] = []
        if scanner.take(symbol: "}") { return values }
        while true {
            guard scanner.next != .symbol("{") else { throw scanner.error("a constant, because lists do not hold lists") }
            guard case .value(let value) = try operand() else { throw scanner.error("a constant before this, because a list holds no attributes") }
            values.append(value)
            if scanner.take(symbol: "}") { return values }
            guard scanner.take(symbol: ",") else { throw scanner.error("a comma or a closing brace") }
        }
    }
}
