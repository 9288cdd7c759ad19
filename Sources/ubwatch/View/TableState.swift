/// The user's state of a table: selection, filter and order.
struct TableState: Sendable, Equatable {
    private(set) var filter = ""
    /// The column of the order; nil for the table's own order.
    private(set) var sortColumn: Int?
    private(set) var isDescending = false
    /// The selected row; nil if there is none.
    private(set) var chosen: String?
    /// The indices of the visible rows, in their order.
    private(set) var order: [Int] = []
    /// The position of the selected row in that order.
    private(set) var place = 0
    /// The first row on the screen.
    private(set) var first = 0
    /// The number of columns scrolled away to the left.
    private(set) var aside = 0

    /// Applies a new table, or a changed one.
    mutating func take(_ table: Table) {
        if let sortColumn, !table.columns.indices.contains(sortColumn) { self.sortColumn = nil }
        order = table.order(filter: filter, sort: sortColumn.map { ($0, isDescending) })
        // Select the previously selected row, or the row at its position.
        if let index = order.firstIndex(where: { table.rows[$0].id == chosen }) { place = index }
        choose(place, table)
        aside = min(aside, max(0, table.columns.count { !$0.isFixed } - 1))
    }

    mutating func setFilter(_ filter: String, _ table: Table) {
        self.filter = filter
        take(table)
    }

    /// Sorts by the next column; after the last by none.
    mutating func sortByNext(_ table: Table) {
        sortColumn = sortColumn.map { $0 + 1 } ?? 0
        isDescending = false
        take(table)
    }

    mutating func reverse(_ table: Table) {
        if sortColumn == nil { sortColumn = 0 }
        isDescending.toggle()
        take(table)
    }

    mutating func move(by rows: Int, _ table: Table) { choose(place + rows, table) }

    mutating func moveAside(by columns: Int, _ table: Table) {
        aside = max(0, min(aside + columns, max(0, table.columns.count { !$0.isFixed } - 1)))
    }

    /// Scrolls just enough to show the selected row in this number of rows.
    mutating func show(rows: Int) {
        let rows = max(1, rows)
        first = min(first, place)
        if place >= first + rows { first = place - rows + 1 }
        // No empty lines below while there are hidden rows above.
        first = max(0, min(first, order.count - rows))
    }

    /// Returns the selected row.
    func row(of table: Table) -> Table.Row? { order.indices.contains(place) ? table.rows[order[place]] : nil }

    private mutating func choose(_ place: Int, _ table: Table) {
        self.place = max(0, min(place, order.count - 1))
        chosen = row(of: table)?.id
    }
}
