import Foundation
import GRDB
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityStores
import UbiquityTesting

/// The power fails: what was not synced is gone, or there in part.
@Suite(.serialized)
struct PowerLossTests {
    /// A device on a disk that loses power, and one that does not and hears of everything at once.
    private struct Scene {
        let disk: PowerLossDisk
        let desk: SimulatedDevice
        let phone: SimulatedDevice
        /// Where each save's publication had ended: the rows must be there for every cut from then on.
        var published: [(event: Int, id: String)] = []

        init(_ directory: FilePath) throws {
            desk = try SimulatedDevice("desk", in: directory)
            phone = try SimulatedDevice("phone", in: directory)
            disk = PowerLossDisk(root: desk.directory)
            PowerLossVFS.install()
            PowerLossVFS.disks.withLock { $0.append(disk) }
        }

        func openDesk() async throws -> UbiquitousStore {
            let container = try await UbiquityContainer("org.example.simulated", home: desk.home, files: PowerLossFileLayer(disk))
            return try await UbiquitousStore.open(
                at: desk.directory.appending("app/Store.sqlite"), options: .init(contentName: "Store", exchangesAutomatically: false),
                in: container, schema: personSchema, now: { [clock = desk.clock] in clock.now })
        }

        /// Opens, saves, publishes, imports, and lets SQLite move its log into the database; records all of it.
        mutating func record() async throws {
            // The device is attached; all that is about the store comes after.
            _ = try await desk.container()
            let other = try await phone.openStore(schema: personSchema)
            try await other.execute("INSERT INTO person (id, first) VALUES ('phone', 'P')")
            try await other.settled()
            try await other.close()
            try disk.start()
            var store = try await openDesk()
            for number in 0..<2 {
                try await store.execute("INSERT INTO person (id, first) VALUES ('s\(number)', 'x')")
                try await store.publish()
                published.append((disk.count, "s\(number)"))
            }
            // What the synchroniser brings is not synced either: it may be gone after the cut, and comes again.
            try carry(phone.root, to: desk.root)
            try await store.settled()
            try await store.execute("UPDATE person SET last = 'L' WHERE id = 'phone'; INSERT INTO person (id) VALUES ('gone')")
            try await store.settled()
            // A save that is published after the log has been moved into the database, and begun anew.
            try await store.execute("INSERT INTO person (id) VALUES ('moved')")
            try await store.writeWithoutTransaction { db in _ = try db.checkpoint(.passive) }
            try await store.execute("INSERT INTO person (id, email) VALUES ('after', zeroblob(20000))")
            try await store.publish()
            published.append((disk.count, "after"))
            published.append((disk.count, "moved"))
            try await store.close()
            store = try await openDesk()
            try await store.execute("DELETE FROM person WHERE id = 'gone'; INSERT INTO person (id) VALUES ('again')")
            try await store.publish()
            published.append((disk.count, "again"))
            try await store.close()
            disk.stop()
        }

        /// Brings back a moment, and looks at what must hold then.
        func check(before event: Int, leaving remainder: PowerLossDisk.Remainder) async throws {
            do {
                try await converge(before: event, leaving: remainder)
            } catch {
                Issue.record("\(error): the power fails before event \(event), \(disk.event(event)), leaving \(remainder)")
            }
        }

        private func converge(before event: Int, leaving remainder: PowerLossDisk.Remainder) async throws {
            let moment: Comment = "the power fails before event \(event), \(disk.event(event)), leaving \(remainder)"
            try disk.image(before: event, leaving: .everything).restore(at: desk.directory.string)
            // The synchroniser is quick: the other device has whatever a program could see.
            try carry(desk.root, to: phone.root)
            try disk.image(before: event, leaving: remainder).restore(at: desk.directory.string)
            let store = try await desk.openStore(schema: personSchema)
            let other = try await phone.openStore(schema: personSchema)
            do {
                try await look(at: store, other, before: event, moment)
            } catch {
                Issue.record("\(error): \(moment)")
            }
            for each in [store, other] { try await each.close() }
        }

        private func look(at store: UbiquitousStore, _ other: UbiquitousStore, before event: Int, _ moment: Comment) async throws {
            let ids = try await store.read { db in try String.fetchAll(db, sql: "SELECT id FROM person") }
            for (published, id) in published where published <= event { #expect(ids.contains(id), "\(id) is lost: \(moment)") }
            try await store.settled()
            let peer = try await desk.container().peer
            #expect(try await store.status().peer == peer, "a log outlived its save: \(moment)")
            for _ in 0..<2 {
                try carry(desk.root, to: phone.root)
                try await other.settled()
                try carry(phone.root, to: desk.root)
                try await store.settled()
            }
            #expect(try await store.rows() == other.rows(), moment)
            for each in [store, other] {
                let status = try await each.status()
                #expect(status.waiting.isEmpty && status.quarantined.isEmpty && status.unpublished == 0, "\(status): \(moment)")
            }
        }

        /// Copies what one device's root has and the other's has not.
        private func carry(_ source: FilePath, to target: FilePath) throws {
            for path in try FileManager.default.subpathsOfDirectory(atPath: source.string) where !path.contains(".nosync") {
                let (from, to) = ("\(source)/\(path)", "\(target)/\(path)")
                var isDirectory: ObjCBool = false
                guard FileManager.default.fileExists(atPath: from, isDirectory: &isDirectory), !FileManager.default.fileExists(atPath: to) else {
                    continue
                }
                if isDirectory.boolValue {
                    try FileManager.default.createDirectory(atPath: to, withIntermediateDirectories: true)
                } else {
                    try FileManager.default.copyItem(atPath: from, toPath: to)
                }
            }
        }
    }

