import Foundation
internal import StoreInspection
import UbiquityContainers
import UbiquityStores

/// Draws a state on a screen.
///
/// With 24 or more rows the screen has space for the stores and the graph, with 16 or more for the graph only; with 140
/// or more columns the recent changes are beside the pane.
struct ViewLayout {
    private let state: ViewState
    private var screen: Screen
    private var row = 0
    private var columns: Int { screen.size.columns }
    private var view: ContainerView { state.view }

    /// Draws a state.
    ///
    /// - Parameter state: the state, which is scrolled so that the selection is visible.
    /// - Returns: the screen.
    static func screen(of state: inout ViewState) -> Screen {
        state.prepare()
        var layout = ViewLayout(state)
        layout.drawTop()
        // The number of rows in the middle is known now; the state scrolls accordingly.
        state.show(rows: layout.bottom - layout.row - (state.details.isEmpty ? 1 : 0))
        var scrolled = ViewLayout(state)
        scrolled.drawTop()
        scrolled.drawMiddle()
        scrolled.drawBottom()
        return scrolled.screen
    }

    private init(_ state: ViewState) {
        self.state = state
        screen = Screen(state.size)
    }

    /// The row of the keys.
    private var bottom: Int { screen.size.rows - 1 }

    // MARK: Top

    private mutating func drawTop() {
        drawTitle()
        // The help is longer than what the rest of the top leaves free.
        if state.mode == .help { return }
        drawReason()
        if screen.size.rows >= 20 {
            drawRemedy()
            drawTransport()
            drawStores(most: min(4, (screen.size.rows - 16) / 4))
        }
        if screen.size.rows >= 16 { drawGraph() }
        drawTabs()
    }

    private mutating func drawTitle() {
        let facts = view.facts
        var right: [StyledText] = []
        if state.isPaused {
            right.append(StyledText(state.missed > 0 ? " paused, \(state.missed) since " : " paused ", CellStyle.yellow.reversed))
            right.append(StyledText(" "))
        }
        right.append(presence(facts))
        let width = right.reduce(0) { $0 + DisplayWidth.width(of: $1.text) }
        var left = view.name
        if let facts { left += " of \(facts.account)" }
        if state.shown.count > 1 { left = "\(state.current + 1)/\(state.shown.count) \(left)" }
        screen.putShortened(left, row: row, column: 0, end: max(0, columns - width - 1), style: .bold)
        screen.put(right, row: row, column: max(0, columns - width))
        row += 1
    }

    /// Returns the presence of the container and the activity of the account.
    private func presence(_ facts: WatchFacts?) -> StyledText {
        guard let facts else { return view.failure == nil ? StyledText("looking", .dim) : StyledText("cannot be read", .red) }
        switch facts.presence {
        case .gone: return StyledText("gone", CellStyle.red.reversed)
        case .unmarked where facts.device.peer != nil: return StyledText("wiped", CellStyle.red.reversed)
        case .replaced: return StyledText("replaced", CellStyle.red.reversed)
        case .there, .unmarked: break
        }
        let style: CellStyle =
            switch facts.state {
            case .signedOut, .settingUp, .waitingForNetwork: .yellow
            case .suspended, .stuck: .red
            case .idle, .uploading: .green
            case .downloading: .blue
            }
        return StyledText(facts.state.words, style)
    }

    private mutating func drawReason() {
        if let failure = view.failure {
            screen.putShortened(failure, row: row, column: 0, end: columns, style: .red)
        } else if let reasons = view.facts?.reasons, let first = reasons.first {
            let more = reasons.count > 1 ? " (+\(reasons.count - 1))" : ""
            screen.putShortened(first + more, row: row, column: 0, end: columns)
        } else {
            screen.putShortened(view.path, row: row, column: 0, end: columns, style: .dim)
        }
        row += 1
    }

