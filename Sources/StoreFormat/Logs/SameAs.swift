/// A record in one of its lives: what a same-as fact names.
package struct RecordNode: Hashable, Sendable {
    package var key: [RecordValue]
    package var life: Int64

    package init(key: [RecordValue], life: Int64) {
        self.key = key
        self.life = life
    }
}

/// Two records of a table that are one, for as long as these lives last.
package struct SameAs: Hashable, Sendable {
    package var first: RecordNode
    package var second: RecordNode

    /// The fact about two records, alike whoever finds it.
    package init(_ one: RecordNode, _ other: RecordNode) {
        (first, second) = RecordValue.precedes(other.key, one.key) ? (other, one) : (one, other)
    }
}

extension RecordValue {
    /// Orders keys: by their first value that differs.
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
