import GRDB
import SystemPackage
import Testing
import UbiquityContainers

@testable import StoreRecords
@testable import UbiquityStores

/// Large write-ahead logs.
struct LogCheckpointTests {
    private func walSize(_ store: UbiquitousStore) throws -> Int64 { try LinuxFileLayer().size(of: FilePath(store.file.string + "-wal")) }

    @Test("a log of 16 MB is moved beside the store's work, a small one is left, and later commits move theirs as before")
    func moving() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open()
            let (file, pool) = (store.current.file, store.current.file.pool)
            func begin() async throws {
                try await pool.writeWithoutTransaction { db in try file.checkpoint.begin(file.path, pool, after: db) }
                file.checkpoint.wait()
            }
            func autocheckpoint() async throws -> Int? {
                try await pool.writeWithoutTransaction { db in try Int.fetchOne(db, sql: "PRAGMA wal_autocheckpoint") }
            }
            let usual = try await autocheckpoint()
            try await pool.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA wal_autocheckpoint = 0") }
            try await store.execute("CREATE TABLE bulk (bytes BLOB)")
            try await begin()
            let before = try LinuxFileLayer().size(of: file.path)
            #expect(try await autocheckpoint() == 0, "a small log is nobody's business")

            try await pool.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA wal_autocheckpoint = \(usual ?? 1000)") }
            // In one transaction: each commit above 1,000 pages would move the log itself.
            try await pool.write { db in
                try db.execute(sql: "PRAGMA wal_autocheckpoint = 0")
                for _ in 0..<18 { try db.execute(sql: "INSERT INTO bulk VALUES (randomblob(1000000))") }
            }
            try await pool.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA wal_autocheckpoint = \(usual ?? 1000)") }
            #expect(try walSize(store) > 16 << 20)
            #expect(try LinuxFileLayer().size(of: file.path) == before, "nothing has moved it yet")
            try await begin()
            #expect(try LinuxFileLayer().size(of: file.path) > 16 << 20)
            #expect(try await autocheckpoint() == usual)
            #expect(try await store.rows("SELECT count(*) FROM bulk") == [["18"]])
            try await store.close()
        }
    }
}
