import CoreMetrics
import Foundation
import MetricsReading
import SystemPackage
import Testing
import UbiquityTesting
import Waiting

@testable import TreeWatching

/// What is recorded of watchers.
struct WatchMetricsTests {
    private static func watcher(of tree: ScriptedTreeSource, _ readings: MetricReadings) throws -> TreeWatcher {
        var options = TreeWatcher.Options()
        options.source = .custom(tree)
        options.diagnostics = { _ in }
        return try withMetricsFactory(readings.factory) { try TreeWatcher("/t", options: options) }
    }

    @Test("every change that a reader gets is counted, and so is every directory that is watched, until the watcher closes")
    func changes() async throws {
        let (tree, readings) = (ScriptedTreeSource(root: "/t"), MetricReadings())
        for number in 0..<5 { tree.createDirectory(FilePath("d\(number)")) }
        let watcher = try Self.watcher(of: tree, readings)
        try await watcher.settled()
        #expect(readings.level(.watchedDirectories) == 6 && readings.total(.watchChanges) == 0, "nobody has read any change")
        let recorder = ChangeRecorder()
        watcher.tap { recorder.take($0) }
        try await watcher.settled()
        let before = recorder.all.count
        for number in 0..<20 { tree.write(FilePath("d0/f\(number)")) }
        tree.remove("d4")
        try await watcher.settled()
        #expect(recorder.all.count - before > 20)
        #expect(readings.total(.watchChanges) == recorder.all.count - before)
        #expect(readings.level(.watchedDirectories) == 5)
        #expect(readings.total(.watchOverflows) == 0 && readings.total(.watchFailures) == 0)
        watcher.close()
        try await until("no directory counts as watched") { readings.level(.watchedDirectories) == 0 }
    }

    @Test("an overflow of the queue and a part that cannot be watched are counted")
    func mishaps() async throws {
        let (tree, readings) = (ScriptedTreeSource(root: "/t"), MetricReadings())
        let watcher = try Self.watcher(of: tree, readings)
        defer { watcher.close() }
        try await watcher.settled()
        for _ in 0..<3 {
            tree.loseEvents { tree.write("f") }
            try await watcher.settled()
        }
        #expect(readings.total(.watchOverflows) == 3)
        tree.limitWatches(to: 1)
        tree.createDirectory("beyond")
        try await watcher.settled()
        #expect(readings.total(.watchFailures) == 1 && readings.level(.watchedDirectories) == 1)
    }
}
