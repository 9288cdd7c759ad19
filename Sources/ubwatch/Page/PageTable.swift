import Foundation
import ToolSupport

/// A pane's table in the form in which the page gets it.
///
/// An age is sent as its time, so that nothing is sent while only time passes.
struct PageTable: Equatable, Sendable, Encodable {
    struct Column: Equatable, Sendable, Encodable {
        var title: String
        var isRight: Bool
    }

    /// `[text, style]`, `[text, style, number]` or `["", style, null, time]`.
    struct Cell: Equatable, Sendable, Encodable {
        var text: String
        var style: CellStyle
        var number: Double?
        var date: Date?

        init(_ cell: Table.Cell) {
            (text, style, number, date) = (cell.text.visible, cell.style, cell.number, cell.date)
            if date != nil { (text, number) = ("", nil) }
        }

        func encode(to encoder: any Encoder) throws {
            var values = encoder.unkeyedContainer()
            try values.encode(text)
            try values.encode(style.name)
            if let date {
                try values.encodeNil()
                try values.encode(date)
            } else if let number {
                try values.encode(number)
            }
        }
    }

    struct Row: Equatable, Sendable, Encodable {
        var id: String
        var cells: [Cell]
        var target: String?
        var actions: [PageAction]?
    }

    var columns: [Column]
    var rows: [Row]
    var empty: String

    /// - Parameters:
    ///   - table: the table of the terminal's view.
    ///   - actions: returns what can be done with a row.
    init(_ table: Table, actions: (Table.Row) -> [PageAction] = { _ in [] }) {
        columns = table.columns.map { Column(title: $0.title, isRight: $0.isRight) }
        rows = table.rows.map { row in
            let actions = actions(row)
            return Row(id: row.id, cells: row.cells.map(Cell.init), target: row.target?.text, actions: actions.isEmpty ? nil : actions)
        }
        empty = table.empty.visible
    }

    /// What makes one table another one.
    struct Change: Equatable, Sendable, Encodable {
        /// The identifiers of rows that have gone.
        var gone: [String] = []
        /// Rows that are different, and stay in their order.
        var set: [Row] = []
        /// New rows, each with its index in the new table.
        var added: [Added] = []

        struct Added: Equatable, Sendable, Encodable {
            var index: Int
            var row: Row

            func encode(to encoder: any Encoder) throws {
                var values = encoder.unkeyedContainer()
                try values.encode(index)
                try values.encode(row)
            }
        }
    }

    /// Returns the change that makes this table the other one.
    ///
    /// - Returns: nil if rows have changed their order, an identifier stands for two rows, or the columns are others: the table is sent whole.
    func change(to other: PageTable) -> Change? {
        guard columns == other.columns, empty == other.empty else { return nil }
        var change = Change()
        let old = Dictionary(rows.map { ($0.id, $0) }) { first, _ in first }
        let new = Dictionary(other.rows.map { ($0.id, true) }) { first, _ in first }
        guard old.count == rows.count, new.count == other.rows.count else { return nil }
        change.gone = rows.lazy.map(\.id).filter { new[$0] == nil }
        var kept: [String] = []
        for (index, row) in other.rows.enumerated() {
            guard let known = old[row.id] else {
                change.added.append(.init(index: index, row: row))
                continue
            }
            kept.append(row.id)
            if known != row { change.set.append(row) }
        }
        return rows.lazy.map(\.id).filter { new[$0] != nil }.elementsEqual(kept) ? change : nil
    }
}

extension CellStyle {
    /// The style's name on the page.
    var name: String {
        if isDim { return "dim" }
        switch colour {
        case .red: return "red"
        case .green: return "green"
        case .yellow: return "yellow"
        case .blue: return "blue"
        case .cyan, .magenta: return "cyan"
        case nil: return isBold ? "bold" : "plain"
        }
    }
}

extension String {
    /// The text in a form that hides nothing: numbers replace control characters, and characters that turn the order of others.
    var visible: String {
        guard unicodeScalars.contains(where: \.isHiding) else { return self }
        return unicodeScalars.map { $0.isHiding ? $0.escape : String($0) }.joined()
    }
}

extension Unicode.Scalar {
    fileprivate var isHiding: Bool {
        switch value {
        // The marks, embeddings, overrides and isolates of Unicode's bidirectional algorithm (UAX #9).
        case 0x061C, 0x200E...0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        default: isTerminalControl
        }
    }
}
