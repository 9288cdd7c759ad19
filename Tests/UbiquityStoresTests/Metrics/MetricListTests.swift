import CoreMetrics
import FileCoordination
import Foundation
import GRDB
import MetricsReading
import ObjectTransfer
import SystemPackage
import Testing
import TreeWatching
import UbiquityContainers
import UbiquityStores
import UbiquityTesting
import Waiting

/// The list of metrics, compared with what is recorded and with the page that documents it.
@Suite(.timeLimit(.minutes(40)))
struct MetricListTests {
    @Test("I-04: all metrics of the list are recorded, each with its dimensions, and no other is")
    func recorded() async throws {
        let readings = MetricReadings()
        try await withMetricsFactory(readings.factory) {
            try await Self.exchange()
            try await Self.watch(readings)
            try await Self.coordinate()
            try await Self.transfer()
        }
        let labels = readings.labels
        let expected = Dictionary(uniqueKeysWithValues: UbiquityMetric.allCases.map { ($0.label, Set([$0.dimensions.map(\.rawValue)])) })
        #expect(Set(labels.keys) == Set(expected.keys))
        for (label, dimensions) in labels { #expect(Set(dimensions) == expected[label], "\(label)") }
    }

    /// Exchanges with a conflict, a damaged log, a suspension, and a baseline.
    private static func exchange() async throws {
        try await withDevices(3) { devices, root in
            devices[1].clock.advance(by: 10)
            let (left, right) = (try await devices[0].open(), try await devices[1].open())
            try await left.insert("a")
            try await settle(left, right)
            for (store, name) in [(left, "Anna"), (right, "Anne")] {
                try await store.execute("UPDATE person SET first = ?", [name])
            }
            try await settle(left, right)
            #expect(try await left.rollBaseline() == 1)
            // The first device's logs are gone, so the third one begins with the baseline.
            try await settle(left, right, left)
            let third = try await devices[2].open()
            try await third.settled()
            try await left.insert("b")
            try await left.settled()
            let peer = try await left.status().peer
            let directory = contentDirectory(root).appending(peer.description).appending("1")
            for name in try FileManager.default.contentsOfDirectory(atPath: directory.string) where name.hasSuffix(".ublog") {
                try Data("no log".utf8).write(to: URL(filePath: directory.appending(name).string))
            }
            try await right.settled()
            let container = try await devices[0].container().path
            try FileManager.default.moveItem(atPath: container.string, toPath: container.string + ".away")
            await #expect(throws: UbiquitousStoreError.self) { try await left.settled() }
            for store in [left, right, third] { try await store.close() }
        }
    }

    /// Watches a tree with an overflow and a directory that cannot be watched.
    private static func watch(_ readings: MetricReadings) async throws {
        let tree = ScriptedTreeSource(root: "/t")
        var options = TreeWatcher.Options()
        options.source = .custom(tree)
        options.diagnostics = { _ in }
        let watcher = try TreeWatcher("/t", options: options)
        defer { watcher.close() }
        watcher.tap { _ in }
        try await watcher.settled()
        tree.loseEvents { tree.write("f") }
        tree.limitWatches(to: 1)
        tree.createDirectory("beyond")
        try await watcher.settled()
    }

    /// Waits for another access.
    private static func coordinate() async throws {
        try await withTemporaryDirectory { directory in
            let client = CoordinationClient(watchesFiles: false)
            let url = URL(filePath: directory.appending("a.txt").string)
            let (gate, ending) = AsyncStream.makeStream(of: Never.self)
            defer { ending.finish() }
            let first = Task { try await FileCoordinator(client: client).write(url) { _ in for await _ in gate {} } }
            try await until("the first access is granted") { client.snapshot().claims.contains { $0.state == .held } }
            let second = Task { try await FileCoordinator(client: client).write(url) { _ in } }
            try await until("the second access waits") { client.snapshot().claims.count == 2 }
            ending.finish()
            try await first.value
            try await second.value
        }
    }

    /// Sends an object, and another one after the disk has gone.
    private static func transfer() async throws {
        try await withTemporaryDirectory { directory in
            let remote = directory.appending("remote")
            try FileManager.default.createDirectory(atPath: remote.string, withIntermediateDirectories: false)
            let store = MeteredObjectStore(DirectoryObjectStore(remote))
            let file = directory.appending("file")
            try Data([1, 2, 3]).write(to: URL(filePath: file.string))
            try await store.put(file, at: "a") { _ in }
            try FileManager.default.removeItem(atPath: remote.string)
            await #expect(throws: ObjectStoreError.self) { try await store.put(file, at: "b") { _ in } }
        }
    }

    // MARK: The page

    private static func page() throws -> String {
        try String(contentsOfFile: packageDirectory.appending("Sources/Ubiquity/Ubiquity.docc/Metrics.md").string, encoding: .utf8)
    }

    /// The cells of the rows whose first cell is one name in code with a prefix.
    private static func rows(_ prefix: String) throws -> [[String]] {
        try page().split(separator: "\n").map { line in line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
            .filter { $0.first?.hasPrefix("`\(prefix)") == true && $0.first?.contains(" ") == false }
    }

    @Test("I-04: the page lists every metric with its kind and dimensions, and no other")
    func metricRows() throws {
        let rows = try Self.rows("ubiquity_").map { Array($0.prefix(3)) }
        let expected = UbiquityMetric.allCases.map { metric in
            [
                "`\(metric.label)`", metric.kind.rawValue,
                metric.dimensions.isEmpty ? "none" : metric.dimensions.map { "`\($0.rawValue)`" }.joined(separator: ", "),
            ]
        }
        #expect(rows == expected)
    }

    @Test("I-04: the page lists every dimension and every key of the log's metadata")
    func otherRows() throws {
        #expect(try Self.rows("ubiquity.").map { $0[0] } == LogFact.allCases.map { "`\($0.key)`" })
        let text = try Self.page()
        for dimension in UbiquityMetric.Dimension.allCases { #expect(text.contains("\n| `\(dimension.rawValue)` |"), "\(dimension)") }
    }
}
