internal import StoreFormat

/// Which of several records keep what only one of them can hold, and in which order the others are given something else: pure.
///
/// Of records that hold the same, that in which it was written last keeps it, and of records that were written at once, that with the smallest key.
struct ExclusionPlan {
    /// What a record holds by a rule.
    struct Claim {
        /// The record, as the caller numbers it.
        var entity: Int
        var key: [RecordValue]
        /// When it was written.
        var stamp: Stamp
        /// What is compared: equal where SQLite takes two records for alike.
        var terms: [RecordValue]
        /// What of it the column that is moved has no part in.
        var scope: [RecordValue]
        /// What that column holds.
        var value: RecordValue
    }

    /// The claims that stay, by what they hold.
    private(set) var holders: [[RecordValue]: Claim] = [:]
    /// The others: those of one scope together, in the order of what they hold.
    private(set) var moved: [Claim] = []

    init(_ claims: [Claim], peers: PeerTable) {
        func precedes(_ one: Claim, _ other: Claim) -> Bool {
            switch peers.compare(one.stamp, other.stamp) {
            case .greater: true
            case .less: false
            case .equal: RecordValue.precedes(one.key, other.key)
            }
        }
        for claim in claims.sorted(by: precedes) {
            if holders[claim.terms] == nil { holders[claim.terms] = claim } else { moved.append(claim) }
        }
        // Stable in what has just been sorted.
        moved = moved.enumerated().sorted { one, other in
            if one.element.scope != other.element.scope { return RecordValue.precedes(one.element.scope, other.element.scope) }
            switch one.element.value.compare(other.element.value) {
            case .less: return true
            case .greater: return false
            case .equal: return one.offset < other.offset
            }
        }.map(\.element)
    }
}

/// Finds the next value that nobody holds, and remembers what it has looked at: pure.
struct FreeValues {
    private struct Place: Hashable {
        var scope: [RecordValue]
        var number: Int64
    }

    /// Numbers that are taken, with one up to which all are.
    private var taken: [Place: Int64] = [:]

    /// The next value behind one that is taken.
    ///
    /// - Parameters:
    ///   - value: the value; not NULL.
    ///   - scope: among which records.
    ///   - isTaken: whether one of these holds a value.
    /// - Returns: the value, which is taken from now on.
    /// - Throws: what the closure throws.
    mutating func next(after value: RecordValue, in scope: [RecordValue], isTaken: (RecordValue) throws -> Bool) rethrows -> RecordValue {
        switch value {
        case .integer(let number): return .integer(try next(after: number, in: scope) { try isTaken(.integer($0)) })
        case .real(let bits):
            let real = Double(bitPattern: bits)
            guard abs(real) < 0x1p52 else { return try numbered(value, isTaken) }
            return try .real(Double(next(after: Int64(real.rounded(.down)), in: scope) { try isTaken(.real(Double($0).bitPattern)) }).bitPattern)
        case .null, .text, .blob: return try numbered(value, isTaken)
        }
    }

    private mutating func next(after number: Int64, in scope: [RecordValue], isTaken: (Int64) throws -> Bool) rethrows -> Int64 {
        var candidate = number &+ 1
        var passed: [Int64] = []
        while true {
            if let last = taken[Place(scope: scope, number: candidate)] {
                passed.append(candidate)
                candidate = last &+ 1
            } else if try isTaken(candidate) {
                passed.append(candidate)
                candidate &+= 1
            } else {
                for number in passed + [candidate] { taken[Place(scope: scope, number: number)] = candidate }
                return candidate
            }
        }
    }

    /// A value with a number behind it.
    private func numbered(_ value: RecordValue, _ isTaken: (RecordValue) throws -> Bool) rethrows -> RecordValue {
        var number = 2
        while true {
            let candidate: RecordValue
            switch value {
            case .text(let bytes): candidate = .text(bytes + Array(" \(number)".utf8))
            case .blob(let bytes): candidate = .blob(bytes + Array("\(number)".utf8))
            // Where whole numbers lie farther apart than one, the next real that there is.
            case .real(let bits):
                let real = (2..<number).reduce(Double(bitPattern: bits).nextUp) { real, _ in real.nextUp }
                candidate = .real(real.bitPattern)
            case .null, .integer: candidate = value
            }
            guard try isTaken(candidate) else { return candidate }
            number += 1
        }
    }
}

extension RecordValue {
    /// The value as one that is equal to all that SQLite takes for equal to it: numbers by value, text by a collation
    /// (sqlite.org/datatype3.html#collating_sequences).
    func collated(_ collation: String) -> RecordValue {
        switch self {
        case .real(let bits):
            let real = Double(bitPattern: bits)
            return real.rounded() == real && real >= -0x1p63 && real < 0x1p63 ? .integer(Int64(real)) : self
        case .text(let bytes):
            switch collation.uppercased() {
            case "NOCASE":
                // It compares no further than to a NUL, and then the lengths.
                let text = bytes.prefix { $0 != 0 }.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }
                return .text(ArraySlice(text + Array(repeating: 0, count: bytes.count - text.count)))
            case "RTRIM": return .text(ArraySlice(Array(bytes.reversed().drop { $0 == 0x20 }.reversed())))
            default: return self
            }
        case .null, .integer, .blob: return self
        }
    }

    /// The value as a column with an affinity stores it; nil where it would store another, or NULL.
    func stored(as affinity: ColumnAffinity) -> RecordValue? {
        switch (self, affinity) {
        case (.null, _): return nil
        case (.blob, _), (_, .blob), (.integer, .integer), (.integer, .numeric), (.text, .text): return self
        case (.integer(let integer), .real): return .real(Double(integer).bitPattern)
        case (.real(let bits), .real): return Double(bitPattern: bits).isNaN ? nil : self
        case (.real(let bits), .integer), (.real(let bits), .numeric):
            guard !Double(bitPattern: bits).isNaN else { return nil }
            return collated("BINARY")
        case (.integer, .text), (.real, .text), (.text, .integer), (.text, .numeric), (.text, .real): return nil
        }
    }
}
