import GRDB
import Testing
import UbiquityTesting

@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// Columns that belong together.
struct TogetherTests {
    private static let sql = """
        CREATE TABLE seat (row TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (row, number)) WITHOUT ROWID;
        CREATE TABLE booking (id TEXT NOT NULL PRIMARY KEY, guest TEXT, row TEXT, number INTEGER, lat, lon,
            FOREIGN KEY (row, number) REFERENCES seat (row, number));
        """

    private static func schema(together: [[String]]) -> SyncedSchema {
        SyncedSchema(migrator: migrator(sql)) {
            SyncedTable("seat")
            SyncedTable("booking", together: together)
        }
    }

    @Test("A reference by two columns is one value without being declared: two devices that move it at once end with a place that one of them chose")
    func compositeReference() async throws {
        try await withDevices(2) { devices, _ in
            devices[1].clock.advance(by: 10)
            let (left, right) = try await (devices[0].open(Self.schema(together: [])), devices[1].open(Self.schema(together: [])))
            try await left.execute(
                "INSERT INTO seat VALUES ('A', 1), ('A', 2), ('B', 1), ('B', 2); INSERT INTO booking VALUES ('b', 'Ann', 'A', 1, 1, 1)")
            try await settle(left, right)
            try await left.execute("UPDATE booking SET row = 'B', guest = 'Bob'")
            #expect(try await left.sealedLogs().flatMap { try $0.changes } == ["booking/b 1 guest=Bob row=B number=1"])
            try await right.execute("UPDATE booking SET number = 2")
            try await settle(left, right)
            for store in [left, right] {
                #expect(try await store.rows("SELECT guest, row, number FROM booking") == [["Bob", "A", "2"]])
            }
        }
    }

    @Test("Random saves on three devices never mix what belongs together, and all devices come to the same")
    func random() async throws {
        try await withDevices(3) { devices, _ in
            var random = SeededRandom(seed: 24)
            var stores: [UbiquitousStore] = []
            for (index, device) in devices.enumerated() {
                device.clock.advance(by: Double(7 * index))
                stores.append(try await device.open(Self.schema(together: [["lat", "lon"]])))
            }
            try await stores[0].execute("INSERT INTO booking (id, lat, lon) VALUES ('b', '0', '0')")
            for store in stores + stores { try await store.settled() }
            // What one device has shown after a save of its own.
            var chosen: Set<[String]> = [["0", "0"]]
            for round in 1...30 {
                for (index, store) in stores.enumerated() where Int.random(in: 0..<3, using: &random) > 0 {
                    let column = ["lat", "lon", "guest"][Int.random(in: 0..<3, using: &random)]
                    try await store.execute("UPDATE booking SET \(column) = ?", ["\(round)-\(index)"])
                    chosen.formUnion(try await store.rows("SELECT lat, lon FROM booking"))
                }
                devices[Int.random(in: 0..<3, using: &random)].clock.advance(by: Double.random(in: 0..<9, using: &random))
                for store in stores where Bool.random(using: &random) { try await store.settled() }
                for store in stores { #expect(try await chosen.isSuperset(of: store.rows("SELECT lat, lon FROM booking"))) }
            }
            for store in stores + stores { try await store.settled() }
            let row = try await stores[0].rows("SELECT * FROM booking")
            for store in stores { #expect(try await store.rows("SELECT * FROM booking") == row) }
        }
    }

    @Test("As long as one device's version does not declare a group, its saves are merged by the column, and all devices come to the same")
    func disagreement() async throws {
        try await withDevices(3) { devices, _ in
            for (index, device) in devices.enumerated() { device.clock.advance(by: Double(10 * index)) }
            let first = try await devices[0].open(Self.schema(together: [["lat", "lon"]]))
            let second = try await devices[1].open(Self.schema(together: [["lat", "lon"]]))
            let third = try await devices[2].open(Self.schema(together: []))
            try await first.execute("INSERT INTO booking (id, lat, lon) VALUES ('b', 0, 0)")
            for store in [first, second, third, first] { try await store.settled() }
            // Each apart, in all the orders in which the others may read them.
            try await first.execute("UPDATE booking SET lat = 1")
            try await second.execute("UPDATE booking SET lon = 2")
            try await third.execute("UPDATE booking SET lat = 3")
            for store in [first, second, first, third, second, first, third] { try await store.settled() }
            for store in [first, second, third] { #expect(try await store.rows("SELECT lat, lon FROM booking") == [["3", "2"]]) }
        }
    }

    @Test("Of two seeds with other values the whole of one stays, in a version too that has added a column to the group")
    func seeds() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (
                devices[0].open(Self.schema(together: [["lat", "lon"]])), devices[1].open(Self.schema(together: [["lat", "lon"]]))
            )
            try await left.seed(from: [SeedRecord(table: "booking", values: ["id": "b", "lat": 1, "lon": 9])], token: "s1")
            try await right.seed(from: [SeedRecord(table: "booking", values: ["id": "b", "lat": 2, "lon": 3])], token: "s2")
            try await settle(left, right)
            for store in [left, right] { #expect(try await store.rows("SELECT lat, lon FROM booking") == [["2", "3"]]) }
        }
        let first = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, lat, lon)"
        let second = "ALTER TABLE t ADD COLUMN alt"
        try await withDevices(3) { devices, _ in
            let old = try await devices[0].open(SyncedSchema(migrator: migrator(first)) { SyncedTable("t", together: [["lat", "lon"]]) })
            try await old.seed(from: [SeedRecord(table: "t", values: ["id": "b", "lat": 1, "lon": 9])], token: "s1")
            var stores: [UbiquitousStore] = []
            for device in devices.dropFirst() {
                stores.append(try await device.open(twoVersions(first, second) { SyncedTable("t", together: [["lat", "lon", "alt"]]) }))
            }
            try await stores[0].seed(from: [SeedRecord(table: "t", values: ["id": "b", "lat": 2, "lon": 3])], token: "s2")
            // One has the new seed before it reads the old one, the other reads both.
            try await old.settled()
            try await stores[0].settled()
            try await stores[1].settled()
            for store in stores { #expect(try await store.rows("SELECT lat, lon, quote(alt) FROM t") == [["2", "3", "NULL"]]) }
        }
    }

    @Test("A group that cannot be one value is refused, with the reason")
    func refused() async throws {
        try await withDevices(1) { devices, _ in
            let schema = SyncedSchema(migrator: migrator(Self.sql)) {
                SyncedTable("seat", together: [["row", "number"]])
                SyncedTable(
                    "booking", columns: ["row": .firstWriter, "guest": .minimum], together: [["lat", "nowhere"], ["lat", "lon"], ["lon", "guest"]])
            }
            let error = await #expect(throws: UbiquitousStoreError.self) { _ = try await devices[0].open(schema) }
            for words in [
                "“row” of “seat” is in the primary key, which is never merged", "“nowhere” of “booking” has a group and does not exist",
                "(lon) of “booking” are in two groups", "(lon, guest) of “booking” mixes policies, or compares values",
                "columns (row, number) of “booking” are one value, for a foreign key refers by several of them, and mix policies",
            ] {
                #expect(error?.message.contains(words) == true, "\(words) – \(error?.message ?? "")")
            }
        }
    }
}
