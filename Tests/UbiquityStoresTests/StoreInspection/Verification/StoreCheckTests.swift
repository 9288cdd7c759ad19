import Foundation
import GRDB
import SystemPackage
import Testing

@testable import StoreInspection
@testable import StoreRecords
@testable import UbiquityStores

/// What a look at a store file finds; the tests of the tools look at the container beside it.
struct StoreCheckTests {
    @Test(
        "each thing that is wrong with stamps or sealed logs is found, alone and by its name",
        arguments: [
            ("UPDATE ubiquity_clock_1 SET life = 2 WHERE rid = 1", "1 rows have the stamp of a dead record"),
            ("INSERT INTO ubiquity_dead_1 VALUES ('a', 2)", "1 rows are listed among the dead"),
            ("DELETE FROM ubiquity_outbox WHERE sequence = 2", "it does not follow log 1"),
            ("UPDATE ubiquity_state SET peer = 'alice~00000000-0000-0000-0000-000000000001'", "it is a log of alice~"),
        ])
    func findings(sql: String, finding: String) async throws {
        try await withStoreFile { file in
            try sqlite3(file, sql)
            let check = try InspectedStore(file, readOnly: true).check(container: nil)
            #expect(!check.problems.isEmpty && check.problems.allSatisfy { $0.detail.contains(finding) }, "\(check.problems)")
            #expect(check.remarks.isEmpty)
        }
    }

    @Test("writes that are not sealed have no stamps yet: that is a remark, and no problem")
    func unsealed() async throws {
        try await withStoreFile { file in
            #expect(try InspectedStore(file, readOnly: true).check(container: nil).problems.isEmpty)
            try sqlite3(file, "INSERT INTO person (id) VALUES ('shell')")
            let check = try InspectedStore(file, readOnly: true).check(container: nil)
            #expect(check.problems.isEmpty, "\(check.problems)")
            #expect(check.remarks.count == 1 && check.remarks[0].contains("1 writes are noted"), "\(check.remarks)")
        }
    }

    /// Runs a body with the file of a store that is closed, and holds three records and three sealed logs.
    private func withStoreFile(_ body: (FilePath) throws -> Void) async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open()
            for id in ["a", "b", "c"] { try await store.execute("INSERT INTO person (id) VALUES (?)", [id]) }
            try await store.close()
            try body(store.file)
        }
    }

    @Test("a store that is open is looked at through a symbolic link as it stands, with what is in its write-ahead log alone")
    func linked() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open()
            for key in ["a", "b"] { try await store.insert(key) }
            let link = devices[0].directory.appending("link.sqlite")
            try FileManager.default.createSymbolicLink(atPath: link.string, withDestinationPath: store.file.string)
            #expect(try InspectedStore.look(at: link) { try $0.summary().records } == 2)
        }
    }
}
