import Foundation
import GRDB
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityStores
import UbiquityTesting
import Waiting

/// Devices whose files are really carried to and fro.
struct SimulatedDevicesTests {
    /// Each file below a device's containers root with its text.
    private func files(_ device: SimulatedDevice) throws -> [String: String] {
        var found: [String: String] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: device.root.string) {
            guard let data = FileManager.default.contents(atPath: device.root.pushing(FilePath(path)).string) else { continue }
            found[path] = String(decoding: data, as: UTF8.self)
        }
        return found
    }

    private func write(_ text: String, _ path: String, _ device: SimulatedDevice) throws {
        let file = device.root.pushing(FilePath(path))
        try FileManager.default.createDirectory(atPath: file.removingLastComponent().string, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(filePath: file.string))
    }

    private func remove(_ path: String, _ device: SimulatedDevice) throws {
        try FileManager.default.removeItem(atPath: device.root.pushing(FilePath(path)).string)
    }

    @Test("Files, edits and deletions go to all devices, directories with them; afterwards there is nothing left to carry")
    func carries() async throws {
        try await withSimulatedDevices { devices in
            let mac = try await devices.add("mac"), phone = try await devices.add("phone"), pad = try await devices.add("pad")
            try write("one", "alice/c/Documents/a/1.txt", mac)
            try write("two", "alice/c/2.txt", phone)
            try write("no", "alice/c/own.nosync/3.txt", mac)
            #expect(try await devices.sync() == 4)
            let both = ["alice/c/Documents/a/1.txt": "one", "alice/c/2.txt": "two"]
            #expect(try files(phone) == both && files(pad) == both)
            // Of the same size, one right after the other.
            for text in ["eno", "neo"] {
                try write(text, "alice/c/2.txt", pad)
                #expect(try await devices.sync() == 2)
                #expect(try files(mac)["alice/c/2.txt"] == text && files(phone)["alice/c/2.txt"] == text)
            }
            try remove("alice/c/Documents", phone)
            #expect(try await devices.sync() == 2)
            #expect(try files(pad) == ["alice/c/2.txt": "neo"])
            #expect(!FileManager.default.fileExists(atPath: pad.root.pushing("alice/c/Documents").string))
            #expect(try files(mac).keys.sorted() == ["alice/c/2.txt", "alice/c/own.nosync/3.txt"])
            #expect(try await devices.sync() == 0)
        }
    }

    @Test("Edits apart from each other: the later stays on both, the earlier becomes a conflict copy by the loser's clock; an edit beats a deletion")
    func conflicts() async throws {
        try await withSimulatedDevices { devices in
            let mac = try await devices.add("mac"), phone = try await devices.add("phone")
            for name in ["letter.txt", "list"] { try write("old", "alice/c/\(name)", mac) }
            try await devices.sync()
            await devices.pause(phone)
            try write("early", "alice/c/letter.txt", phone)
            try remove("alice/c/list", phone)
            try write("late", "alice/c/letter.txt", mac)
            try write("new", "alice/c/list", mac)
            let letter = mac.root.pushing("alice/c/letter.txt").string
            try FileManager.default.setAttributes([.modificationDate: Date() + 5], ofItemAtPath: letter)
            #expect(try await devices.sync() == 0)
            #expect(try files(phone) == ["alice/c/letter.txt": "early"])
            await devices.resume(phone)
            try await devices.sync()
            let expected = [
                "alice/c/letter.txt": "late", "alice/c/list": "new", "alice/c/letter.sync-conflict-20270115-080000-PHONEAA.txt": "early",
            ]
            #expect(try files(mac) == expected)
            #expect(try files(phone) == expected)
        }
    }

    @Test("A part of what waits is delivered, in an order that the seed decides and repeats")
    func parts() async throws {
        func first(_ seed: UInt64) async throws -> [String] {
            try await withSimulatedDevices(seed: seed) { devices in
                let mac = try await devices.add("mac"), phone = try await devices.add("phone")
                for number in 0..<20 { try write("x", "alice/c/\(number)", mac) }
                var order: [String] = []
                for _ in 0..<20 {
                    #expect(try await devices.deliver(1) == 1)
                    order += try files(phone).keys.filter { !order.contains($0) }
                }
                #expect(try await devices.deliver(1) == 0)
                return order
            }
        }
        let order = try await first(1)
        #expect(order.count == 20)
        #expect(try await first(1) == order)
        #expect(try await first(2) != order)
    }

    @Test("An account's files reach the devices that it has been signed in to, and no other; a root that is gone empties nobody")
    func accounts() async throws {
        try await withSimulatedDevices { devices in
            let mac = try await devices.add("mac"), guest = try await devices.add("guest", account: "bob")
            try write("a", "alice/c/1", mac)
            try write("b", "bob/c/1", guest)
            #expect(try await devices.sync() == 0)
            try guest.signIn("alice")
            try guest.signOut()
            #expect(try await devices.sync() == 1)
            #expect(try files(guest) == ["alice/c/1": "a", "bob/c/1": "b"])
            try FileManager.default.moveItem(atPath: mac.root.string, toPath: mac.root.string + "-away")
            #expect(try await devices.sync() == 0)
            #expect(try files(guest).count == 2)
            try FileManager.default.moveItem(atPath: mac.root.string + "-away", toPath: mac.root.string)
            try mac.deleteContainer("org.example.notes")
            try remove("alice", mac)
            #expect(try await devices.sync() == 1)
            #expect(try files(guest) == ["bob/c/1": "b"])
        }
    }

    @Test("What is done while files are carried as they change arrives; a device that is offline gets it when it is back")
    func runs() async throws {
        try await withSimulatedDevices { devices in
            let mac = try await devices.add("mac"), phone = try await devices.add("phone")
            let desk = try await mac.openStore(schema: noteSchema, exchangesAutomatically: true)
            let pocket = try await phone.openStore(schema: noteSchema, exchangesAutomatically: true)
            let carrying = Task { try await devices.run() }
            try await desk.insert("a")
            try await pocket.untilNotes(are: ["a"])
            await devices.pause(phone)
            try await desk.insert("b")
            try await pocket.insert("c")
            let tablet = try await devices.add("tablet")
            let lap = try await tablet.openStore(schema: noteSchema, exchangesAutomatically: true)
            try await lap.untilNotes(are: ["a", "b"])
            #expect(try await pocket.notes() == ["a", "c"])
            await devices.resume(phone)
            for store in [desk, pocket, lap] { try await store.untilNotes(are: ["a", "b", "c"]) }
            carrying.cancel()
            try await carrying.value
            for store in [desk, pocket, lap] { try await store.close() }
        }
    }

    @Test("A clone has all that was there, and both go on as two")
    func clone() async throws {
        try await withSimulatedDevices { devices in
            let mac = try await devices.add("mac")
            let first = try await mac.openStore(schema: noteSchema)
            try await first.insert("a")
            try await first.settled()
            try await first.close()
            let copy = try await devices.clone(mac, as: "copy")
            let (one, other) = try await (mac.openStore(schema: noteSchema), copy.openStore(schema: noteSchema))
            try await one.insert("b")
            try await other.insert("c")
            try await devices.settle(one, other)
            #expect(try await one.notes() == ["a", "b", "c"])
            #expect(try await other.notes() == ["a", "b", "c"])
            await #expect(throws: ContainerError.self) { try await devices.add("copy") }
        }
    }

    @Test(
        "A log that is damaged on one device is carried so, quarantined where it arrives, and named",
        arguments: [SimulatedDevice.Damage.truncated(to: 10), .corrupted])
    func damage(_ damage: SimulatedDevice.Damage) async throws {
        try await withSimulatedDevices { devices in
            let mac = try await devices.add("mac"), phone = try await devices.add("phone")
            let (desk, pocket) = try await (mac.openStore(schema: noteSchema), phone.openStore(schema: noteSchema))
            try await devices.settle(desk, pocket)
            try await desk.insert("a")
            try await desk.settled()
            let log = try #require(try mac.logs().first)
            try mac.damage(log, damage)
            try await devices.sync()
            // What may still be arriving is waited for.
            try await pocket.settled()
            phone.clock.advance(by: 61)
            try await pocket.settled()
            #expect(try await pocket.status().quarantined.map(\.file) == [log.lastComponent!.string])
            #expect(try await pocket.notes() == [])
        }
    }

    @Test("A container that is moved away, a store's content that is deleted and a backup that is put back are told for what they are")
    func mishaps() async throws {
        try await withSimulatedDevices { devices in
            let mac = try await devices.add("mac")
            let store = try await mac.openStore(schema: noteSchema)
            try await store.insert("a")
            try await store.settled()
            let copy = try mac.copyContainer()
            func suspension() async throws -> ContainerAttachment.Reason? {
                try? await store.settled()
                return try await store.status().suspended
            }
            #expect(try await suspension() == nil)
            let aside = try mac.moveContainerAway()
            #expect(try await suspension() == .containerGone)
            try mac.putBack(aside)
            #expect(try await suspension() == nil)
            try mac.deleteStoreContent("Store")
            #expect(try await suspension() == .contentGone)
            try mac.deleteContainer()
            #expect(try await suspension() == .containerGone)
            try mac.putBack(copy)
            #expect(try await suspension() == nil)
            #expect(try await store.notes() == ["a"])
        }
    }

    @Test("A backup is put back though a synchroniser makes the container's directory again in the same moment")
    func putBackBesideAMaker() async throws {
        try await withSimulatedDevices { devices in
            let mac = try await devices.add("mac")
            let path = try mac.containerPath()
            try FileManager.default.createDirectory(atPath: path.appending("Documents").string, withIntermediateDirectories: true)
            let isDone = Atomic(false)
            let maker = Thread {
                while !isDone.load(ordering: .relaxed) {
                    mkdir(path.string, 0o777)
                    close(open(path.appending("again").string, O_CREAT | O_WRONLY, 0o666))
                }
            }
            maker.start()
            defer { isDone.store(true, ordering: .relaxed) }
            for _ in 0..<300 {
                let copy = try mac.copyContainer()
                try Data().write(to: URL(filePath: copy.appending("mark").string))
                try mac.putBack(copy)
                #expect(FileManager.default.fileExists(atPath: path.appending("mark").string))
                try FileManager.default.removeItem(atPath: path.appending("mark").string)
            }
        }
    }
}

private let noteSchema: SyncedSchema = {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("v1") { db in try db.execute(sql: "CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY)") }
    return SyncedSchema(migrator: migrator) { SyncedTable("note") }
}()

extension UbiquitousStore {
    fileprivate func insert(_ key: String) async throws {
        try await write { db in try db.execute(sql: "INSERT INTO note VALUES (?)", arguments: [key]) }
    }

    fileprivate func notes() async throws -> [String] { try await read { db in try String.fetchAll(db, sql: "SELECT id FROM note ORDER BY id") } }

    /// Returns once these are the notes.
    fileprivate func untilNotes(are keys: [String]) async throws {
        let observation = ValueObservation.tracking { db in try String.fetchAll(db, sql: "SELECT id FROM note ORDER BY id") }
        for try await notes in observation.values(in: self).limited("\(keys)") where notes == keys { return }
    }
}