    @Test("S-141: when the power fails no log outlives its save, nothing published is lost, the store opens, and devices converge")
    func everyMoment() async throws {
        try await withTemporaryDirectory { directory in
            var scene = try Scene(directory)
            defer { PowerLossVFS.disks.withLock { $0.removeAll { $0 === scene.disk } } }
            try await scene.record()
            #expect(scene.disk.count > 100)
            let phone = try Image(reading: scene.phone.directory.string)
            for event in scene.disk.turningPoints {
                try phone.restore(at: scene.phone.directory.string)
                try await scene.check(before: event, leaving: .nothing)
            }
            for event in stride(from: 0, through: scene.disk.count, by: 24) {
                try phone.restore(at: scene.phone.directory.string)
                try await scene.check(before: event, leaving: .some(seed: UInt64(event)))
            }
        }
    }

    /// The ways in which GRDB lets an app write.
    enum Way: CaseIterable, Sendable {
        case write, withoutTransaction, waiting, barrier, later, barrierLater, reentrant

        func run(_ store: UbiquitousStore, _ body: @escaping @Sendable (Database) -> Void) async throws {
            switch self {
            case .write: try await store.write(body)
            case .withoutTransaction: try await store.writeWithoutTransaction(body)
            case .waiting: Self.wait { try? store.barrierWriteWithoutTransaction(body) }
            case .barrier: try await store.barrierWriteWithoutTransaction(body)
            case .later:
                await withCheckedContinuation { done in
                    store.asyncWriteWithoutTransaction { db in
                        body(db)
                        done.resume()
                    }
                }
            case .barrierLater:
                await withCheckedContinuation { done in
                    store.asyncBarrierWriteWithoutTransaction { db in
                        if case .success(let db) = db { body(db) }
                        done.resume()
                    }
                }
            case .reentrant: Self.wait { store.unsafeReentrantWrite(body) }
            }
        }

        private static func wait(_ body: () -> Void) { body() }
    }

    @Test(
        "S-141: an app's pragmas cannot make its saves less durable",
        arguments: ["synchronous = OFF", "main.synchronous(0)", "journal_mode = DELETE"],
        Way.allCases)
    func pragmas(pragma: String, way: Way) async throws {
        try await withTemporaryDirectory { directory in
            for mode in [JournalMode.wal, .delete] {
                let device = try SimulatedDevice("desk-\(mode)", in: directory)
                var options = UbiquitousStore.Options(contentName: "Store", exchangesAutomatically: false)
                options.advanced.journalMode = mode
                let container = try await UbiquityContainer("org.example.simulated", home: device.home)
                let store = try await UbiquitousStore.open(
                    at: device.directory.appending("Store.sqlite"), options: options, in: container, schema: personSchema)
                func levels() async throws -> [String?] {
                    try await store.write { db in
                        [try String.fetchOne(db, sql: "PRAGMA synchronous"), try String.fetchOne(db, sql: "PRAGMA journal_mode")]
                    }
                }
                let before = try await levels()
                #expect(before == (mode == .wal ? ["1", "wal"] : ["3", "delete"]))
                // With a rollback journal the other mode is one that keeps it in memory.
                let text = mode == .delete ? pragma.replacingOccurrences(of: "DELETE", with: "MEMORY") : pragma
                try await way.run(store) { db in try? db.execute(sql: "PRAGMA \(text)") }
                #expect(try await levels() == before)
                // More durable it may be.
                try await store.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA synchronous = EXTRA") }
                #expect(try await levels().first == "3")
                try await store.close()
            }
        }
    }

    @Test(
        "S-141: SQLite syncs a store's files as often, whatever level an app asks for between its saves",
        arguments: ["PRAGMA synchronous = OFF", "pragma /* of the app */ main.synchronous(0)", "prepared"])
    func syncs(pragma: String) async throws {
        try await withTemporaryDirectory { directory in
            func syncs(lowering: Bool) async throws -> [String: Int] {
                let scene = try Scene(directory.appending(lowering ? "lowering" : "plain"))
                defer { PowerLossVFS.disks.withLock { $0.removeAll { $0 === scene.disk } } }
                _ = try await scene.desk.container()
                // Before the files are opened, which are numbered then.
                try scene.disk.start()
                let store = try await scene.openDesk()
                try await store.writeWithoutTransaction { db in
                    for number in 0..<3 {
                        if lowering, pragma == "prepared" {
                            // SQLite sets the level while it prepares the statement, which need not run.
                            _ = try db.makeStatement(sql: "PRAGMA synchronous = OFF")
                        } else if lowering {
                            try db.execute(sql: pragma)
                        }
                        try db.execute(sql: "INSERT INTO person (id) VALUES (?)", arguments: ["\(number)"])
                        _ = try db.checkpoint(.truncate)
                    }
                }
                scene.disk.stop()
                try await store.close()
                return scene.disk.syncs(of: ["Store.sqlite", "Store.sqlite-wal"])
            }
            let plain = try await syncs(lowering: false)
            #expect(plain.count == 2 && plain.values.allSatisfy { $0 >= 3 }, "\(plain)")
            #expect(try await syncs(lowering: true) == plain)
        }
    }
}
