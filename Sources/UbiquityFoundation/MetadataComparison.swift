import Foundation

/// A comparison in a predicate: the operators of Cocoa's predicate strings that queries of containers use.
struct MetadataComparison: Hashable, Sendable {
    enum Operator: String, Hashable, Sendable, CaseIterable {
        case equal = "=="
        case unequal = "!="
        case less = "<"
        case lessOrEqual = "<="
        case greater = ">"
        case greaterOrEqual = ">="
        case like = "LIKE"
        case begins = "BEGINSWITH"
        case ends = "ENDSWITH"
        case contains = "CONTAINS"
        case isIn = "IN"
    }

    /// The letters in brackets behind an operator: `c` ignores case, `d` ignores diacritics.
    struct Modifiers: OptionSet, Hashable, Sendable {
        let rawValue: UInt8
        static let ignoresCase = Modifiers(rawValue: 1 << 0)
        static let ignoresDiacritics = Modifiers(rawValue: 1 << 1)

        func folded(_ text: String) -> String {
            guard !isEmpty else { return text }
            var options: String.CompareOptions = []
            if contains(.ignoresCase) { options.insert(.caseInsensitive) }
            if contains(.ignoresDiacritics) { options.insert(.diacriticInsensitive) }
            return text.folding(options: options, locale: nil)
        }
    }

    var relation: Operator
    var modifiers: Modifiers = []

    /// Returns whether two values are in the relation; values that cannot be compared are only unequal.
    func holds(_ left: MetadataValue, _ right: MetadataValue) -> Bool {
        let (left, right) = (folded(left), folded(right))
        switch relation {
        case .equal: return left == right
        case .unequal: return left != right
        case .less: return isComparable(left, right) && left.isBefore(right)
        case .lessOrEqual: return isComparable(left, right) && !right.isBefore(left)
        case .greater: return isComparable(left, right) && right.isBefore(left)
        case .greaterOrEqual: return isComparable(left, right) && !left.isBefore(right)
        case .isIn:
            if case .list(let values) = right { return values.contains(left) }
            return texts(left, right) { $1.contains($0) }
        case .contains:
            if case .list(let values) = left { return values.contains(right) }
            return texts(left, right) { $1.isEmpty || $0.contains($1) }
        case .begins: return texts(left, right) { $0.hasPrefix($1) }
        case .ends: return texts(left, right) { $0.hasSuffix($1) }
        case .like: return texts(left, right) { Self.isLike(Array($0), Array($1)) }
        }
    }

    private func folded(_ value: MetadataValue) -> MetadataValue {
        guard !modifiers.isEmpty else { return value }
        switch value {
        case .text(let text): return .text(modifiers.folded(text))
        case .list(let values): return .list(values.map { folded($0) })
        default: return value
        }
    }

    private func isComparable(_ left: MetadataValue, _ right: MetadataValue) -> Bool {
        switch (left, right) {
        case (.text, .text), (.number, .number), (.date, .date): true
        default: false
        }
    }

    private func texts(_ left: MetadataValue, _ right: MetadataValue, _ body: (String, String) -> Bool) -> Bool {
        guard case .text(let left) = left, case .text(let right) = right else { return false }
        return body(left, right)
    }

    /// Returns whether a text matches a pattern: `*` stands for any characters, `?` for one, and a backslash takes the next one as it is.
    ///
    /// It takes at most the product of both lengths in steps.
    static func isLike(_ text: [Character], _ pattern: [Character]) -> Bool {
        enum Part: Equatable {
            case any
            case one
            case exactly(Character)
        }
        var parts: [Part] = []
        var isQuoted = false
        for character in pattern {
            switch character {
            case "\\" where !isQuoted: isQuoted = true
            case "*" where !isQuoted: parts.append(.any)
            case "?" where !isQuoted: parts.append(.one)
            default:
                parts.append(.exactly(character))
                isQuoted = false
            }
        }
        if isQuoted { parts.append(.exactly("\\")) }
        var (place, part) = (0, 0)
        // Where to go on if the last star has to take one character more.
        var retry: (place: Int, part: Int)?
        while place < text.count {
            if part < parts.count, parts[part] == .any {
                retry = (place, part)
                part += 1
            } else if part < parts.count, parts[part] == .one || parts[part] == .exactly(text[place]) {
                (place, part) = (place + 1, part + 1)
            } else if let star = retry {
                retry = (star.place + 1, star.part)
                (place, part) = (star.place + 1, star.part + 1)
            } else {
                return false
            }
        }
        return parts[part...].allSatisfy { $0 == .any }
    }
}