    /// Draws the commands that look into the reasons or remove them.
    private mutating func drawRemedy() {
        guard view.failure == nil, let remedies = view.facts?.remedies, !remedies.isEmpty else { return }
        let start = screen.put("see: ", row: row, column: 0, style: .dim)
        screen.putShortened(remedies.joined(separator: ", or: "), row: row, column: start, end: columns, style: .bold)
        row += 1
    }

    /// Draws what carries the container, with the other devices that it knows.
    private mutating func drawTransport() {
        guard let transport = view.facts?.transport, transport.kind != .none, !transport.devices.isEmpty else { return }
        var pieces = [StyledText("\(transport.kind)", .dim)]
        for device in transport.devices {
            let isHere = device.isConnected && !device.isPaused
            var words = device.isPaused ? "paused" : device.isConnected ? "connected" : "not connected"
            if let completion = device.completion, let missing = device.missingBytes, missing > 0 {
                words += ", has \(Int(completion * 100))%, lacks \(WatchFacts.size(missing))"
            }
            pieces += [StyledText("  \(device.name) "), StyledText(words, isHere ? .green : .yellow)]
        }
        screen.put(pieces, row: row, column: 0)
        row += 1
    }

    /// Draws a line for each store, with Core Data's “Using local storage”.
    private mutating func drawStores(most: Int) {
        guard let facts = view.facts else { return }
        let names = Set(facts.stores.map(\.name)).union(facts.localStores.map(\.content)).sorted()
        for name in names.prefix(most) {
            var pieces = [StyledText(name, .bold)]
            if let store = facts.stores.first(where: { $0.name == name }) {
                pieces.append(
                    StyledText(" epoch \(store.epoch), \(WatchFacts.amount(store.logs, "log")) of \(WatchFacts.amount(store.peers.count, "peer"))"))
            }
            for local in facts.localStores where local.content == name {
                pieces.append(StyledText(", local storage \(local.usesLocalStorage ? 1 : 0)", local.usesLocalStorage ? .yellow : .plain))
                if let exchange = local.files.first(where: \.isInUse)?.exchange {
                    let known = exchange.knowledge.map { String($0.sequence) }.joined(separator: "+")
                    pieces.append(StyledText(", knows \(known.isEmpty ? "nothing" : known)"))
                    if exchange.unread > 0 { pieces.append(StyledText(", \(exchange.unread) unread", .yellow)) }
                }
                let (text, style) = TableMaker.state(of: local)
                pieces.append(StyledText(", "))
                pieces.append(StyledText(text, style))
            }
            screen.put(pieces, row: row, column: 0)
            row += 1
        }
        if names.count > most {
            screen.put("and \(WatchFacts.amount(names.count - most, "more store"))", row: row - 1, column: max(0, columns - 22), style: .dim)
        }
    }

    private mutating func drawGraph() {
        typealias Direction = KeyPath<TransferHistory.Column, TransferHistory.Amount>
        let kinds: [(String, Direction, CellStyle)] = [("exports", \.up, .green), ("imports", \.down, .blue)]
        for (name, value, style) in kinds {
            let total = "\(view.transfers.hour.files(value))"
            let column = screen.put("\(name) ", row: row, column: 0, style: .dim)
            let width = max(0, columns - column - total.count - 1)
            screen.put(view.transfers.hour.bars(value, width: width), row: row, column: column, style: style)
            screen.put(total, row: row, column: columns - total.count, style: style)
            row += 1
        }
    }

    private mutating func drawTabs() {
        let isNarrow = columns < 76
        var column = 0
        for pane in Pane.allCases {
            var title = "\(pane.rawValue + 1) \(isNarrow && pane != state.pane ? "" : pane.title)"
            // The full number, even if the list is limited.
            let count = pane == .items ? view.facts?.items.count ?? 0 : pane == .troubles ? troubles : 0
            if count > 0, !(isNarrow && pane != state.pane) { title += " \(count)" }
            if title.last == " " { title.removeLast() }
            let style: CellStyle = pane == state.pane ? CellStyle.bold.reversed : pane == .troubles && troubles > 0 ? .yellow : .plain
            column = screen.put(" \(title) ", row: row, column: column, style: style)
        }
        let note = state.pane == .changes ? "level \(view.level.rawValue)" : ""
        if !note.isEmpty, column + note.count + 1 <= columns { screen.put(note, row: row, column: columns - note.count, style: .dim) }
        row += 1
    }

