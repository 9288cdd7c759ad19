import Foundation
import SystemPackage
import UbiquityStores

extension StoreSuite {
    /// Compares the encoding of a log's body with other encodings of 100,000 equal changes: size, and time to write and
    /// to read.
    static func encodings(_ report: Report) async throws {
        let changes = ChangeSample.changes(100_000)
        let ours = try measure(RowWise(), changes)
        let others: [any ChangeEncoding] = [ColumnWise(), TaggedFields(), JSONLines(), SQLiteImage()]
        for other in others {
            let theirs = try measure(other, changes)
            func line(_ metric: String, _ unit: String, _ figure: KeyPath<Figures, Double>) {
                report.line(
                    metric, variant: "against \(other.name)", unit: unit, ours: ours[keyPath: figure], reference: theirs[keyPath: figure],
                    referenceName: other.name, main: false)
            }
            line("encoding_size", "bytes a change", \.size)
            line("encoding_size_gzip", "bytes a change", \.zipped)
            line("encoding_encode", "ns a change", \.encode)
            line("encoding_decode", "ns a change", \.decode)
        }
    }

    private struct Figures {
        var size: Double
        var zipped: Double
        var encode: Double
        var decode: Double
    }

    private static func measure(_ encoding: some ChangeEncoding, _ changes: [LogBody.Change]) throws -> Figures {
        let clock = ContinuousClock()
        func nanoseconds(_ time: Duration) -> Double {
            (Double(time.components.seconds) * 1e9 + Double(time.components.attoseconds) * 1e-9) / Double(changes.count)
        }
        var bytes: [UInt8] = []
        var (encodes, decodes): ([Double], [Double]) = ([], [])
        for _ in 0..<5 {
            encodes.append(nanoseconds(try clock.measure { bytes = try encoding.encode(changes) }))
            var count = 0
            var values = 0
            let time = try clock.measure {
                try encoding.decode(bytes) { change in
                    count += 1
                    values += change.values.count + change.key.count
                }
            }
            decodes.append(nanoseconds(time))
            let expected = changes.reduce(0) { $0 + $1.values.count + $1.key.count }
            precondition(count == changes.count && values == expected, "\(encoding.name) lost something: \(count), \(values) of \(expected)")
        }
        let count = Double(changes.count)
        return Figures(
            size: Double(bytes.count) / count, zipped: try Double(gzipped(bytes)) / count, encode: median(encodes), decode: median(decodes))
    }

    /// Returns the size after gzip, which shows how much of a difference is only repetition.
    private static func gzipped(_ bytes: [UInt8]) throws -> Int {
        let file = FileManager.default.temporaryDirectory.appending(path: "ubiquity-bench-\(UUID().uuidString)")
        try Data(bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let gzip = Process()
        gzip.executableURL = URL(filePath: "/bin/gzip")
        gzip.arguments = ["-6", "-f", "-k", file.path]
        try gzip.run()
        gzip.waitUntilExit()
        let zipped = URL(filePath: file.path + ".gz")
        defer { try? FileManager.default.removeItem(at: zipped) }
        return try Data(contentsOf: zipped).count
    }
}

/// A sample of typical changes of an app: 60 of 100 are inserts, 35 edit one column or two, 5 are deletions.
enum ChangeSample {
    static func changes(_ count: Int) -> [LogBody.Change] {
        var made: [LogBody.Change] = []
        for index in 0..<count {
            var change = LogBody.Change()
            let kind = index * 37 % 100
            let item = Item(index, key: Item.Keys.random.key(index))
            change.key = [.text(item.id)]
            change.life = kind < 95 ? 1 : 2
            let values = item.values
            let columns: [Int]
            switch kind {
            case 0..<60: columns = values.indices.filter { values[$0] != .null }
            case 60..<85: columns = [index % 3 == 0 ? 3 : 0]
            case 85..<95: columns = [0, 1]
            default: columns = []
            }
            for column in columns {
                change.columns.insert(ColumnSet(column: column))
                change.values.append(values[column])
            }
            made.append(change)
        }
        return made
    }
}

/// A way to write the changes of one table.
protocol ChangeEncoding {
    var name: String { get }
    func encode(_ changes: [LogBody.Change]) throws -> [UInt8]
    func decode(_ bytes: [UInt8], _ body: (LogBody.Change) -> Void) throws
}
