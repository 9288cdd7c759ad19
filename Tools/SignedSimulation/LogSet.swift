/// A set of logs, by their numbers.
package struct LogSet: Hashable, Sendable, Sequence {
    private var words: [UInt64] = []

    func contains(_ number: Int) -> Bool {
        let word = number >> 6
        return word < words.count && words[word] & (1 << UInt64(number & 63)) != 0
    }

    mutating func insert(_ number: Int) {
        let word = number >> 6
        while words.count <= word { words.append(0) }
        words[word] |= 1 << UInt64(number & 63)
    }

    mutating func remove(_ number: Int) {
        let word = number >> 6
        guard word < words.count else { return }
        words[word] &= ~(1 << UInt64(number & 63))
    }

    mutating func formUnion(_ other: LogSet) {
        while words.count < other.words.count { words.append(0) }
        for index in other.words.indices { words[index] |= other.words[index] }
    }

    func isSubset(of other: LogSet) -> Bool {
        words.indices.allSatisfy { words[$0] & ~($0 < other.words.count ? other.words[$0] : 0) == 0 }
    }

    package func makeIterator() -> AnyIterator<Int> {
        var (index, rest) = (0, words.first ?? 0)
        return AnyIterator {
            while rest == 0 {
                index += 1
                guard index < words.count else { return nil }
                rest = words[index]
            }
            defer { rest &= rest - 1 }
            return index << 6 + rest.trailingZeroBitCount
        }
    }
}
