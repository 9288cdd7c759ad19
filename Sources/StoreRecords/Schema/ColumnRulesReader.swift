internal import StoreFormat

/// Reads the rules that a table declares, and lists their faults.
struct ColumnRulesReader {
    let table: SyncedTable
    let keyColumns: [String]
    /// The synced columns, in order.
    let columns: [String]
    /// The existing columns that are declared as excluded; each with whether a row can be inserted without a value for
    /// it.
    let excluded: [String: Bool]
    private(set) var violations: [String] = []

    init(_ table: SyncedTable, keyColumns: [String], columns: [String], excluded: [String: Bool]) {
        self.table = table
        self.keyColumns = keyColumns
        self.columns = columns
        self.excluded = excluded
    }

    mutating func rules() -> ColumnRules {
        checkExcluded()
        var policies: [Int: MergePolicy] = [:]
        for (name, policy) in table.policies.sorted(by: { $0.key < $1.key }) {
            if let column = number(of: name, role: "a policy") { policies[column] = policy }
        }
        return ColumnRules(policies: policies, groups: groups(policies))
    }

    private mutating func groups(_ policies: [Int: MergePolicy]) -> [ColumnSet] {
        var groups: [ColumnSet] = []
        for names in table.together {
            let members = names.compactMap { number(of: $0, role: "a group") }
            let group = members.reduce(into: ColumnSet()) { $0.insert(ColumnSet(column: $1)) }
            let list = names.joined(separator: ", ")
            if names.count < 2 || group.count < members.count {
                violations.append("The group (\(list)) of “\(table.name)” needs two columns or more, each once.")
            }
            if let other = groups.first(where: { !$0.isDisjoint(with: group) }) {
                let shared = other.intersection(group).numbers.map { columns[$0] }.joined(separator: ", ")
                violations.append("The columns (\(shared)) of “\(table.name)” are in two groups: name them in one.")
            }
            let kinds = Set(members.map { policies[$0] ?? .lastWriter })
            if kinds.count > 1 || !kinds.isDisjoint(with: [.maximum, .minimum]) {
                violations.append(
                    "The group (\(list)) of “\(table.name)” mixes policies, or compares values: all its columns are the last writer's, or all the first's."
                )
            }
            groups.append(group)
        }
        return groups
    }

    private mutating func number(of name: String, role: String) -> Int? {
        if let column = columns.firstIndex(of: name) { return column }
        if keyColumns.contains(name) {
            violations.append("Column “\(name)” of “\(table.name)” is in the primary key, which is never merged: take \(role) from it.")
        } else if table.excluded.contains(name) {
            violations.append("Column “\(name)” of “\(table.name)” is excluded and has \(role): take one away.")
        } else {
            violations.append("Column “\(name)” of “\(table.name)” has \(role) and does not exist: spell it as in the migrator.")
        }
        return nil
    }

    private mutating func checkExcluded() {
        for name in table.excluded.sorted() {
            if keyColumns.contains(name) {
                violations.append("Column “\(name)” of “\(table.name)” is in the primary key and cannot be excluded.")
            } else if let canBeLeftOut = excluded[name] {
                if !canBeLeftOut {
                    violations.append(
                        "The excluded column “\(name)” of “\(table.name)” is NOT NULL without a default: a record that arrives has no value for it.")
                }
            } else {
                violations.append("The excluded column “\(name)” of “\(table.name)” does not exist: spell it as in the migrator.")
            }
        }
    }
}
