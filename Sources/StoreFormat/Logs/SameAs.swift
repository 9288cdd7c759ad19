/// A record in one of its lives, as a same-as fact names it.
package struct RecordNode: Hashable, Sendable {
    package var key: [RecordValue]
    package var life: Int64

    package init(key: [RecordValue], life: Int64) {
        self.key = key
        self.life = life
    }
}

/// A same-as fact: two records of a table are one, as long as both lives last.
package struct SameAs: Hashable, Sendable {
    package var first: RecordNode
    package var second: RecordNode

    /// Creates a fact, which is equal in either order of the records.
    package init(_ one: RecordNode, _ other: RecordNode) {
        (first, second) = RecordValue.precedes(other.key, one.key) ? (other, one) : (one, other)
    }
}

extension RecordValue {
    /// Returns whether a key precedes another, by their first different value.
    package static func precedes(_ left: [RecordValue], _ right: [RecordValue]) -> Bool {
        for (one, other) in zip(left, right) {
            switch one.compare(other) {
            case .less: return true
            case .greater: return false
            case .equal: continue
            }
        }
        return left.count < right.count
    }
}
