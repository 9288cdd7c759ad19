import Foundation
import GRDB
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import Waiting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreInspection
@testable import StoreRecords
@testable import UbiquityStores

/// Backups of a store's file, and what putting one back comes to.
struct StoreBackupTests {
    private func insert(_ keys: [String], _ store: UbiquitousStore) async throws {
        for key in keys { try await store.execute("INSERT INTO person (id, first) VALUES (?, ?)", [key, key.uppercased()]) }
    }

    /// The backup, and what is left of its making.
    private func names(in directory: FilePath) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.string).filter { $0.hasPrefix("Backup") }
    }

    /// Puts a backup in the place of a store's file, as the documentation says.
    private func put(_ backup: FilePath, over file: FilePath) throws {
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file.string + suffix) }
        try FileManager.default.copyItem(atPath: backup.string, toPath: file.string)
    }

    @Test("a backup that is put back takes a new identifier: what was published after it, and what is saved from then on, is on all devices")
    func restored() async throws {
        try await withDevices(2) { devices, _ in
            var left = try await devices[0].open()
            let right = try await devices[1].open()
            try await insert(["before"], left)
            try await settle(left, right)
            let backup = devices[0].directory.appending("Backup.sqlite")
            let written = try await left.backup(to: backup)
            #expect(try Int(written.bytes) == Data(contentsOf: URL(filePath: backup.string)).count)
            try await insert(["later"], left)
            try await left.execute("UPDATE person SET last = 'edited' WHERE id = 'before'")
            try await settle(left, right)
            let old = try await left.status().peer
            let file = left.file
            try await left.close()

            try put(backup, over: file)
            left = try await devices[0].open()
            #expect(try await left.rows("SELECT id FROM person") == [["before"]])
            try await insert(["afterwards"], left)
            try await settle(left, right)
            #expect(try await left.status().peer != old)
            for store in [left, right] {
                #expect(
                    try await store.rows("SELECT id, last FROM person ORDER BY id") == [
                        ["afterwards", "NULL"], ["before", "edited"], ["later", "NULL"],
                    ])
                let status = try await store.status()
                #expect(status.waiting.isEmpty && status.quarantined.isEmpty && status.unpublished == 0)
                #expect(try InspectedStore(store.file, readOnly: true).check(container: nil).problems.isEmpty)
            }
        }
    }

    @Test("a backup keeps what had not been published: once it is put back, that goes out, and what others have published since comes in")
    func unpublished() async throws {
        try await withDevices(2) { devices, _ in
            var left = try await devices[0].open()
            let right = try await devices[1].open()
            try await insert(["before"], left)
            try await settle(left, right)
            try await insert(["sealed"], left)
            let backup = devices[0].directory.appending("Backup.sqlite")
            try await left.backup(to: backup)
            let file = left.file
            // The device is lost; only another goes on, and this one's receipts too.
            try await insert(["right"], right)
            try await right.settled()
            try await left.close()
            try put(backup, over: file)
            left = try await devices[0].open()
            try await settle(left, right)
            for store in [left, right] { #expect(try await store.rows("SELECT id FROM person ORDER BY id") == [["before"], ["right"], ["sealed"]]) }
        }
    }

    @Test("a store that has only read since the backup, and is put back, reads again and goes on")
    func receiptsOnly() async throws {
        try await withDevices(2) { devices, _ in
            var left = try await devices[0].open()
            let right = try await devices[1].open()
            try await insert(["left"], left)
            try await settle(left, right)
            let backup = devices[0].directory.appending("Backup.sqlite")
            try await left.backup(to: backup)
            for key in ["r1", "r2"] {
                try await insert([key], right)
                try await settle(right, left)
            }
            let file = left.file
            try await left.close()
            try put(backup, over: file)
            left = try await devices[0].open()
            try await insert(["afterwards"], left)
            try await settle(left, right)
            for store in [left, right] {
                #expect(try await store.rows("SELECT id FROM person ORDER BY id") == [["afterwards"], ["left"], ["r1"], ["r2"]])
                #expect(try await store.status().waiting.isEmpty)
            }
        }
    }

    @Test("a backup made while the app writes is one whole file, of one moment, with everything in it")
    func besideWriter() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open()
            for index in 0..<60 { try await store.execute("INSERT INTO person (id, age) VALUES (?, zeroblob(100000))", ["p\(index)"]) }
            let backup = devices[0].directory.appending("Backup.sqlite")
            let (steps, step) = AsyncStream.makeStream(of: Double.self)
            async let written = store.backup(to: backup) { step.yield($0) }
            let parts = steps.limited().makeAsyncIterator()
            let first = try await parts.next() ?? 1
            for index in 60..<80 { try await store.execute("INSERT INTO person (id, age) VALUES (?, zeroblob(100000))", ["p\(index)"]) }
            _ = try await written
            #expect(first < 0.5)
            #expect(try sqlite3(backup, "PRAGMA journal_mode; PRAGMA integrity_check; SELECT count(*) FROM person") == "delete\nok\n60\n")
            #expect(try names(in: devices[0].directory) == ["Backup.sqlite"])
            #expect(try InspectedStore(backup, readOnly: true).check(container: nil).problems.isEmpty)
            // Beside the app, as a tool does it, with a save between any two steps.
            let other = devices[0].directory.appending("Backup2.sqlite")
            let shown = Mutex<[Double]>([])
            _ = try InspectedStore(store.file, readOnly: true).backup(to: other) { part in
                try? store.writeWithoutTransaction { db in
                    try db.execute(sql: "INSERT INTO person (id, age) VALUES (?, zeroblob(100000))", arguments: ["between \(part)"])
                }
                shown.withLock { $0.append(part) }
            }
            #expect(try sqlite3(other, "SELECT count(*) FROM person") == "80\n")
            #expect(try await store.rows("SELECT count(*) FROM person WHERE id LIKE 'between%'") == [["\(shown.withLock { Set($0).count })"]])
            #expect(shown.withLock { $0.last == 1 && $0.count > 2 && $0 == $0.sorted() })
        }
    }

    @Test("what is there is not overwritten, and a backup that is cancelled, or of a damaged store, leaves nothing")
    func refused() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open()
            for index in 0..<40 { try await store.execute("INSERT INTO person (id, age) VALUES (?, zeroblob(100000))", ["p\(index)"]) }
            let directory = devices[0].directory
            try Data("mine".utf8).write(to: URL(filePath: directory.appending("Mine").string))
            for (target, message) in [("Mine", "there already"), ("no/such/Backup", "its directory is there")] {
                let error = await #expect(throws: UbiquitousStoreError.self) { try await store.backup(to: directory.appending(target)) }
                #expect(error?.description.contains(message) == true, "\(String(describing: error))")
            }
            #expect(try Data(contentsOf: URL(filePath: directory.appending("Mine").string)) == Data("mine".utf8))
            // Somebody else's file that comes to the place meanwhile stays, too.
            let target = directory.appending("Backup.sqlite")
            await #expect(throws: UbiquitousStoreError.self) {
                try await store.backup(to: target) { _ in try? Data("mine".utf8).write(to: URL(filePath: target.string)) }
            }
            #expect(try Data(contentsOf: URL(filePath: target.string)) == Data("mine".utf8))
            try FileManager.default.removeItem(atPath: target.string)

            let task = Task { try await store.backup(to: target) { _ in withUnsafeCurrentTask { $0?.cancel() } } }
            let outcome = await task.result
            #expect(throws: CancellationError.self) { try outcome.get() }
            #expect(try names(in: directory).isEmpty)

            // A page in the middle is no page any more.
            let file = store.file
            try await store.close()
            let damaged = try FileHandle(forUpdating: URL(filePath: file.string))
            let root = try sqlite3(file, "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_person_1'")
            try damaged.seek(toOffset: UInt64(try #require(Int(root.trimmingCharacters(in: .newlines))) - 1) * 4096)
            try damaged.write(contentsOf: Data(repeating: 0xFF, count: 4096))
            try damaged.close()
            let error = #expect(throws: UbiquitousStoreError.self) { try InspectedStore(file, readOnly: true).backup(to: target) }
            #expect(error?.description.contains("the store is damaged") == true, "\(String(describing: error))")
            #expect(try names(in: directory).isEmpty)
        }
    }
}
