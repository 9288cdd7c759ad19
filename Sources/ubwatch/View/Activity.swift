import Foundation

/// The number of logs that arrived recently, with ten seconds for each column: this device's and others' logs.
struct Activity: Sendable, Equatable {
    /// The logs of ten seconds.
    struct Column: Sendable, Equatable {
        var exports = 0
        var imports = 0
    }

    static let seconds = 10
    /// More columns than any terminal shows.
    private static let limit = 360

    /// The columns, newest last.
    private(set) var columns: [Column] = []
    /// The ten seconds of the last column.
    private var last = 0

    /// Adds columns for the time that has passed.
    mutating func advance(to now: Date) {
        let present = Int(now.timeIntervalSince1970) / Self.seconds
        if columns.isEmpty { (columns, last) = ([Column()], present) }
        // After a clock was set back, the last column collects logs until the clock has passed it.
        guard present > last else { return }
        let new = min(present - last, Self.limit)
        columns += Array(repeating: Column(), count: new)
        columns.removeFirst(max(0, columns.count - Self.limit))
        last = present
    }

    /// Counts logs that have just arrived.
    mutating func add(exports: Int, imports: Int, at now: Date) {
        advance(to: now)
        columns[columns.count - 1].exports += exports
        columns[columns.count - 1].imports += imports
    }

    /// Returns bars for the newest columns.
    ///
    /// - Parameters:
    ///   - value: the value to show.
    ///   - width: the number of columns.
    /// - Returns: this number of characters; the largest column of both kinds has the highest bar, an empty column a
    ///   dot.
    func bars(_ value: KeyPath<Column, Int>, width: Int) -> String {
        let shown = columns.suffix(width)
        let most = max(1, shown.map { max($0.exports, $0.imports) }.max() ?? 1)
        let bars = shown.map { column -> Character in
            let count = column[keyPath: value]
            return count == 0 ? "·" : Self.levels[min(7, count * 8 / most == 0 ? 0 : (count * 8 - 1) / most)]
        }
        return String(repeating: "·", count: max(0, width - shown.count)) + String(bars)
    }

    private static let levels: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    /// Returns the sum over all columns.
    func total(_ value: KeyPath<Column, Int>) -> Int { columns.reduce(0) { $0 + $1[keyPath: value] } }
}
