import Foundation
import Logging
import Synchronization
import SystemPackage
import Testing
import ToolSupport
import UbiquityTesting
import Waiting

/// Entries for systemd's journal, as values and over a socket.
struct JournalTests {
    /// Reads the fields of an entry as the protocol defines them; nil for bytes that are none.
    private func fields(_ bytes: [UInt8]) -> [JournalEntry.Field]? {
        var (fields, rest) = ([JournalEntry.Field](), bytes[...])
        while !rest.isEmpty {
            guard let end = rest.firstIndex(where: { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: "\n") }) else { return nil }
            let (name, isBinary) = (String(decoding: rest[..<end], as: UTF8.self), rest[end] == UInt8(ascii: "\n"))
            rest = rest[(end + 1)...]
            var count = rest.firstIndex(of: UInt8(ascii: "\n")).map { $0 - rest.startIndex }
            if isBinary {
                guard rest.count >= 8 else { return nil }
                count = rest.prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) }
                rest = rest.dropFirst(8)
            }
            guard let count, rest.count > count, rest[rest.startIndex + count] == UInt8(ascii: "\n") else { return nil }
            fields.append(JournalEntry.Field(name: name, value: String(decoding: rest.prefix(count), as: UTF8.self)))
            rest = rest.dropFirst(count + 1)
        }
        return fields
    }

    @Test("A field's name has only what the journal takes; a plain name stays as it is")
    func names() {
        #expect(JournalEntry.fieldName("MESSAGE") == "MESSAGE")
        #expect(JournalEntry.fieldName("account", prefix: "UBIQUITY_") == "UBIQUITY_ACCOUNT")
        #expect(JournalEntry.fieldName("sl-signal", prefix: "UBIQUITY_") == "UBIQUITY_SL_SIGNAL")
        #expect(JournalEntry.fieldName("_PID") == "X_PID" && JournalEntry.fieldName("9") == "X9" && JournalEntry.fieldName("") == "X")
        #expect(JournalEntry.fieldName("é") == "X__")
    }

    @Test("Any fields, with line ends, equal signs and control characters in names and values, are read back by the protocol's rules")
    func encoding() throws {
        let letters = Array("abZ_09=\n\r\t\0 .-é🌍\u{2028}")
        for seed in 0..<500 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            func text(_ longest: Int) -> String {
                String((0..<Int.random(in: 0...longest, using: &random)).map { _ in letters.randomElement(using: &random)! })
            }
            var entry = JournalEntry()
            for _ in 0..<Int.random(in: 0...6, using: &random) {
                entry.add(text(100), text(300), prefix: Bool.random(using: &random) ? "UBIQUITY_" : "")
            }
            #expect(fields(entry.bytes) == entry.fields, "seed \(seed)")
            for field in entry.fields {
                #expect(try #/[A-Z][A-Z0-9_]{0,63}/#.wholeMatch(in: field.name) != nil, "seed \(seed): \(field.name)")
            }
        }
    }

    private func event(_ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata = [:]) -> LogEvent {
        LogEvent(level: level, message: "\(message)", metadata: metadata, source: nil, file: "Module/File.swift", function: "run()", line: 7)
    }

    @Test("A message reaches the journal with its severity, its program, its place, and a field for each fact")
    func message() async throws {
        let receiver = try DatagramReceiver()
        var log = JournalLog("ubtransfer", socket: JournalSocket(FilePath(receiver.address)))
        log[metadataKey: "account"] = "alice"
        log[metadataKey: "remote"] = "old:"
        log.log(event: event(.warning, "two\nlines", ["remote": "nextcloud:Ubiquity", "files": "\(3)"]))
        receiver.end()
        var entries: [[String: String]] = []
        for try await datagram in receiver.datagrams.limited() {
            let found = try #require(fields(datagram.bytes))
            entries.append(Dictionary(uniqueKeysWithValues: found.map { ($0.name, $0.value) }))
        }
        #expect(
            entries == [
                [
                    "MESSAGE": "two\nlines", "PRIORITY": "4", "SYSLOG_IDENTIFIER": "ubtransfer", "CODE_FILE": "Module/File.swift", "CODE_LINE": "7",
                    "CODE_FUNC": "run()", "UBIQUITY_ACCOUNT": "alice", "UBIQUITY_REMOTE": "nextcloud:Ubiquity", "UBIQUITY_FILES": "3",
                ]
            ])
    }

    @Test("A key of this package's own metadata names a field without its prefix")
    func ownKeys() {
        let entry = JournalLog("test").entry(event(.info, "", ["ubiquity.account": "alice", "other.account": "bob"]))
        let found = entry.fields.suffix(2).map { "\($0.name)=\($0.value)" }
        #expect(found == ["UBIQUITY_OTHER_ACCOUNT=bob", "UBIQUITY_ACCOUNT=alice"])
    }

    @Test("Each level of swift-log has a priority of syslog")
    func priorities() {
        let found = Logger.Level.allCases.map { level in
            JournalLog("test").entry(event(level, "")).fields.first { $0.name == "PRIORITY" }?.value
        }
        #expect(Logger.Level.allCases == [.trace, .debug, .info, .notice, .warning, .error, .critical])
        #expect(found == ["7", "7", "6", "5", "4", "3", "2"])
    }

    @Test("An entry that no datagram holds arrives whole, as a sealed file in memory")
    func large() async throws {
        let receiver = try DatagramReceiver()
        let message = String(repeating: "0123456789abcdef", count: 1 << 18)
        JournalLog("test", socket: JournalSocket(FilePath(receiver.address)), spare: { Issue.record("\($0.prefix(100))") })
            .log(event: event(.info, message))
        receiver.end()
        var datagrams: [DatagramReceiver.Datagram] = []
        for try await datagram in receiver.datagrams.limited() { datagrams.append(datagram) }
        // F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW and F_SEAL_WRITE: the journal takes no other file.
        #expect(datagrams.map(\.seals) == [15])
        #expect(fields(try #require(datagrams.first).bytes)?.first == JournalEntry.Field(name: "MESSAGE", value: message))
    }

    @Test("A message that the journal does not take is written as a line, with its priority and its facts")
    func spare() {
        let lines = Mutex<[String]>([])
        let log = JournalLog("test", socket: JournalSocket("/tmp/ubiquity-no-journal"), spare: { line in lines.withLock { $0.append(line) } })
        log.log(event: event(.error, "a\nb", ["account": "alice"]))
        #expect(lines.withLock { $0 } == ["<3>a\\u{a}b account=alice\n"])
    }

    @Test("Only a descriptor whose device and file number JOURNAL_STREAM names leads to the journal")
    func stream() throws {
        let file = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-stream-\(UUID().uuidString)")
        let descriptor = try FileDescriptor.open(file, .writeOnly, options: [.create, .closeOnExec], permissions: .ownerReadWrite)
        defer {
            try? descriptor.close()
            try? FileManager.default.removeItem(atPath: file.string)
        }
        let facts = try FileManager.default.attributesOfItem(atPath: file.string)
        let (device, number) = (try #require(facts[.systemNumber] as? Int), try #require(facts[.systemFileNumber] as? Int))
        #expect(JournalSocket.isStream("\(device):\(number)", descriptor: descriptor.rawValue))
        for other in [nil, "", "\(device)", "\(device):\(number + 1)", "\(device + 1):\(number)"] {
            #expect(!JournalSocket.isStream(other, descriptor: descriptor.rawValue))
        }
    }
}
