import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// Baselines that have their hash, and hold what no store has written.
struct ForgedBaselineTests {
    /// Writes something to the one baseline of a content, and gives it the name that it has then.
    private func forge(_ root: FilePath, _ sql: String) throws {
        let content = root.appending("alice/org.example.test/CoreData/People")
        let names = FileManager.default.enumerator(atPath: content.string)!.compactMap { $0 as? String }
        let whole = content.appending(try #require(names.first { $0.hasSuffix(".ubbaseline") }))
        let name = try #require(BaselineName(whole.lastComponent!.string))
        let draft = root.appending("draft")
        try FileManager.default.moveItem(atPath: whole.string, toPath: draft.string)
        try sqlite3(draft, sql)
        let hash = try ContentHash(ofFile: draft)
        let forged = whole.removingLastComponent().appending("\(BaselineName(sequence: name.sequence, hash: hash))")
        try FileManager.default.moveItem(atPath: draft.string, toPath: forged.string)
    }

    /// SQL that gives the record's columns stamps of their own: each is a column, a time and a peer, in hexadecimal digits and as they are packed.
    private static func stamps(_ stamps: String..., columns: Int = 0) -> String {
        "UPDATE clock_1 SET columns = \(columns), others = x'\(stamps.joined().filter { $0 != " " })'"
    }

    private static let (zero, one) = ("0000000000000000", "0100000000000000")

    private static let forgeries = [
        // A store would have no number to give to its next peer.
        "INSERT INTO peer VALUES (9223372036854775807, 'alice~1fac08f1-c2e6-4047-92c5-93ca8ffd2ed6')",
        "UPDATE peer SET name = 'alice~1fac08f1-c2e6-4047-92c5-93ca8ffd2ed6'", "INSERT INTO peer SELECT max(number) + 1, name FROM peer",
        // Sums of them, and what follows them, would be too large.
        "UPDATE log SET sequence = 9223372036854775807; UPDATE knowledge SET sequence = 9223372036854775807",
        "UPDATE clock_1 SET life = 9223372036854775807", "INSERT INTO dead_1 VALUES ('z', 9223372036854775806)",
        // Nobody can have lived so often after one log.
        "INSERT INTO dead_1 VALUES ('z', 1000000)", "UPDATE clock_1 SET life = 1000001",
        // They would win for ever.
        "UPDATE clock_1 SET time = 9223372036854775807", "UPDATE log SET time = 9223372036854775807",
        // No such column, no such peer, no such time, and a column that has two.
        stamps("c8 \(zero) \(one)"), stamps("04 \(zero) \(one)"), stamps("01 \(zero) 6300000000000000"), stamps("01 00000000000000ff \(one)"),
        stamps("01 ffffffffffffff7f \(one)"), stamps("00 \(zero) \(one)", columns: 1), stamps("01 \(zero) \(one)", "01 \(zero) \(one)"),
        "UPDATE clock_1 SET columns = 0, others = '01 234567 01234567'", "UPDATE baseline SET created = 9e999",
        "INSERT INTO synced_table SELECT 9, name, keys, columns FROM synced_table WHERE number = 1; "
            + BaselineSchema.statements(
                BaselineHeader.Table(
                    number: 9, table: LogBody.Table(name: "person", keyColumns: ["id"], columns: ["first", "last", "email", "age"]),
                    form: RecordForm(
                        columns: ["k0", "v0", "v1", "v2", "v3"].map { RecordForm.Column($0) }, constraints: [], indexes: [], hasRowid: true))
            ).joined(separator: "; "),
        // A record without a clock, and a clock without a record.
        "DELETE FROM clock_1", "INSERT INTO clock_1 SELECT rid + 1, life, time, peer, columns, others FROM clock_1",
        "UPDATE clock_1 SET rid = rid + 1",
    ]

    @Test("what no store has written is not joined, and harms nothing", arguments: forgeries)
    func isRefused(sql: String) async throws {
        try await withDevices(2) { devices, root in
            let first = try await devices[0].open()
            try await first.execute("INSERT INTO person (id, first, last) VALUES ('a', 'A', 'B')")
            try await first.rollBaseline()
            try await first.close()
            try forge(root, sql)
            let second = try await devices[1].open()
            for name in ["b", "c"] {
                try await second.execute("INSERT INTO person (id, first) VALUES (?, 'B')", [name])
                try await second.settled()
                #expect(try await second.status().quarantined.map(\.kind) == [.damaged])
            }
            #expect(try await second.rows("SELECT id FROM person ORDER BY id") == [["b"], ["c"]])
        }
    }

    private let family = SyncedSchema(
        migrator: migrator(
            """
            CREATE TABLE parent (id TEXT NOT NULL PRIMARY KEY);
            CREATE TABLE child (id TEXT NOT NULL PRIMARY KEY, parent TEXT REFERENCES parent ON DELETE SET NULL);
            CREATE TABLE toy (id TEXT NOT NULL PRIMARY KEY, colour) WITHOUT ROWID
            """)
    ) {
        SyncedTable("parent")
        SyncedTable("child")
        SyncedTable("toy")
    }

    @Test("a reference to what is not there is not shown, whatever a baseline says")
    func danglingReference() async throws {
        try await withDevices(2) { devices, root in
            let first = try await devices[0].open(family)
            try await first.execute("INSERT INTO parent VALUES ('p'); INSERT INTO child VALUES ('c', 'p')")
            try await first.rollBaseline()
            try await first.close()
            try forge(root, "DELETE FROM record_1; DELETE FROM clock_1")
            let second = try await devices[1].open(family)
            try await second.settled()
            #expect(try await second.rows("SELECT id, quote(parent) FROM child") == [["c", "NULL"]])
        }
    }

    @Test("a key that a column keeps otherwise is refused where it is all that a row is found by")
    func keyOfAnotherType() async throws {
        try await withDevices(2) { devices, root in
            let first = try await devices[0].open(family)
            try await first.execute("INSERT INTO toy VALUES ('5', 'red')")
            try await first.rollBaseline()
            try await first.close()
            try forge(
                root,
                """
                DROP TABLE record_3; CREATE TABLE record_3 (k0, v0, PRIMARY KEY (k0 COLLATE BINARY)) WITHOUT ROWID;
                INSERT INTO record_3 VALUES (5, 'red'); UPDATE clock_3 SET k0 = 5
                """)
            let second = try await devices[1].open(family)
            try await second.settled()
            #expect(try await second.status().quarantined.map(\.kind) == [.refused])
            #expect(try await second.rows("SELECT id FROM toy").isEmpty)
        }
    }

    @Test("a record that stands in its own way, for its column keeps the key otherwise, is refused")
    func inItsOwnWay() async throws {
        try await withDevices(2) { devices, root in
            let first = try await devices[0].open(family)
            try await first.execute("INSERT INTO parent VALUES ('p')")
            try await first.rollBaseline()
            try await first.close()
            try forge(root, "INSERT INTO other_1 SELECT 5, life, time, peer, columns, others FROM clock_1")
            let second = try await devices[1].open(family)
            for _ in 0..<2 {
                try await second.execute("INSERT INTO toy (id) VALUES (hex(randomblob(8)))")
                try await second.settled()
                #expect(try await second.status().quarantined.map(\.kind) == [.refused])
            }
            #expect(try await second.rows("SELECT id FROM parent").isEmpty)
        }
    }
}
