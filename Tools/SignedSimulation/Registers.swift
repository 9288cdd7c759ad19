/// A table of the simulated app.
enum SimulatedTable: String, CaseIterable {
    case template, moderation, record

    /// The role that writes the table; nil for a contributed one.
    var role: String? {
        switch self {
        case .template: "editor"
        case .moderation: "moderator"
        case .record: nil
        }
    }
}

/// The key of a record, with the numbers of accounts.
enum SimulatedKey: Hashable, Comparable {
    case template(Int)
    case block(account: Int)
    case veto(account: Int, Int)
    case record(account: Int, Int)

    var table: SimulatedTable {
        switch self {
        case .template: .template
        case .block, .veto: .moderation
        case .record: .record
        }
    }

    /// The account that the key of a contributed record names.
    var owner: Int? { if case .record(let account, _) = self { account } else { nil } }
}

enum SimulatedColumn: Int { case x, y, on }

/// A value of a column, with its stamp.
///
/// Equal stamps of two logs, which only a cheater makes, are ordered by the rest.
struct Cell: Hashable, Comparable {
    var time: Int64
    var peer = 0
    var value: Int
    var log = 0

    static func < (left: Self, right: Self) -> Bool {
        (left.time, left.peer, left.value, left.log) < (right.time, right.peer, right.value, right.log)
    }
}

/// A change of a record: its life, odd while it lives, and the written columns.
struct SimulatedChange {
    var key: SimulatedKey
    var life: Int
    var columns: [SimulatedColumn: Cell]

    var latest: Int64 { columns.values.map(\.time).max() ?? 0 }
}

/// What a domain holds: the join of all changes that count.
struct Registers: Equatable {
    struct Record: Equatable {
        var life: Int
        var columns: [SimulatedColumn: Cell]
    }

    private(set) var records: [SimulatedKey: Record] = [:]

    subscript(key: SimulatedKey) -> Record? { records[key] }

    mutating func join(_ key: SimulatedKey, _ record: Record) {
        guard let old = records[key], record.life <= old.life else {
            records[key] = Record(life: record.life, columns: record.life % 2 == 1 ? record.columns : [:])
            return
        }
        guard record.life == old.life, record.life % 2 == 1 else { return }
        records[key]!.columns.merge(record.columns) { max($0, $1) }
    }

    mutating func join(_ other: Registers) { for (key, record) in other.records { join(key, record) } }

    mutating func join(_ change: SimulatedChange, of log: SimulatedLog) {
        let columns = change.columns.mapValues { Cell(time: $0.time, peer: log.device.number, value: $0.value, log: log.number) }
        join(change.key, Record(life: change.life, columns: columns))
    }
}

/// What people see: the records of all domains, without those that a moderator hides.
struct Shown: Equatable {
    private(set) var values: [SimulatedKey: [SimulatedColumn: Int]] = [:]

    init(roles: Registers, slices: [Int: Registers]) {
        var hidden: Set<SimulatedKey> = []
        for (key, record) in roles.records where record.life % 2 == 1 {
            values[key] = record.columns.mapValues(\.value)
            if record.columns[.on]?.value == 1 { hidden.insert(key) }
        }
        for (account, registers) in slices where !hidden.contains(.block(account: account)) {
            for (key, record) in registers.records where record.life % 2 == 1 {
                guard case .record(_, let number) = key, !hidden.contains(.veto(account: account, number)) else { continue }
                values[key] = record.columns.mapValues(\.value)
            }
        }
    }

    /// The first record in which two views differ.
    func difference(from other: Shown) -> String {
        let keys = Set(values.keys).union(other.values.keys).filter { values[$0] != other.values[$0] }
        return keys.min().map { "\($0): \(Self.text(values[$0])) instead of \(Self.text(other.values[$0]))" } ?? "nothing"
    }

    private static func text(_ record: [SimulatedColumn: Int]?) -> String {
        record.map { $0.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.key) \($0.value)" }.joined(separator: ", ") } ?? "nothing"
    }
}
