import Foundation

/// What has gone out and come in recently, for graphs: the last minute by the second, the last hour by ten seconds, the last day by ten minutes.
struct TransferHistory: Sendable, Equatable {
    /// Files and their bytes.
    struct Amount: Sendable, Equatable {
        var files = 0
        var bytes: Int64 = 0

        static func += (sum: inout Amount, other: Amount) {
            sum.files += other.files
            sum.bytes += other.bytes
        }
    }

    /// The transfers in the time of one column.
    struct Column: Sendable, Equatable {
        /// From this device.
        var up = Amount()
        /// To this device.
        var down = Amount()
    }

    /// The columns of one span of time.
    struct Span: Sendable, Equatable {
        let name: String
        /// The seconds of a column.
        let seconds: Int
        /// The greatest number of columns.
        let limit: Int
        /// The columns, newest last.
        private(set) var columns: [Column] = []
        /// The second since 1970 at which the last column begins.
        private(set) var start = 0

        fileprivate mutating func advance(to now: Date) {
            let present = Int(now.timeIntervalSince1970) / seconds * seconds
            if columns.isEmpty { (columns, start) = ([Column()], present) }
            // After a clock was set back, the last column collects transfers until the clock has passed it.
            guard present > start else { return }
            let new = min((present - start) / seconds, limit)
            columns += Array(repeating: Column(), count: new)
            columns.removeFirst(max(0, columns.count - limit))
            start = present
        }

        fileprivate mutating func add(_ amount: Amount, to direction: WritableKeyPath<Column, Amount>) {
            columns[columns.count - 1][keyPath: direction] += amount
        }
    }

    private(set) var spans = [
        Span(name: "minute", seconds: 1, limit: 60), Span(name: "hour", seconds: 10, limit: 360), Span(name: "day", seconds: 600, limit: 144),
    ]

    /// All that was added.
    private(set) var total = Column()

    /// The last hour, which the terminal shows.
    var hour: Span { spans[1] }

    /// Adds columns for the time that has passed.
    mutating func advance(to now: Date) { for index in spans.indices { spans[index].advance(to: now) } }

    /// Adds what has just been transferred.
    mutating func add(_ amount: Amount, _ direction: WritableKeyPath<Column, Amount>, at now: Date) {
        advance(to: now)
        total[keyPath: direction] += amount
        for index in spans.indices { spans[index].add(amount, to: direction) }
    }
}

extension TransferHistory.Span {
    /// Returns bars for the newest columns.
    ///
    /// - Parameters:
    ///   - direction: the direction to show.
    ///   - width: the number of columns.
    /// - Returns: this number of characters; the column with the most files in one direction has the highest bar, an empty column a dot.
    func bars(_ direction: KeyPath<TransferHistory.Column, TransferHistory.Amount>, width: Int) -> String {
        let shown = columns.suffix(width)
        let most = max(1, shown.map { max($0.up.files, $0.down.files) }.max() ?? 1)
        let bars = shown.map { column -> Character in
            let count = column[keyPath: direction].files
            return count == 0 ? "·" : Self.levels[min(7, count * 8 / most == 0 ? 0 : (count * 8 - 1) / most)]
        }
        return String(repeating: "·", count: max(0, width - shown.count)) + String(bars)
    }

    private static let levels: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    /// Returns the number of files over all columns.
    func files(_ direction: KeyPath<TransferHistory.Column, TransferHistory.Amount>) -> Int {
        columns.reduce(0) { $0 + $1[keyPath: direction].files }
    }
}
