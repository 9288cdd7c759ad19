import Foundation
import GRDB
import Logging
import Synchronization
import SystemPackage
import Testing
import TreeWatching
import UbiquityContainers
import UbiquityTesting

@testable import UbiquityStores

/// The metadata that lines of the log carry beside their text.
@Suite(.timeLimit(.minutes(40)))
struct LogFactTests {
    /// A line with its metadata, as an app's backend gets it.
    private struct Line: Sendable {
        var text: String
        var level: Logger.Level
        var facts: [LogFact: String]
        var others: [String]
    }

    /// Keeps the lines of a store.
    private final class Lines: Sendable {
        private struct Handler: LogHandler {
            let lines: Lines
            var metadata: Logger.Metadata = [:]
            var logLevel = Logger.Level.trace

            subscript(metadataKey key: String) -> Logger.Metadata.Value? {
                get { metadata[key] }
                set { metadata[key] = newValue }
            }

            func log(event: LogEvent) { lines.add(event) }
        }

        private let kept = Mutex<[Line]>([])

        var logger: Logger {
            UbiquityLog.logger(
                writingTo: Handler(lines: self), LogState(LogSettings(environment: ["UBIQUITY_LOG_LEVEL": "3"], arguments: [])))
        }

        private func add(_ event: LogEvent) {
            var line = Line(text: event.message.description, level: event.level, facts: [:], others: [])
            for (key, value) in event.metadata ?? [:] {
                if let fact = LogFact(rawValue: key) { line.facts[fact] = value.description } else { line.others.append(key) }
            }
            kept.withLock { $0.append(line) }
        }

        var all: [Line] { kept.withLock { $0 } }

        /// The lines about an event, oldest first.
        func about(_ event: String) -> [Line] { all.filter { $0.facts[.event] == event } }
    }

    private static func open(_ device: TestDevice, _ lines: Lines, over files: any FileLayer = LinuxFileLayer()) async throws -> UbiquitousStore {
        let store = try await UbiquitousStore.open(
            at: device.directory.appending("People.sqlite"), options: .init(contentName: "People", exchangesAutomatically: false),
            container: "org.example.test", home: device.home, schema: personSchema, now: { [clock = device.clock] in clock.now }, files: files,
            logger: lines.logger)
        try await store.settled()
        return store
    }

    @Test("I-04: every line of a store names its account, content and file as metadata, and the text says what it said without")
    func everyLine() async throws {
        try await withDevices(2) { devices, _ in
            let lines = Lines()
            let (left, right) = (try await devices[0].open(), try await Self.open(devices[1], lines))
            try await left.insert("a")
            try await settle(left, right)
            #expect(lines.all.count > 5)
            for line in lines.all {
                #expect(line.facts[.content] == "People" && line.others.isEmpty, "\(line)")
                guard line.text.hasPrefix("Ubiquity: alice: store/") else { continue }
                #expect(line.facts[.account] == "alice" && line.facts[.file]?.hasSuffix("store/People.sqlite") == true, "\(line)")
            }
            #expect(lines.all.contains { $0.text.hasPrefix("Ubiquity: alice: store/") })
            let imported = try #require(lines.about("imported").first)
            #expect(imported.facts[.count] == "1" && imported.facts[.milliseconds].flatMap { Int($0) } != nil && imported.level == .debug)
            #expect(imported.text.contains("took in 1 log in "))
            let peer = try await left.status().peer
            let log = try #require(lines.all.first { $0.facts[.log] != nil && $0.facts[.peer] == peer.description })
            #expect(log.level == .trace && log.text.contains(log.facts[.log]!) && log.facts[.bytes].flatMap { Int($0) } ?? 0 > 0)
            let attached = try #require(lines.about("attached").first)
            #expect(attached.facts[.epoch] == "1")
            #expect(attached.facts[.peer] == (try await right.status().peer.description))
            for store in [left, right] { try await store.close() }
        }
    }

    @Test("a suspension, a damaged log and a failed exchange carry words that programs compare")
    func faults() async throws {
        try await withDevices(2) { devices, root in
            let lines = Lines()
            let isFull = Mutex(false)
            let files = HookedFileLayer { (operation, path, _) throws(Errno) in
                if operation == .writeNew, path.starts(with: root), isFull.withLock({ $0 }) { throw .noSpace }
            }
            let (left, right) = (try await devices[0].open(), try await Self.open(devices[1], lines, over: files))
            try await left.insert("a")
            try await left.settled()
            let peer = try await left.status().peer
            let directory = contentDirectory(root).appending(peer.description).appending("1")
            let log = try #require(try FileManager.default.contentsOfDirectory(atPath: directory.string).first { $0.hasSuffix(".ublog") })
            try Data("no log".utf8).write(to: URL(filePath: directory.appending(log).string))
            try await right.settled()
            let quarantined = try #require(lines.about("quarantined").first)
            #expect(quarantined.facts[.reason] == "damaged" && quarantined.facts[.log] == log && quarantined.facts[.peer] == peer.description)
            #expect(quarantined.level == .info && quarantined.text.contains(log))

            let container = try await devices[1].container().path
            let away = container.string + ".away"
            try FileManager.default.moveItem(atPath: container.string, toPath: away)
            await #expect(throws: UbiquitousStoreError.self) { try await right.settled() }
            #expect(lines.about("suspended").map { $0.facts[.reason] } == ["containerGone"])
            try FileManager.default.moveItem(atPath: away, toPath: container.string)
            try await right.settled()
            #expect(lines.about("resumed").count == 1)

            isFull.withLock { $0 = true }
            try await right.insert("b")
            for _ in 0..<2 { #expect(await !right.runner.exchangeInBackground()) }
            let failed = lines.about("exchangeFailed")
            let line = try #require(failed.first)
            #expect(failed.count == 1 && line.level == .error && line.facts[.error]?.contains("No space left") == true, "\(failed)")
            #expect(line.facts[.error].map { line.text.hasSuffix($0) } == true)
            for store in [left, right] { try await store.close() }
        }
    }
}
