import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting
import Waiting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// Rows that break a CHECK of the app's schema, since merging takes each column from where it was written last.
struct BrokenRecordTests {
    private static let schema = SyncedSchema(
        migrator: migrator(
            """
            CREATE TABLE "per(son" (id TEXT NOT NULL PRIMARY KEY, first TEXT, last TEXT, CONSTRAINT one CHECK (first IS NULL OR last IS NULL));
            CREATE TABLE history (id TEXT);
            CREATE TRIGGER note AFTER UPDATE ON "per(son" BEGIN INSERT INTO history VALUES (NEW.id); END;
            """)
    ) { SyncedTable("per(son") }
    private let broken = [BrokenRecord(record: ObjectID(table: "per(son", key: [.text("a")]), reason: "CHECK constraint failed: one")]

    @Test("S-074: CHECKs of the app do not hold up an import, and what merging breaks is reported until it is put right")
    func checks() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(Self.schema), devices[1].open(Self.schema))
            let notices = right.notices.limited().makeAsyncIterator()
            try await left.execute("INSERT INTO \"per(son\" (id) VALUES ('a'), ('b')")
            try await settle(left, right)
            try await left.execute("UPDATE \"per(son\" SET first = 'F' WHERE id = 'a'")
            try await right.execute("UPDATE \"per(son\" SET last = 'L'")
            try await settle(left, right)
            for store in [left, right] {
                #expect(try await store.rows("SELECT first, last FROM \"per(son\" WHERE id = 'a'") == [["F", "L"]])
                #expect(try await store.status().broken == broken)
            }
            _ = try await notices.next()
            _ = try await notices.next()
            #expect(try await notices.next() == .didBreakChecks(broken))
            // Looking at the rows ran no trigger of the app's.
            #expect(try await right.rows("SELECT count(*) FROM history") == [["3"]])
            await #expect(throws: DatabaseError.self) { try await left.execute("INSERT INTO \"per(son\" VALUES ('c', 'F', 'L')") }
            try await left.execute("UPDATE \"per(son\" SET last = NULL WHERE id = 'a'")
            try await settle(left, right)
            for store in [left, right] { #expect(try await store.status().broken.isEmpty) }
        }
    }

    @Test(
        "S-074: what joining a baseline breaks is reported and listed as what a log breaks, also where the baseline fills the table",
        arguments: [false, true])
    func baseline(fills: Bool) async throws {
        try await withDevices(3) { devices, root in
            let (left, right) = try await (devices[0].open(Self.schema), devices[1].open(Self.schema))
            try await left.execute("INSERT INTO \"per(son\" (id) VALUES ('a'), ('b')")
            try await settle(left, right)
            try await left.execute("UPDATE \"per(son\" SET first = 'F' WHERE id = 'a'")
            try await right.execute("UPDATE \"per(son\" SET last = 'L'")
            try await settle(left, right)
            try await left.rollBaseline()
            for store in [left, right] {
                let directory = root.appending("alice/org.example.test/CoreData/People/\(try await store.status().peer)")
                let names = FileManager.default.enumerator(atPath: directory.string)!.compactMap { $0 as? String }
                for name in names where name.hasSuffix(".ublog") { try FileManager.default.removeItem(atPath: directory.appending(name).string) }
            }
            let late = try await devices[2].open(Self.schema)
            if !fills { try await late.execute("INSERT INTO \"per(son\" (id) VALUES ('own')") }
            let notices = late.notices.limited().makeAsyncIterator()
            try await late.settled()
            #expect(try await late.rows("SELECT first, last FROM \"per(son\" WHERE id = 'a'") == [["F", "L"]])
            #expect(try await late.status().broken == broken)
            while let notice = try await notices.next() {
                guard case .didBreakChecks(let found) = notice else { continue }
                #expect(found == broken)
                break
            }
            // Put right here, it is off the list everywhere.
            try await late.execute("UPDATE \"per(son\" SET last = NULL WHERE id = 'a'")
            try await settle(late, left, right)
            for store in [late, left, right] { #expect(try await store.status().broken.isEmpty) }
        }
    }
}
