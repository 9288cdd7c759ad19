/// Draws a pane's table into a part of a screen.
struct TableDrawing {
    let view: ContainerView
    let pane: Pane
    /// The rows; the first one has the titles.
    let rows: Range<Int>
    let columns: Range<Int>
    /// Whether the selected row is highlighted.
    let isChosen: Bool

    /// The number of cells between two columns.
    private static let gap = 2
    /// The least width of a flexible column.
    private static let least = 12

    func draw(on screen: inout Screen) {
        guard let table = view.tables[pane], let state = view.states[pane], !rows.isEmpty else { return }
        let places = places(table, state)
        for place in places {
            var title = table.columns[place.column].title
            if state.sortColumn == place.column { title += state.isDescending ? "↓" : "↑" }
            put(title, on: &screen, row: rows.lowerBound, place, style: .dim)
        }
        if state.order.isEmpty {
            let text = state.filter.isEmpty ? table.empty : "nothing matches /\(state.filter)"
            screen.putShortened(text, row: rows.lowerBound + 1, column: columns.lowerBound, end: columns.upperBound, style: .dim)
            return
        }
        let first = isChosen ? state.first : 0
        for (offset, index) in state.order.dropFirst(first).prefix(rows.count - 1).enumerated() {
            let row = rows.lowerBound + 1 + offset
            for place in places {
                let cell = table.rows[index].cells[place.column]
                put(cell.text, on: &screen, row: row, place, style: cell.style)
            }
            if isChosen, first + offset == state.place { screen.restyle(row: row, columns: columns) { $0.isReversed = true } }
        }
    }

    /// A column with its position.
    private struct Place {
        var column: Int
        var cells: Range<Int>
        var isRight: Bool
    }

    private func put(_ text: String, on screen: inout Screen, row: Int, _ place: Place, style: CellStyle) {
        let width = DisplayWidth.width(of: text)
        let start = place.isRight ? max(place.cells.lowerBound, place.cells.upperBound - width) : place.cells.lowerBound
        screen.putShortened(text, row: row, column: start, end: place.cells.upperBound, style: style)
    }

    /// Returns the visible columns: the fixed ones, then the others after those that are scrolled away.
    private func places(_ table: Table, _ state: TableState) -> [Place] {
        let fixed = table.columns.indices.filter { table.columns[$0].isFixed }
        let others = table.columns.indices.filter { !table.columns[$0].isFixed }
        let shown = fixed + others.dropFirst(state.aside)
        // A sorted column shows an arrow.
        var widths = Dictionary(uniqueKeysWithValues: shown.map { ($0, max(table.widths[$0], DisplayWidth.width(of: table.columns[$0].title) + 1)) })
        var excess = shown.reduce(0) { $0 + widths[$1]! } + Self.gap * max(0, shown.count - 1) - columns.count
        // The widest column becomes narrower first.
        while excess > 0,
            let widest = shown.filter({ table.columns[$0].isFlexible && widths[$0]! > Self.least }).max(by: { widths[$0]! < widths[$1]! })
        {
            let next = shown.filter { table.columns[$0].isFlexible && $0 != widest }.map { widths[$0]! }.max() ?? 0
            let step = min(excess, max(1, widths[widest]! - max(next, Self.least)))
            widths[widest]! -= step
            excess -= step
        }
        var places: [Place] = []
        var column = columns.lowerBound
        for index in shown where column < columns.upperBound {
            let end = min(columns.upperBound, column + widths[index]!)
            places.append(Place(column: index, cells: column..<end, isRight: table.columns[index].isRight))
            column = end + Self.gap
        }
        return places
    }
}
