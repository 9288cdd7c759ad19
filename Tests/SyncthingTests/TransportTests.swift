import Foundation
import GRDB
import SyncthingStatus
import SystemPackage
import Testing
import ToolProcesses
import UbiquityContainers
import UbiquityStores
import Waiting

/// What two real Syncthings say of stores and items.
@Suite(.asking, .timeLimit(.minutes(40)))
struct TransportTests {
    /// A store with one table, in the member's container.
    private func store(of member: Member) async throws -> UbiquitousStore {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.execute(sql: "CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL DEFAULT '')")
        }
        var options = UbiquitousStore.Options(contentName: "Plain")
        options.transport = { try? SyncthingTransport(configuredFor: $0) }
        return try await UbiquitousStore.open(
            at: member.home.appending("Plain.sqlite"), options: options,
            in: try await UbiquityContainer("org.example.notes", home: DeviceHome(member.home)),
            schema: SyncedSchema(migrator: migrator) { SyncedTable("note") })
    }

    private func insert(_ count: Int, _ prefix: String, into store: UbiquitousStore) async throws {
        for index in 0..<count {
            try await store.write { db in try db.execute(sql: "INSERT INTO note (id) VALUES (?)", arguments: ["\(prefix)\(index)"]) }
        }
    }

    private func count(_ store: UbiquitousStore) async throws -> Int {
        try await store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM note")! }
    }

    /// The part of `ubwatch status --json` that a test reads.
    private struct Watched: Decodable {
        struct LocalStore: Decodable {
            struct File: Decodable {
                struct Delivery: Decodable {
                    var waitingLogs: Int
                    var waitingBytes: Int64
                }
                var delivery: Delivery?
                var isInUse: Bool
            }
            var content: String
            var files: [File]
        }
        var state: String
        var reasons: [String]
        var localStores: [LocalStore]

        var delivery: LocalStore.File.Delivery? {
            localStores.first { $0.content == "Plain" }?.files.first(where: \.isInUse)?.delivery
        }
    }

    private func watched(_ member: Member) async throws -> Watched {
        let outcome = try await member.tool("ubwatch", "status", "--json", member.container.string)
        return try JSONDecoder().decode(Watched.self, from: Data(outcome.output.utf8))
    }

    @Test(
        "T-01, F-12: what has not left is counted by StoreStatus, ubwatch and the doctor alike, whichever Syncthing is away, and all becomes current again"
    )
    func delivery() async throws {
        try await SyncthingPair.with { pair in
            let both = try await pair.members()
            let (a, b) = (both.a, both.b)
            for member in [a, b] { try member.configure() }
            let (first, second) = (try await store(of: a), try await store(of: b))
            try await insert(1, "before", into: first)
            try await until("it has arrived", limit: patience) { try await count(second) == 1 }
            try await until("it is known to have left", limit: patience) { try await first.status().delivery?.hasLeft == true }
            try await until("the other store's receipt says so", limit: patience) {
                try await first.status().delivery?.readers.first?.behind == 0
            }

            // The other device's Syncthing stops.
            try await b.device.shutDown()
            try await until("the other device is away", limit: patience) { try await first.status().delivery?.obstacle != nil }
            try await insert(100, "away", into: first)
            try await first.publish()
            let away = try #require(try await first.status().delivery)
            #expect(away.waitingLogs + away.unpublished == 100 && away.waitingBytes > 0 && away.isCertain, "\(away)")
            #expect(away.obstacle?.contains("no other device is connected") == true, "\(away)")
            let seen = try await watched(a)
            #expect(seen.state == "waitingForNetwork" && seen.delivery?.waitingLogs == 100, "\(seen)")
            #expect(seen.delivery?.waitingBytes == away.waitingBytes)
            let doctor = try await Tool.run("ubcontrol", ["doctor", "--home", a.home.string])
            #expect(doctor.output.contains("100 logs, "), "\(doctor.output)")

            // This device's own Syncthing stops too.
            try await a.device.shutDown()
            let alone = try #require(try await first.status().delivery)
            #expect(alone.waitingLogs == 100 && !alone.isCertain && alone.obstacle?.contains("does not answer") == true, "\(alone)")
            let unseen = try await watched(a)
            #expect(unseen.state == "waitingForNetwork" && unseen.delivery?.waitingLogs == 100, "\(unseen)")
            let fault = try await Tool.run("ubcontrol", ["doctor", "--home", a.home.string])
            #expect(fault.status == 1 && fault.output.contains("Syncthing does not answer") && fault.output.contains("100 logs, "), "\(fault.output)")

            var again: [RunningTool] = []
            for device in [a.device, b.device] {
                again.append(
                    try await RunningTool(
                        "/usr/bin/syncthing", ["serve", "--home=\(device.home)", "--no-browser", "--no-restart", "--no-upgrade"]))
            }
            let result = await Result { try await self.becomesCurrent(first, second, a) }
            for tool in again { try await tool.stop() }
            try result.get()
            for store in [first, second] { try await store.close() }
        }
    }

    private func becomesCurrent(_ first: UbiquitousStore, _ second: UbiquitousStore, _ a: Member) async throws {
        try await until("all has arrived", limit: patience) { try await count(second) == 101 }
        try await until("all is known to have left", limit: patience) { try await first.status().delivery?.hasLeft == true }
        try await until("ubwatch says so", limit: patience) { try await watched(a).state == "idle" }
    }

    @Test("T-02: after a publication Syncthing scans that directory at once, although its own look is an hour away")
    func scan() async throws {
        try await SyncthingPair.with { pair in
            let both = try await pair.members()
            for member in [both.a, both.b] {
                try member.configure()
                try await member.device.patch("config/folders/ubiquity", #"{"fsWatcherEnabled": false, "rescanIntervalS": 3600}"#)
            }
            let (first, second) = (try await store(of: both.a), try await store(of: both.b))
            try await insert(1, "one", into: first)
            try await until("it has arrived", limit: patience) { try await count(second) == 1 }
            try await insert(1, "two", into: second)
            try await until("the answer has arrived", limit: patience) { try await count(first) == 2 }
            for store in [first, second] { try await store.close() }
        }
    }

    @Test("T-03, S-135, S-130: what only the other device has is listed with its size, by the listing and by a copy, before it is here")
    func elsewhere() async throws {
        try await SyncthingPair.with { pair in
            let both = try await pair.members()
            let (a, b) = (both.a, both.b)
            for member in [a, b] { try member.configure() }
            try await a.add("Milk")
            try await until("the container has arrived", limit: patience) { FileManager.default.fileExists(atPath: b.container.string) }
            // It knows the item, and gets nothing of it.
            try await b.device.patch("config/options", #"{"maxRecvKbps": 1, "limitBandwidthInLan": true}"#)
            try a.write((0..<100_000).map { _ in String(UInt64.random(in: 0 ... .max), radix: 36) }.joined(), to: "Documents/Film.bin")
            let film = b.container.appending("Documents/Film.bin")
            let size = try #require(try await a.source.state(of: a.container.appending("Documents/Film.bin")).size)
            let transport = try b.source
            try await until("the film is known", limit: patience) { try await transport.elsewhere(below: b.container)[film] != nil }
            let state = try #require(try await transport.elsewhere(below: b.container)[film])
            #expect([.notDownloaded, .downloading].contains(state.status) && state.size == size, "\(state)")
            let listed = try await b.tool("ubwatch", "items", b.container.string).output
            #expect(listed.split(separator: "\n").contains { $0.contains("Documents/Film.bin") && $0.contains("MB") }, "\(listed)")
            let copy = try await b.tool("ubcontrol", "container", "copy", "org.example.notes", "--to", b.home.appending("copy").string).output
            #expect(copy.contains("left out: Documents/Film.bin: it is on another device"), "\(copy)")
            try await b.device.patch("config/options", #"{"maxRecvKbps": 0, "limitBandwidthInLan": false}"#)
            try await until("the film is here", limit: patience) { try await b.status("Documents/Film.bin") == .current }
            #expect(try await transport.elsewhere(below: b.container).isEmpty)
        }
    }

    @Test("T-04, S-129: a large document shows progress that grows, on both sides")
    func progress() async throws {
        try await SyncthingPair.with { pair in
            let both = try await pair.members()
            let (a, b) = (both.a, both.b)
            try await a.add("Milk")
            try await until("the container has arrived", limit: patience) { FileManager.default.fileExists(atPath: b.container.string) }
            for device in [a.device, b.device] { try await device.patch("config/options", #"{"progressUpdateIntervalS": 1}"#) }
            // Slow until both sides have seen progress, on however slow a machine; loopback counts as the local network.
            try await b.device.patch("config/options", #"{"maxRecvKbps": 2000, "limitBandwidthInLan": true}"#)
            let readers = try [a, b].map { member -> Task<[TransferProgress], any Error> in
                let (source, film) = (try member.source, member.container.appending("Documents/Film.bin"))
                return Task {
                    var seen: [TransferProgress] = []
                    for await change in source.changes() where change == .item(film) || change == .below(member.container) {
                        let state = try await source.state(of: film)
                        if let progress = state.progress, progress.done != seen.last?.done { seen.append(progress) }
                        if let first = seen.first, let last = seen.last, last.done > first.done, last.rate ?? 0 > 0 { break }
                    }
                    return seen
                }
            }
            try a.write(count: 200 << 20, to: "Documents/Film.bin")
            for reader in readers {
                let seen = try await within("progress of the film that grows", limit: patience) { try await reader.value }
                #expect(seen.allSatisfy { $0.total == 200 << 20 && $0.done <= $0.total }, "\(seen)")
            }
            try await b.device.patch("config/options", #"{"maxRecvKbps": 0, "limitBandwidthInLan": false}"#)
            let (receiver, film) = (try b.source, b.container.appending("Documents/Film.bin"))
            try await until("the film has gone over", limit: patience) { try await receiver.state(of: film).status == .current }
        }
    }
}

extension Member {
    /// Puts the address and key of this device's Syncthing into the home's configuration.
    func configure() throws {
        let json = #"{"format": 1, "syncthing": {"address": "\#(device.address)", "key": "\#(device.key)"}}"#
        let file = home.appending("config.json").string
        try Data(json.utf8).write(to: URL(filePath: file))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    }

    /// Writes a file that no compression makes smaller.
    func write(count: Int, to path: String) throws {
        let block = Data((0..<(1 << 20)).map { _ in UInt8.random(in: 0 ... .max) })
        let file = URL(filePath: container.appending(path).string)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        // Beside the folder, so that it is scanned as a whole.
        let draft = URL(filePath: container.appending("Draft.nosync").string)
        #expect(FileManager.default.createFile(atPath: draft.path, contents: nil))
        let handle = try FileHandle(forWritingTo: draft)
        for index in 0..<(count >> 20) {
            var block = block
            block[0] = UInt8(truncatingIfNeeded: index)
            try handle.write(contentsOf: block)
        }
        try handle.close()
        try FileManager.default.moveItem(at: draft, to: file)
    }
}
