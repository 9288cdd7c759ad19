import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// Baselines of format 1, which earlier versions wrote.
struct FormerBaselineTests {
    private let rows = "SELECT id, first, last, email FROM person ORDER BY id"

    private func baselines(_ root: FilePath, _ store: UbiquitousStore) async throws -> [FilePath] {
        let directory = root.appending("alice/org.example.test/CoreData/People/\(try await store.status().peer)/1/baselines")
        return try LinuxFileLayer().names(in: directory).filter { BaselineName($0) != nil }.sorted().map { directory.appending($0) }
    }

    private func format(_ file: FilePath) throws -> Int? {
        try DatabaseQueue(path: file.string).read { db in try Int.fetchOne(db, sql: "PRAGMA user_version") }
    }

    /// Writes a baseline again in format 1, under the name that its content then has, in place of the present file.
    private func rewrite(_ file: FilePath) throws {
        let draft = FilePath("\(file.string).draft")
        let queue = try DatabaseQueue(path: draft.string)
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "ATTACH DATABASE ? AS new", arguments: [file.string])
            try db.execute(sql: "PRAGMA application_id = \(BaselineSchema.applicationID); PRAGMA user_version = \(BaselineSchema.joinedFormat)")
            for statement in BaselineSchema.common { try db.execute(sql: statement) }
            for table in ["baseline", "peer", "knowledge", "hole", "retired", "log", "seen", "synced_table"] {
                try db.execute(sql: "INSERT INTO main.\(table) SELECT * FROM new.\(table)")
            }
            for row in try Row.fetchAll(db, sql: "SELECT number, json_array_length(keys), json_array_length(columns) FROM synced_table") {
                let (number, keys, columns): (Int64, Int, Int) = (row[0], row[1], row[2])
                for statement in BaselineSchema.joinedStatements(number: number, keys: keys, columns: columns) { try db.execute(sql: statement) }
                let hasRowid = try Bool.fetchOne(
                    db, sql: "SELECT EXISTS (SELECT 1 FROM pragma_table_info('clock_\(number)', 'new') WHERE name = 'rid')")!
                let isClock = hasRowid ? "c.rid = r.rowid" : (0..<keys).map { "c.k\($0) = r.k\($0)" }.joined(separator: " AND ")
                let names = (0..<keys).map { "r.k\($0)" } + ["life", "time", "peer", "columns", "others"] + (0..<columns).map { "r.v\($0)" }
                try db.execute(
                    sql: """
                        INSERT INTO main.record_\(number) SELECT \(names.joined(separator: ", "))
                        FROM new.record_\(number) r JOIN new.clock_\(number) c ON \(isClock);
                        INSERT INTO main.other_\(number) SELECT * FROM new.other_\(number);
                        INSERT INTO main.dead_\(number) SELECT * FROM new.dead_\(number);
                        INSERT INTO main.same_\(number) SELECT * FROM new.same_\(number);
                        """)
            }
            try db.execute(sql: "DETACH DATABASE new")
        }
        try queue.close()
        let sequence = BaselineName(file.lastComponent!.string)!.sequence
        let name = BaselineName(sequence: sequence, hash: ContentHash(of: try LinuxFileLayer().read(draft, limit: 1 << 24)))
        try LinuxFileLayer().remove(file)
        try LinuxFileLayer().renameNew(draft, to: file.removingLastComponent().appending(name.description))
    }

    @Test("a baseline of format 1 is read by a new store, by one with records and by a rebuild, and the next roll writes format 2")
    func reading() async throws {
        try await withDevices(3) { devices, root in
            let (first, behind) = (try await devices[0].open(), try await devices[1].open())
            try await first.execute("INSERT INTO person (id, first) VALUES ('0', 'Zero'), ('1', 'One'), ('2', 'Two')")
            try await settle(first, behind)
            try await behind.close()
            try await first.execute("DELETE FROM person WHERE id = '1'; UPDATE person SET last = 'L' WHERE id = '2'")
            try await first.execute("INSERT INTO person (id, first) VALUES ('3', 'Three')")
            try await first.rollBaseline()
            let file = try #require(try await baselines(root, first).first)
            #expect(try format(file) == BaselineSchema.format)
            try rewrite(file)
            // Nothing but the baseline says what has happened since.
            let logs = root.appending("alice/org.example.test/CoreData/People/\(try await first.status().peer)/1")
            for name in try LinuxFileLayer().names(in: logs) where name.hasSuffix(".ublog") { try LinuxFileLayer().remove(logs.appending(name)) }

            let (again, new) = (try await devices[1].open(), try await devices[2].open())
            for store in [again, new] {
                try await store.settled()
                #expect(try await store.rows(rows) == first.rows(rows))
                #expect(try await store.status().quarantined.isEmpty)
            }
            try await new.rebuildFromUbiquitousContent()
            #expect(try await new.rows(rows) == first.rows(rows))
            // What the baseline says to be dead stays dead, and its stamps count.
            try await again.execute("UPDATE person SET last = 'M' WHERE id = '2'")
            try await settle(again, new)
            #expect(try await new.rows("SELECT id, last FROM person WHERE id IN ('1', '2')") == [["2", "M"]])
            try await new.rollBaseline()
            #expect(try format(try #require(try await baselines(root, new).last)) == BaselineSchema.format)
            for store in [first, again, new] { try await store.close() }
        }
    }
}
