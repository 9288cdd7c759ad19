/// Columns that hold keys of one kind, because foreign keys connect them.
struct KeyGroups {
    private var neighbors: [ColumnName: Set<ColumnName>] = [:]

    init(_ links: [(from: ColumnName, to: ColumnName)]) {
        for (from, to) in links {
            neighbors[from, default: []].insert(to)
            neighbors[to, default: []].insert(from)
        }
    }

    /// Returns a column and all that foreign keys connect with it.
    func group(of column: ColumnName) -> Set<ColumnName> {
        var group: Set<ColumnName> = [column]
        var waiting = [column]
        while let next = waiting.popLast() {
            for other in neighbors[next] ?? [] where group.insert(other).inserted { waiting.append(other) }
        }
        return group
    }
}
