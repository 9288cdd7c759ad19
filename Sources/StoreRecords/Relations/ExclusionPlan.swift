internal import StoreFormat

/// The decision which records keep a value that only one can hold, and in which order the others get another value.
///
/// Among records that hold equal values, the record that was written last keeps its value. Among records that were
/// written at once, it is the record with the smallest key. The plan is pure.
struct ExclusionPlan {
    /// The values that a record holds by a rule.
    struct Claim {
        /// The number of the entity, which the caller assigns.
        var entity: Int
        var key: [RecordValue]
        /// The latest stamp of the values.
        var stamp: Stamp
        /// The values to compare; two are equal if SQLite treats them as equal.
        var terms: [RecordValue]
        /// The values to compare that do not involve the moved column.
        var scope: [RecordValue]
        /// The value of the moved column.
        var value: RecordValue
    }

    /// The claims that keep their values, by these values.
    private(set) var holders: [[RecordValue]: Claim] = [:]
    /// The other claims, sorted by scope and then by value.
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
        // Equal values keep the order of the sort above.
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

/// Finds the next free value, and remembers the values that it has tested; pure.
struct FreeValues {
    private struct Place: Hashable {
        var scope: [RecordValue]
        var number: Int64
    }

    /// For each taken number, a later number up to which all are taken.
    private var taken: [Place: Int64] = [:]

    /// Returns the next free value after a taken one.
    ///
    /// - Parameters:
    ///   - value: the taken value; not NULL.
    ///   - scope: the scope of the rule, in which values must differ.
    ///   - isTaken: returns whether a record of the scope holds a value.
    /// - Returns: the value, which counts as taken from now on.
    /// - Throws: the closure's errors.
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

    /// Returns the value with a number appended.
    private func numbered(_ value: RecordValue, _ isTaken: (RecordValue) throws -> Bool) rethrows -> RecordValue {
        var number = 2
        while true {
            let candidate: RecordValue
            switch value {
            case .text(let bytes): candidate = .text(bytes + Array(" \(number)".utf8))
            case .blob(let bytes): candidate = .blob(bytes + Array("\(number)".utf8))
            // Where the distance between reals exceeds one, the candidate is the next larger real.
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
    /// Returns the value in a form that is equal for all values that SQLite treats as equal.
    ///
    /// Numbers compare by value, and text by the collation (sqlite.org/datatype3.html#collating_sequences).
    func collated(_ collation: String) -> RecordValue {
        switch self {
        case .real(let bits):
            let real = Double(bitPattern: bits)
            return real.rounded() == real && real >= -0x1p63 && real < 0x1p63 ? .integer(Int64(real)) : self
        case .text(let bytes):
            switch collation.uppercased() {
            case "NOCASE":
                // NOCASE compares up to the first NUL, and then compares the lengths.
                let text = bytes.prefix { $0 != 0 }.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }
                return .text(ArraySlice(text + Array(repeating: 0, count: bytes.count - text.count)))
            case "RTRIM": return .text(ArraySlice(Array(bytes.reversed().drop { $0 == 0x20 }.reversed())))
            default: return self
            }
        case .null, .integer, .blob: return self
        }
    }

    /// Returns the value if a column with the affinity stores it unchanged, and nil if not, or for NULL.
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
