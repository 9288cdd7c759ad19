import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreExchange
@testable import StoreInspection
@testable import StoreRecords
@testable import UbiquityStores

/// Database files that somebody has open.
struct OpenFileTests {
    @Test(
        "S-146: nothing that copies, looks through or checks a store reads its open file by file calls, which would end this process's locks on it")
    func copies() async throws {
        try await withDevices(1) { devices, root in
            let store = try await devices[0].follow()
            try await store.settled()
            try await store.insert("a")
            try await store.settled()
            let (directory, file) = (devices[0].directory, store.file)
            /// Closing any descriptor of a file ends all locks that the process has on it (fcntl(2)), and others could take the write-ahead log away.
            func expectLocked(after what: String) {
                #expect(throws: SQLite3Failure.self, "\(what)") { try sqlite3(file, "PRAGMA journal_mode = DELETE", patience: 0) }
            }
            expectLocked(after: "opening")
            try await store.backup(to: directory.appending("Backup.sqlite"))
            expectLocked(after: "a backup")
            try await store.writePlainCopy(to: directory.appending("Plain.sqlite"))
            expectLocked(after: "a plain copy")
            do {
                let inspection = try InspectedStore(file, readOnly: true)
                #expect(try inspection.check(container: nil).problems.isEmpty)
                _ = try inspection.report()
                _ = try inspection.summary()
                try inspection.backup(to: directory.appending("Backup 2.sqlite"))
                _ = try inspection.writePlainCopy(to: directory.appending("Plain 2.sqlite"))
            }
            expectLocked(after: "an inspection")
            try await store.rollBaseline()
            expectLocked(after: "a baseline")
            try await store.rebuildFromUbiquitousContent()
            expectLocked(after: "a rebuild")
            let reader = try await UbiquitousStore.openReadOnly(
                at: directory.appending("People.sqlite"), account: AccountName("alice"), options: .init(contentName: "People"),
                container: "org.example.test", home: devices[0].home, schema: personSchema)
            #expect(try await reader.keys() == ["a"])
            try await reader.close()
            expectLocked(after: "a reader")
            let second = try await devices[0].follow()
            try await second.settled()
            try await second.close()
            expectLocked(after: "a second handle")
            try await store.close()
            #expect(try sqlite3(file, "PRAGMA journal_mode = DELETE") == "delete\n")
        }
    }

    @Test("S-146: the file of an account that is gone is not deleted while another program has it open, and goes at an opening afterwards")
    func deletion() async throws {
        try await withDevices(1) { devices, root in
            let store = try await devices[0].follow { $0.advanced.removesFilesOfGoneAccounts = true }
            try await store.settled()
            try await store.insert("a")
            try await store.settled()
            let file = store.file
            let other = try DatabasePool(path: file.string)
            #expect(try await other.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM person") } == 1)
            try devices[0].home.signOut()
            try await store.settled()
            await store.keeper?.erased()
            #expect(FileManager.default.fileExists(atPath: file.string))
            #expect(try await other.write { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM person") } == 1)
            try other.close()
            try await store.close()
            let again = try await devices[0].follow { $0.advanced.removesFilesOfGoneAccounts = true }
            await again.keeper?.erased()
            #expect(!FileManager.default.fileExists(atPath: file.string))
            try await again.close()
        }
    }
}
