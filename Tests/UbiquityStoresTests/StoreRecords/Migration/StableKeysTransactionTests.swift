import Foundation
import GRDB
import Synchronization
import SystemPackage
import Testing
import UbiquityStores

/// A conversion of keys runs completely or not at all, and costs few statements.
struct StableKeysTransactionTests {
    @Test("tables with 100,000 rows are converted in as many statements as tables with ten")
    func statements() async throws {
        try await withTemporaryDirectory { directory in
            var counts: [Int] = []
            for rows in [10, 100_000] {
                let file = directory.appending("\(rows).sqlite")
                let meter = SQLiteMeter(below: file)
                let queue = try DatabaseQueue(path: file.string)
                try await queue.write { db throws in
                    try db.execute(
                        sql: """
                            CREATE TABLE node (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES node, text TEXT); CREATE INDEX by_parent ON node (parent);
                            WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
                            INSERT INTO node SELECT i, nullif(i / 2, 0), 'Text ' || i FROM n
                            """)
                }
                meter.reset()
                try StableKeys("node").migrate(queue)
                counts.append(meter.runs.count)
                try await queue.read { db throws in
                    let right = "SELECT count(*) FROM node JOIN node AS parent ON parent.id = node.parent WHERE parent.rowid = node.rowid / 2"
                    #expect(try Int.fetchOne(db, sql: right) == rows - 1)
                }
                try queue.close()
            }
            #expect(counts[0] > 0 && counts[0] == counts[1])
        }
    }

    @Test("an error in the middle leaves every byte of the file")
    func rollback() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("app.sqlite").string
            let queue = try DatabaseQueue(path: path)
            var migrator = DatabaseMigrator()
            migrator.registerMigration("v1") { db in
                try db.execute(
                    sql: """
                        CREATE TABLE artist (id INTEGER PRIMARY KEY); INSERT INTO artist VALUES (1), (2);
                        CREATE TABLE album (id INTEGER PRIMARY KEY, artist INTEGER REFERENCES artist CHECK (typeof(artist) = 'integer')); INSERT INTO album VALUES (1, 2);
                        """)
            }
            try migrator.migrate(queue)
            try queue.close()
            let before = try Data(contentsOf: URL(filePath: path))
            migrator.registerMigration("stable keys") { db in try StableKeys("artist", "album").accepting("album").convert(db) }
            let again = try DatabaseQueue(path: path)
            let error = #expect(throws: UbiquitousStoreError.self) { try migrator.migrate(again) }
            #expect(error?.message.contains("Rows of “album” break a constraint") ?? false)
            try again.close()
            #expect(try Data(contentsOf: URL(filePath: path)) == before)
        }
    }

    @Test("a process that is killed in the middle leaves the database as it was")
    func killed() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending("app.sqlite")
            // What a kill would leave: the file and its journal at the moment before a statement.
            let copies = Mutex<[FilePath]>([])
            _ = SQLiteMeter(below: file) { _, sql in
                guard sql.contains("ubiquity_old_0") || sql.hasPrefix("CREATE INDEX") else { return }
                let copy = copies.withLock { copies in
                    copies.append(directory.appending("copy-\(copies.count).sqlite"))
                    return copies.last!
                }
                for suffix in ["", "-journal"] { try? FileManager.default.copyItem(atPath: file.string + suffix, toPath: copy.string + suffix) }
            }
            let queue = try keyedFile(
                file,
                """
                CREATE TABLE node (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES node, text TEXT);
                WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
                INSERT INTO node SELECT i, nullif(i / 2, 0), hex(randomblob(200)) FROM n; CREATE INDEX by_parent ON node (parent);
                """)
            copies.withLock { $0 = [] }
            let before = try await queue.read { db in try wholeContent(db) }
            let original = try Data(contentsOf: URL(filePath: file.string))
            // Pages that do not fit into the cache are written before the commit.
            try await queue.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA cache_size = 10") }
            try StableKeys("node").migrate(queue)
            let made = copies.withLock { $0 }
            #expect(made.count > 3)
            // A copy whose pages have changed needs its journal.
            #expect(
                made.contains { copy in
                    (try? Data(contentsOf: URL(filePath: copy.string))) != original
                        && FileManager.default.fileExists(atPath: copy.string + "-journal")
                })
            for copy in made {
                let left = try DatabaseQueue(path: copy.string)
                #expect(try await left.read { db in try wholeContent(db) } == before)
                try left.close()
            }
            #expect(try await queue.read { db in try wholeContent(db) } != before)
            try queue.close()
        }
    }
}
