import Foundation

/// The keys with their effects: shown by `?`, and part of `ubwatch --help`.
enum ViewHelp {
    struct Line: Sendable {
        var keys: String
        var text: String
    }

    static let lines: [Line] = [
        Line(keys: "Tab, 1 to 6", text: "another pane: peers, stores, items, held, storage, changes"),
        Line(keys: "↑ ↓ j k", text: "another line; Page Up, Page Down, Home, End, g, G go further"),
        Line(keys: "← →", text: "more columns, such as what each peer has read of each other"),
        Line(keys: "Enter", text: "look inside: a peer, a store, an item, a change, a log"),
        Line(keys: "Esc", text: "back; where nothing is open, no filter"),
        Line(keys: "e, f", text: "evict the item from this device; fetch it"),
        Line(keys: "/", text: "filter by words, in any column; Enter keeps the filter"),
        Line(keys: "s, S", text: "sort by the next column; the other way round"),
        Line(keys: "p, Space", text: "pause: nothing moves until it is pressed again"),
        Line(keys: "l", text: "changes: 1 container and stores, 2 also logs and items, 3 all"),
        Line(keys: "[ ]", text: "another container, with --all"),
        Line(keys: "r", text: "read everything again"),
        Line(keys: "Ctrl-L", text: "draw everything again"),
        Line(keys: "q, Ctrl-C", text: "quit; Ctrl-Z stops, as elsewhere"),
        Line(keys: "", text: ""),
        Line(keys: "Peers", text: "# its number, Wrote its logs, Lacks logs that it has not read,"),
        Line(keys: "", text: "Oldest how old the oldest of these is, Receipt when it said so,"),
        Line(keys: "", text: "of 1: read of peer 1; 12+3: read up to 12, and 3 more are there"),
        Line(keys: "Stores", text: "Unsent logs that no other device has, with their bytes"),
        Line(keys: "Graph", text: "logs that came, ten seconds a column: this device's are exports,"),
        Line(keys: "", text: "the others' imports; the number is their sum"),
    ]
}

extension ViewHelp {
    /// The lines for `--help`.
    static var text: String {
        lines.map { line in
            line.text.isEmpty ? "" : line.keys.padding(toLength: 14, withPad: " ", startingAt: 0) + line.text
        }.joined(separator: "\n")
    }
}
