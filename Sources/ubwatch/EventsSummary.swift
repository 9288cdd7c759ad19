import Glibc
import Synchronization
import SystemPackage
import TreeWatching

/// Counts and rates for each directory and kind, as `inotifywatch` gives.
final class EventsSummary: EventsPrinter {
    private struct Counts {
        var directories: [[UInt8]: [String: Int]] = [:]
        var total = 0
        var began: Duration?
        var last: Duration = .zero
    }

    private let json: Bool
    private let counts = Mutex(Counts())

    init(json: Bool) { self.json = json }

    func lines(for batch: TreeChangeBatch) -> [UInt8] {
        counts.withLock { counts in
            for change in batch {
                if counts.began == nil { counts.began = change.time }
                counts.last = change.time
                if change.kind == .ready { continue }
                let directory = change.withPathBytes { path in Array(path[..<(path.lastIndex(of: 0x2F) ?? 0)]) }
                counts.directories[directory, default: [:]][EventsLines.name(of: change.kind).name, default: 0] += 1
                counts.total += 1
            }
        }
        return []
    }

    func summarise() -> [UInt8] {
        counts.withLock { counts in
            var text: [UInt8] = []
            let elapsed = counts.began.map { EventsSummary.now - $0 } ?? .zero
            let seconds = max(0.001, Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18)
            let rows = counts.directories.sorted { a, b in
                let (first, second) = (a.value.values.reduce(0, +), b.value.values.reduce(0, +))
                return first == second ? a.key.lexicographicallyPrecedes(b.key) : first > second
            }
            if !json { text.append(contentsOf: "\(counts.total) changes in \(EventsSummary.decimal(seconds)) s\n".utf8) }
            for (directory, kinds) in rows {
                let total = kinds.values.reduce(0, +)
                let rate = EventsSummary.decimal(Double(total) / seconds)
                if json {
                    text.append(contentsOf: "{\"path\":".utf8)
                    (directory.isEmpty ? [0x2F] : directory).withUnsafeBytes { EventsText.appendJSON($0, bytesKey: "pathBytes", to: &text) }
                    let list = kinds.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
                    text.append(contentsOf: ",\"total\":\(total),\"perSecond\":\(rate),\"kinds\":{\(list)}}\n".utf8)
                } else {
                    let list = kinds.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
                    text.append(contentsOf: "\(total)\t\(rate)/s\t".utf8)
                    (directory.isEmpty ? [0x2F] : directory).withUnsafeBytes { EventsText.appendEscaped($0, to: &text) }
                    text.append(contentsOf: "\t\(list)\n".utf8)
                }
            }
            return text
        }
    }

    private static var now: Duration {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    private static func decimal(_ value: Double) -> String {
        let scaled = Int64((value * 1000).rounded())
        let digits = String(scaled % 1000)
        return "\(scaled / 1000).\(String(repeating: "0", count: 3 - digits.count))\(digits)"
    }
}
