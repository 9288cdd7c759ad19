package import StoreFormat

/// A living record as it was written: the truth from which rows are computed (DESIGN §5).
package struct Registers: Hashable, Sendable {
    package var key: [RecordValue]
    package var clock: RecordClock
    /// The values of the columns that sync.
    package var values: [RecordValue]
    /// The values of the columns that stay on the device.
    package var local: [RecordValue]

    package init(key: [RecordValue], clock: RecordClock, values: [RecordValue], local: [RecordValue] = []) {
        self.key = key
        self.clock = clock
        self.values = values
        self.local = local
    }
}

extension Registers {
    /// Takes over each register of another record in which that has the greater.
    ///
    /// - Parameters:
    ///   - other: a record that is one with this.
    ///   - rules: the table's policies and groups.
    ///   - peers: orders stamps.
    package mutating func join(_ other: Registers, rules: ColumnRules, peers: PeerTable) {
        let all = values.indices.reduce(into: ColumnSet()) { $0.insert(ColumnSet(column: $1)) }
        rules.forEachRegister(of: all) { register in
            for column in register.numbers {
                let new = other.clock.stamp(of: column)
                let order = rules.policy(of: column).order(
                    new, against: clock.stamp(of: column), peers: peers, values: { (other.values[column], values[column]) })
                switch order {
                case .less: return
                case .equal: continue
                case .greater:
                    for column in register.numbers {
                        values[column] = other.values[column]
                        clock.set(ColumnSet(column: column), to: other.clock.stamp(of: column))
                    }
                    return
                }
            }
        }
    }
}

/// A record whose row is not exactly its registers, and what is shown of it.
package struct AsideRecord {
    var registers: Registers
    /// The key under which it is shown, alone or with others that are one with it.
    package var shown: [RecordValue]
    package var state: State

    package enum State: Equatable {
        case shown
        /// It is not shown, for a reason.
        case held(String)
        /// It has changed, and what is to be shown has not been found yet; no row is its.
        case pending

        /// As it is stored: nothing where it is shown.
        var text: String? {
            switch self {
            case .shown: nil
            case .held(let reason): reason
            case .pending: ""
            }
        }

        init(_ text: String?) {
            switch text {
            case nil: self = .shown
            case "": self = .pending
            case let reason?: self = .held(reason)
            }
        }
    }
}
