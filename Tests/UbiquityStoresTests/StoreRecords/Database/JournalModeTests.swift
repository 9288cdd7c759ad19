import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import Waiting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// A store whose file lies alone while nobody writes to it.
struct JournalModeTests {
    /// What lies in the directories of a device's store files, without locks.
    private func files(_ device: TestDevice) throws -> Set<String> {
        let names = try FileManager.default.subpathsOfDirectory(atPath: StoreFile.supportDirectory(of: device.directory.appending("x")).string)
        return Set(
            names.map { $0.split(separator: "/").last.map(String.init)! }.filter { name in
                name.contains("sqlite-") && !["-open", "-exchange", "-use", "-place"].contains { name.hasSuffix($0) }
            })
    }

    @Test("S-145: with journal mode DELETE a store saves, exchanges, observes and changes its file, and never has a -wal or -shm beside it")
    func delete() async throws {
        try await withDevices(2) { devices, _ in
            let other = try await devices[1].open()
            try await other.insert("o")
            try await other.settled()
            let local = devices[0].directory.appending("Local.sqlite")
            try FileManager.default.createDirectory(atPath: devices[0].directory.string, withIntermediateDirectories: true)
            let store = try await devices[0].follow { options in
                options.advanced.journalMode = .delete
                options.attachedDatabases = [.local(at: local, migrator: migrator("CREATE TABLE draft (text TEXT)"))]
            }
            try await store.insert("a")
            #expect(try files(devices[0]).isEmpty)
            let values = ValueObservation.tracking { db in try String.fetchAll(db, sql: "SELECT id FROM person ORDER BY id") }
                .values(in: store).limited().makeAsyncIterator()
            #expect(try await values.next() == ["a"])
            try await store.settled()
            #expect(await store.place == .account(try AccountName("alice")))
            while let keys = try await values.next(), keys != ["a", "o"] {}
            try await store.write { db in
                try db.execute(sql: "INSERT INTO person (id) VALUES ('b')")
                try db.execute(sql: "INSERT INTO local.draft VALUES ('d')")
            }
            // Another program's write is captured as ever.
            try sqlite3(store.file, "INSERT INTO person (id) VALUES ('shell')")
            try await settle(store, other)
            #expect(try await other.keys() == ["a", "b", "o", "shell"])
            #expect(try files(devices[0]).isEmpty)
            for name in ["-wal", "-shm", "-journal", "-use"] { #expect(!FileManager.default.fileExists(atPath: local.string + name)) }
            #expect(try await store.read { db in try String.fetchOne(db, sql: "PRAGMA journal_mode") } == "delete")
            try await other.insert("late")
            try await settle(other, store)
            try await store.rebuildFromUbiquitousContent()
            try await store.settled()
            #expect(try await store.keys() == ["a", "b", "late", "o", "shell"])
            #expect(try files(devices[0]).isEmpty)
            try await store.close()
            #expect(try files(devices[0]).isEmpty)
        }
    }

    @Test("a store goes from one journal mode to the other when nobody else has it open, and says so where somebody has")
    func changed() async throws {
        try await withDevices(1) { devices, _ in
            func open(_ mode: JournalMode) async throws -> UbiquitousStore {
                var options = UbiquitousStore.Options(contentName: "People", exchangesAutomatically: false)
                options.advanced.journalMode = mode
                return try await UbiquitousStore.open(
                    at: devices[0].directory.appending("People.sqlite"), options: options, in: devices[0].container(), schema: personSchema)
            }
            let first = try await open(.wal)
            try await first.insert("a")
            await #expect { _ = try await open(.delete) } throws: { ($0 as? UbiquitousStoreError)?.code == .timedOut }
            try await first.insert("b")
            try await first.close()
            let second = try await open(.delete)
            try await second.insert("c")
            #expect(try files(devices[0]).isEmpty)
            let file = second.file
            try await second.close()
            // The whole store is in the one file.
            #expect(try sqlite3(file, "SELECT group_concat(id) FROM (SELECT id FROM person ORDER BY id)") == "a,b,c\n")
            let third = try await open(.wal)
            #expect(try await third.keys() == ["a", "b", "c"])
        }
    }

    @Test("a file that somebody has open with a rollback journal, idle, is neither migrated, removed nor made anew, until it is closed")
    func guarded() async throws {
        try await withDevices(1) { devices, _ in
            var options = UbiquitousStore.Options(contentName: "People", exchangesAutomatically: false)
            options.advanced.journalMode = .delete
            let store = try await UbiquitousStore.open(
                at: devices[0].directory.appending("People.sqlite"), options: options, in: devices[0].container(), schema: personSchema)
            try await store.insert("a")
            let migration = SchemaMigration(path: store.file, schema: AddressBook.schema(2), patience: .zero)
            #expect { try migration.run() } throws: { ($0 as? UbiquitousStoreError)?.code == .timedOut }
            let erasure = StoreErasure(file: store.file, schema: personSchema)
            #expect(try !erasure.run { _ in true })
            #expect(try await store.keys() == ["a"])
            try await store.close()
            // A program that another test starts at this moment holds a copy of the lock from fork(2) to execve(2).
            try await until("nobody else has the file open") { try erasure.run { _ in true } }
            #expect(!FileManager.default.fileExists(atPath: store.file.string))
        }
    }

    @Test("a file is made anew for a new schema only once nobody else has it open with a rollback journal")
    func former() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].follow { $0.advanced.journalMode = .delete }
            try await store.settled()
            let files = await store.keeper!.files
            let error = await #expect(throws: UbiquitousStoreError.self) { try await files.former(of: AccountName("alice")).moveAside() }
            #expect(error?.code == .timedOut)
            #expect(FileManager.default.fileExists(atPath: store.file.string))
        }
    }
}
