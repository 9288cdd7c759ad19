import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreExchange
@testable import StoreRecords
@testable import UbiquityStores

/// The cost of opening a store and of changing its file, counted in connections and statements.
struct OpeningCostTests {
    /// Returns the statements that change a database, without those by which GRDB begins a write-ahead log.
    private func writes(_ meter: SQLiteMeter) -> [String] {
        meter.runs.map(\.sql).filter { sql in
            ["INSERT", "UPDATE", "DELETE", "CREATE", "DROP"].contains { sql.hasPrefix($0) } && !sql.contains("grdb_issue_102")
        }
    }

    @Test(
        "An unchanged store opens with three connections to its file and one to an empty fallback file, inspects its tables once, and writes nothing",
        arguments: [false, true])
    func unchanged(isSignedIn: Bool) async throws {
        try await withDevices(1) { devices, _ in
            let device = devices[0]
            if !isSignedIn { try device.home.signOut() }
            let first = try await device.follow()
            try await first.insert("a")
            try await first.settled()
            let file = first.file
            try await first.close()
            let meter = SQLiteMeter(below: device.directory.appending("CoreDataUbiquitySupport"))
            let store = try await device.follow()
            #expect(store.file == file)
            #expect(try await store.keys() == ["a"])
            let (own, others) = (meter.connections.filter { $0 == file }, meter.connections.filter { $0 != file })
            #expect(own.count == 3)
            // The fallback file holds nothing to join, so it is only looked at.
            #expect(others.count == (isSignedIn ? 1 : 0), "\(others)")
            let inspections = meter.runs.filter { $0.sql.hasPrefix("SELECT * FROM pragma_table_xinfo") }
            #expect(inspections.map(\.file) == [file])
            #expect(writes(meter) == [])
            try await store.close()
        }
    }

    @Test("A change of files without saves leaves the file of before as it is, and one with a save joins it")
    func change() async throws {
        try await withDevices(1) { devices, root in
            let (home, alice) = (devices[0].home, try AccountName("alice"))
            let store = try await devices[0].follow()
            try await store.insert("a")
            try await store.settled()
            try home.signOut()
            try await store.settled()
            let local = store.file
            try home.signIn(alice, containers: root)
            try await store.settled()
            // The meter counts the connections that are opened from now on.
            let meter = SQLiteMeter(below: local)
            try home.signOut()
            try await store.settled()
            #expect(store.file == local)
            meter.reset()
            try home.signIn(alice, containers: root)
            try await store.settled()
            #expect(store.file != local)
            #expect(writes(meter) == [])
            try home.signOut()
            try await store.settled()
            try await store.insert("b")
            try home.signIn(alice, containers: root)
            try await store.settled()
            #expect(try await store.keys() == ["a", "b"])
            #expect(writes(meter).contains { $0.contains("SET given") })
            try await store.close()
        }
    }
}
