/// Syncthing's ignore patterns, as `/rest/db/ignores` expands them.
///
/// The first pattern that matches decides (https://docs.syncthing.net/users/ignoring.html).
package struct IgnorePatterns: Sendable {
    private struct Pattern: Sendable {
        var glob: [Token]
        var isIgnored: Bool
        var foldsCase: Bool
    }

    private indirect enum Token: Sendable {
        case character(Character)
        case one
        case any(crossesSlash: Bool)
        case oneOf([ClosedRange<Character>], isNegated: Bool)
        case either([[Token]])
    }

    private var patterns: [Pattern]

    package init(_ expanded: [String]) {
        patterns = expanded.map { line in
            var text = line[...]
            var pattern = Pattern(glob: [], isIgnored: true, foldsCase: false)
            prefixes: while true {
                switch true {
                case text.hasPrefix("!"):
                    pattern.isIgnored = false
                    text = text.dropFirst()
                case text.hasPrefix("(?i)"):
                    pattern.foldsCase = true
                    text = text.dropFirst(4)
                case text.hasPrefix("(?d)"):
                    text = text.dropFirst(4)
                default: break prefixes
                }
            }
            var characters = Array(pattern.foldsCase ? text.lowercased() : String(text))[...]
            if characters.first == "/" { characters = characters.dropFirst() }
            pattern.glob = Self.tokens(&characters, inside: false)
            return pattern
        }
    }

    /// Returns whether Syncthing ignores a name.
    ///
    /// - Parameter name: relative to the folder, without a slash at either end.
    /// - Returns: false if no pattern matches.
    package func ignores(_ name: String) -> Bool {
        let plain = Array(name)
        let folded = Array(name.lowercased())
        for pattern in patterns where Self.matches(pattern.glob[...], (pattern.foldsCase ? folded : plain)[...]) { return pattern.isIgnored }
        return false
    }

    /// Reads tokens to the end, or, inside braces, up to a comma or the closing brace.
    private static func tokens(_ rest: inout ArraySlice<Character>, inside: Bool) -> [Token] {
        var tokens: [Token] = []
        while let character = rest.first {
            if inside, character == "," || character == "}" { return tokens }
            rest = rest.dropFirst()
            switch character {
            case "\\":
                if let escaped = rest.popFirst() { tokens.append(.character(escaped)) }
            case "?": tokens.append(.one)
            case "*":
                let count = 1 + rest.prefix { $0 == "*" }.count
                rest = rest.dropFirst(count - 1)
                tokens.append(.any(crossesSlash: count > 1))
            case "[": tokens.append(set(&rest))
            case "{":
                var choices: [[Token]] = []
                while true {
                    choices.append(Self.tokens(&rest, inside: true))
                    if rest.popFirst() != "," { break }
                }
                tokens.append(.either(choices))
            default: tokens.append(.character(character))
            }
        }
        return tokens
    }

    private static func set(_ rest: inout ArraySlice<Character>) -> Token {
        let isNegated = rest.first == "!" || rest.first == "^"
        if isNegated { rest = rest.dropFirst() }
        var ranges: [ClosedRange<Character>] = []
        while let first = rest.popFirst(), first != "]" {
            if rest.first == "-", let last = rest.dropFirst().first, last != "]" {
                rest = rest.dropFirst(2)
                if first <= last { ranges.append(first...last) }
            } else {
                ranges.append(first...first)
            }
        }
        return .oneOf(ranges, isNegated: isNegated)
    }

    private static func matches(_ glob: ArraySlice<Token>, _ name: ArraySlice<Character>) -> Bool {
        guard let token = glob.first else { return name.isEmpty }
        let rest = glob.dropFirst()
        switch token {
        case .character(let character): return name.first == character && matches(rest, name.dropFirst())
        case .one: return name.first.map { $0 != "/" } ?? false && matches(rest, name.dropFirst())
        case .oneOf(let ranges, let isNegated):
            guard let first = name.first, first != "/" else { return false }
            return ranges.contains { $0.contains(first) } != isNegated && matches(rest, name.dropFirst())
        case .either(let choices): return choices.contains { matches($0 + rest, name) }
        case .any(let crossesSlash):
            var name = name
            while true {
                if matches(rest, name) { return true }
                guard let first = name.popFirst(), crossesSlash || first != "/" else { return false }
            }
        }
    }
}
