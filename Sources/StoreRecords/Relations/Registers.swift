package import StoreFormat

/// A living record as it was written: the source from which rows are computed.
package struct Registers: Hashable, Sendable {
    package var key: [RecordValue]
    package var clock: RecordClock
    /// The values of the synced columns.
    package var values: [RecordValue]
    /// The values of the excluded columns.
    package var local: [RecordValue]

    package init(key: [RecordValue], clock: RecordClock, values: [RecordValue], local: [RecordValue] = []) {
        self.key = key
        self.clock = clock
        self.values = values
        self.local = local
    }
}

extension Registers {
    /// Takes each register of another record that is greater than this record's own.
    ///
    /// - Parameters:
    ///   - other: a record that is one with this record.
    ///   - rules: the table's policies and groups.
    ///   - peers: the table that orders stamps.
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

/// A record whose row is not exactly its registers, and its state.
package struct AsideRecord {
    var registers: Registers
    /// The key under which the record is shown, alone or with others that are one with it.
    package var shown: [RecordValue]
    package var state: State

    package enum State: Equatable {
        case shown
        /// The record is held, for a reason.
        case held(String)
        /// The record has changed, and it is not yet determined what it shows; it has no row.
        case pending

        /// The stored form of the state; nil if the record is shown.
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
