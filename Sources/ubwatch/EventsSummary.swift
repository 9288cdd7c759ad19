import Foundation
import Synchronization
import SystemPackage
import TreeWatching

/// Counts and rates for each directory and kind, like those of `inotifywatch`.
final class EventsSummary: EventsPrinter {
    private struct Counts {
        var directories: [[UInt8]: [String: Int]] = [:]
        var total = 0
        var began: Duration?
    }

    private let json: Bool
    private let counts = Mutex(Counts())

    init(json: Bool) { self.json = json }

    func lines(for batch: TreeChangeBatch) -> [UInt8] {
        counts.withLock { counts in
            for change in batch {
                if counts.began == nil { counts.began = change.time }
                guard let directory = EventsSummary.directory(of: change) else { continue }
                counts.directories[directory, default: [:]][EventsLines.name(of: change.kind).name, default: 0] += 1
                counts.total += 1
            }
        }
        return []
    }

    /// Returns the directory of a change: the entry's, or the root for a change of the whole tree.
    private static func directory(of change: TreeChange) -> [UInt8]? {
        switch change.kind {
        case .ready: nil
        case .overflow, .rescanned, .rootLost, .rootBack: change.withPathBytes { Array($0) }
        default: change.withPathBytes { path in Array(path[..<max(1, path.lastIndex(of: 0x2F) ?? 0)]) }
        }
    }

    func summarise() -> [UInt8] {
        counts.withLock { counts in
            let elapsed = counts.began.map { EventsSummary.now - $0 } ?? .zero
            let seconds = max(0.001, Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18)
            let rows = counts.directories.map { Row(path: $0.key, kinds: $0.value) }.sorted { a, b in
                a.total == b.total ? a.path.lexicographicallyPrecedes(b.path) : a.total > b.total
            }
            return json ? EventsSummary.lines(rows, seconds) : EventsSummary.table(rows, counts.total, seconds)
        }
    }

    private struct Row {
        var path: [UInt8]
        var kinds: [String: Int]
        var total: Int { kinds.values.reduce(0, +) }
    }

    private static func lines(_ rows: [Row], _ seconds: Double) -> [UInt8] {
        var text: [UInt8] = []
        for row in rows {
            text.append(contentsOf: "{\"path\":".utf8)
            row.path.withUnsafeBytes { EventsText.appendJSON($0, bytesKey: "pathBytes", to: &text) }
            let kinds = row.kinds.sorted { $0.key < $1.key }.map { kind, count in
                "\"\(kind)\":{\"count\":\(count),\"perSecond\":\(decimal(Double(count) / seconds))}"
            }
            let rate = decimal(Double(row.total) / seconds)
            text.append(contentsOf: ",\"total\":\(row.total),\"perSecond\":\(rate),\"kinds\":{\(kinds.joined(separator: ","))}}\n".utf8)
        }
        return text
    }

    /// Returns a table with a column for each kind and a row for each directory, the busiest first.
    private static func table(_ rows: [Row], _ total: Int, _ seconds: Double) -> [UInt8] {
        var text = Array("\(total) changes in \(decimal(seconds)) s\n".utf8)
        if rows.isEmpty { return text }
        let kinds = ["created", "modified", "removed", "moved", "attributes", "overflow", "rescanned", "rootLost", "rootBack"].filter { kind in
            rows.contains { $0.kinds[kind] != nil }
        }
        func cell(_ count: Int) -> String { "\(count) (\(decimal(Double(count) / seconds))/s)" }
        var lines = [["total"] + kinds]
        for row in rows { lines.append([cell(row.total)] + kinds.map { row.kinds[$0].map(cell) ?? "-" }) }
        let widths = lines[0].indices.map { column in lines.map { $0[column].utf8.count }.max() ?? 0 }
        for (position, line) in lines.enumerated() {
            for (column, word) in line.enumerated() {
                text.append(contentsOf: repeatElement(0x20, count: widths[column] - word.utf8.count))
                text.append(contentsOf: (word + "  ").utf8)
            }
            if position == 0 {
                text.append(contentsOf: "directory".utf8)
            } else {
                rows[position - 1].path.withUnsafeBytes { EventsText.appendEscaped($0, to: &text) }
            }
            text.append(0x0A)
        }
        return text
    }

    private static var now: Duration { .seconds(Date().timeIntervalSince1970) }

    private static func decimal(_ value: Double) -> String {
        let scaled = Int64((value * 1000).rounded())
        let digits = String(scaled % 1000)
        return "\(scaled / 1000).\(String(repeating: "0", count: 3 - digits.count))\(digits)"
    }
}