    private var troubles: Int { view.facts?.troubles.counts.values.reduce(0, +) ?? 0 }

    /// The number of rows that pass the filter; nil without one.
    private var filterNote: String? {
        guard let pane = view.states[state.pane], !pane.filter.isEmpty else { return nil }
        return "/\(pane.filter): \(pane.order.count) of \(view.rows(in: state.pane))"
    }

    // MARK: Middle

    private mutating func drawMiddle() {
        guard row < bottom else { return }
        if state.mode == .help { return drawHelp() }
        if let detail = state.details.last { return draw(detail) }
        let isWide = columns >= 140 && state.pane != .changes
        let end = isWide ? columns * 3 / 5 : columns
        TableDrawing(view: view, pane: state.pane, rows: row..<bottom, columns: 0..<end, isChosen: true).draw(on: &screen)
        guard isWide else { return }
        for row in row..<bottom { screen.put("│", row: row, column: end, style: .dim) }
        TableDrawing(view: view, pane: .changes, rows: row..<bottom, columns: end + 2..<columns, isChosen: false).draw(on: &screen)
    }

    private mutating func draw(_ detail: Detail) {
        for place in 0..<max(0, bottom - row) {
            let index = detail.first + place
            guard detail.lines.indices.contains(index) else { break }
            let line = detail.lines[index]
            screen.put(Self.scrolled(line.pieces, by: detail.aside), row: row + place, column: 0)
            if line.target != nil { screen.put("›", row: row + place, column: columns - 1, style: .cyan) }
            if index == detail.place { screen.restyle(row: row + place, columns: 0..<columns) { $0.isReversed = true } }
        }
    }

    /// Returns a line without its first characters.
    private static func scrolled(_ pieces: [StyledText], by count: Int) -> [StyledText] {
        var rest = count
        return pieces.map { piece in
            let dropped = min(rest, piece.text.count)
            rest -= dropped
            return StyledText(String(piece.text.dropFirst(dropped)), piece.style)
        }
    }

    private mutating func drawHelp() {
        let lines = ViewHelp.lines
        let first = max(0, min(state.helpLine, lines.count - (bottom - row)))
        for (place, line) in lines.dropFirst(first).prefix(max(0, bottom - row)).enumerated() {
            let end = screen.put(line.keys, row: row + place, column: 1, style: .bold)
            screen.put(line.text, row: row + place, column: max(end + 1, line.keys.isEmpty ? 1 : 15))
        }
    }

    // MARK: Bottom

    private mutating func drawBottom() {
        // With so few rows the title has priority.
        guard bottom > 1 else { return }
        switch state.mode {
        case .filtering:
            let column = screen.put("/\(view.states[state.pane]?.filter ?? "")", row: bottom, column: 0)
            screen.put(" ", row: bottom, column: column, style: CellStyle.plain.reversed)
            if column + 24 < columns { screen.put("Enter keep  Esc undo", row: bottom, column: columns - 20, style: .dim) }
        case .help: screen.put("Esc back", row: bottom, column: 0, style: .dim)
        case .browsing:
            if let detail = state.details.last {
                screen.putShortened("Esc back  Enter look inside  \(detail.title)", row: bottom, column: 0, end: columns, style: .dim)
            } else {
                let filter = filterNote.map { "\($0), Esc shows all  " } ?? ""
                let keys =
                    filter + "? help  q quit  / filter  s sort  p pause  Tab pane  Enter look inside"
                    + (state.shown.count > 1 ? "  ] next container" : "")
                screen.putShortened(keys, row: bottom, column: 0, end: columns, style: .dim)
            }
        }
    }
}
