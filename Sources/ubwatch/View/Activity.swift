import Foundation

/// How many logs came lately, ten seconds a column: this device's and those of others.
struct Activity: Sendable, Equatable {
    /// What came in ten seconds.
    struct Column: Sendable, Equatable {
        var exports = 0
        var imports = 0
    }

    static let seconds = 10
    /// More than any terminal shows.
    private static let limit = 360

    /// The newest at the end.
    private(set) var columns: [Column] = []
    /// Which ten seconds the last column stands for.
    private var last = 0

    /// Lets time pass.
    mutating func advance(to now: Date) {
        let present = Int(now.timeIntervalSince1970) / Self.seconds
        if columns.isEmpty { (columns, last) = ([Column()], present) }
        // A clock that was set back adds to the last column until it is past it.
        guard present > last else { return }
        let new = min(present - last, Self.limit)
        columns += Array(repeating: Column(), count: new)
        columns.removeFirst(max(0, columns.count - Self.limit))
        last = present
    }

    /// Counts logs that have come now.
    mutating func add(exports: Int, imports: Int, at now: Date) {
        advance(to: now)
        columns[columns.count - 1].exports += exports
        columns[columns.count - 1].imports += imports
    }

    /// Bars of the newest columns.
    ///
    /// - Parameters:
    ///   - value: what counts.
    ///   - width: how many columns.
    /// - Returns: as many characters, the highest for the largest column of both kinds, a dot where nothing came.
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

    /// How many came in the columns that are kept.
    func total(_ value: KeyPath<Column, Int>) -> Int { columns.reduce(0) { $0 + $1[keyPath: value] } }
}
