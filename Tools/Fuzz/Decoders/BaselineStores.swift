import Foundation
import GRDB
import Synchronization
import SystemPackage
import UbiquityContainers
import UbiquityStores

/// Valid baselines, and the stores that try other baselines: an empty store, and one with its own records.
struct BaselineStores {
    private static let shared = Mutex(try! BaselineStores())

    /// The output of stores: plain records, related records, and large values.
    static var seeds: [[UInt8]] { shared.withLock { $0.baselines } }

    private let baselines: [[UInt8]]
    private let empty: BaselineTrial
    private let full: BaselineTrial

    private static let directory = FilePath(FileManager.default.temporaryDirectory.appending(path: "ubiquity-fuzz-\(UUID().uuidString)").path)

    private static let author = PeerIdentifier("alice~0785bf93-b82f-4b53-9fa1-b45b2ee096c3")!
    private static let other = PeerIdentifier("alice~1fac08f1-c2e6-4047-92c5-93ca8ffd2ed6")!
    private static let reader = PeerIdentifier("alice~2ab1c9c4-8c8e-4f0c-8a53-7f0a4c0d7c11")!

    private init() throws {
        atexit { try? FileManager.default.removeItem(atPath: BaselineStores.directory.string) }
        func store(_ name: String, of peer: PeerIdentifier) throws -> BaselineTrial {
            let place = Self.directory.appending(name)
            try FileManager.default.createDirectory(atPath: place.string, withIntermediateDirectories: true)
            return try BaselineTrial(in: place, of: peer, schema: Self.schema)
        }
        let plain = try store("plain", of: Self.author)
        try plain.save { db in try db.execute(sql: Self.notes) }
        try plain.save { db in try db.execute(sql: "UPDATE note SET title = 'T' WHERE id = 'n2'; DELETE FROM note WHERE id = 'n3'; DELETE FROM count")
        }
        let large = try store("large", of: Self.author)
        try large.save { db in
            try db.execute(
                sql:
                    "INSERT INTO note (id, body) VALUES ('text', printf('%.9000c', 'x')); INSERT INTO note (id, body) VALUES ('blob', zeroblob(9000))"
            )
        }
        let related = try store("related", of: Self.author)
        let neighbour = try store("neighbour", of: Self.other)
        try related.save { db in try db.execute(sql: Self.people) }
        try neighbour.save { db in
            try db.execute(sql: "INSERT INTO person VALUES ('q1', 'ann@x', 'Anna'), ('q2', 'cy@x', 'Cy'); INSERT INTO pet VALUES (x'07', 'q1', 1)")
        }
        if let fault = try neighbour.join(related.roll()!, of: Self.author) { fatalError("a sound baseline is refused: \(fault)") }
        try neighbour.save { db in try db.execute(sql: "DELETE FROM person WHERE id = 'p2'") }
        try related.save { db in try db.execute(sql: "INSERT INTO pet VALUES (x'08', 'p2', 2); INSERT INTO friendship VALUES ('p1', 'p2', 3)") }
        if let fault = try related.join(neighbour.roll()!, of: Self.other) { fatalError("a sound baseline is refused: \(fault)") }
        baselines = [try plain.roll()!, try related.roll()!, try large.roll()!]
        empty = try store("empty", of: Self.reader)
        full = try store("full", of: Self.reader)
        try full.save { db in
            try db.execute(sql: Self.notes)
            try db.execute(sql: Self.people)
            try db.execute(
                sql: "INSERT INTO person VALUES ('r1', 'cy@x', 'Cyan'); INSERT INTO pet VALUES (x'09', 'r1', 3); DELETE FROM note WHERE id = 'n2'")
        }
    }

    /// Joins a baseline into both stores, and traps if the result is neither a join nor a refusal.
    ///
    /// - Parameter bytes: the bytes of a baseline, or of a script that changes a valid one.
    static func read(_ bytes: [UInt8]) { shared.withLock { $0.read(bytes) } }

    private func read(_ bytes: [UInt8]) {
        var baseline = bytes
        if !bytes.starts(with: "SQLite".utf8) {
            guard let made = BaselineScript(bytes).run(on: baselines, in: Self.directory) else { return }
            baseline = made
        }
        for (name, store) in [("empty", empty), ("full", full)] {
            do {
                // Its number follows the one that the author of the related records has written before.
                for sequence: Int64 in [1, 2] where try store.attempt(baseline, of: Self.author, sequence: sequence) == nil { break }
            } catch {
                fatalError("the \(name) store: \(error)")
            }
        }
    }

    private static let notes = """
        INSERT INTO note (id, title, body, rank) VALUES ('n1', 'One', 1.5, 1), ('n2', 'Two', x'0001', 2), ('n3', NULL, 'b', 3);
        INSERT INTO count (id, total) VALUES (1, 10), (7, -1);
        """

    private static let people = """
        INSERT INTO person VALUES ('p1', 'ann@x', 'Ann'), ('p2', 'bob@x', 'Bob');
        INSERT INTO pet VALUES (x'01', 'p1', 1), (x'02', NULL, 2);
        INSERT INTO friendship VALUES ('p1', 'p1', 1);
        """

    private static var schema: SyncedSchema {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.execute(
                sql: """
                    CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, title TEXT, body, rank INTEGER NOT NULL DEFAULT 5, seen INTEGER DEFAULT 0);
                    CREATE TABLE count (id INTEGER NOT NULL PRIMARY KEY, total INTEGER, least INTEGER, first TEXT);
                    CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, email TEXT UNIQUE, name TEXT COLLATE NOCASE);
                    CREATE TABLE pet (id BLOB NOT NULL PRIMARY KEY, owner TEXT REFERENCES person ON DELETE SET NULL, kind INTEGER NOT NULL CHECK (kind < 10));
                    CREATE TABLE friendship (
                        one TEXT NOT NULL REFERENCES person ON DELETE CASCADE, other TEXT NOT NULL REFERENCES person ON DELETE CASCADE, since,
                        PRIMARY KEY (one, other)) WITHOUT ROWID;
                    """)
        }
        return SyncedSchema(migrator: migrator) {
            SyncedTable("note", together: [["title", "body"]], excluding: ["seen"])
            SyncedTable("count", columns: ["total": .maximum, "least": .minimum, "first": .firstWriter], assignsIntegerKeys: true)
            SyncedTable("person", unique: [["email"]])
            SyncedTable("pet")
            SyncedTable("friendship")
        }
    }
}
