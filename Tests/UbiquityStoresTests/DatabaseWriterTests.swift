import GRDB
import Testing

@testable import UbiquityStores

/// A store where GRDB takes a database.
struct DatabaseWriterTests {
    private func insert(_ id: String) -> @Sendable (Database) throws -> Void {
        { db in try db.execute(sql: "INSERT INTO person (id) VALUES (?)", arguments: [id]) }
    }

    /// GRDB's ways of writing, outside of any task.
    private func writeAll(_ writer: any DatabaseWriter) throws {
        try writer.write(insert("write"))
        try writer.writeWithoutTransaction(insert("without"))
        try writer.barrierWriteWithoutTransaction(insert("barrier"))
        try writer.unsafeReentrantWrite(insert("reentrant"))
        try writer.unsafeReentrantWrite { _ in try writer.unsafeReentrantWrite(insert("within")) }
    }

    @Test("what is written in any of GRDB's ways is sealed by then, each as a save, also where an error is thrown behind it")
    func writes() async throws {
        try await withDevices(2) { devices, _ in
            let store = try await devices[0].open()
            let writer: any DatabaseWriter = store
            try writeAll(writer)
            try await writer.write(insert("async"))
            try await writer.barrierWriteWithoutTransaction(insert("async barrier"))
            struct Failure: Error {}
            await #expect(throws: Failure.self) {
                try await writer.writeWithoutTransaction { db in
                    try insert("failed")(db)
                    throw Failure()
                }
            }
            let (ends, end) = AsyncStream.makeStream(of: Void.self)
            writer.asyncWriteWithoutTransaction { db in try? insert("later")(db) }
            // The writer's queue is served in order.
            writer.asyncWriteWithoutTransaction { _ in end.finish() }
            for await _ in ends {}
            let keys = try await store.sealedLogs().map { try $0.changes.map { $0.dropFirst("person/".count).prefix { $0 != "1" } } }
            #expect(
                keys.map { $0.joined() } == [
                    "write ", "without ", "barrier ", "reentrant ", "within ", "async ", "async barrier ", "failed ", "later ",
                ])
            let other = try await devices[1].open()
            try await settle(store, other)
            #expect(try await other.rows("SELECT count(*) FROM person") == [["9"]])
        }
    }

    @Test("an observation started in a store sees saves and imports")
    func observation() async throws {
        try await withDevices(2) { devices, _ in
            let (store, other) = (try await devices[0].open(), try await devices[1].open())
            let people = ValueObservation.tracking { db in try String.fetchAll(db, sql: "SELECT id FROM person ORDER BY id") }.removeDuplicates()
            var seen = people.values(in: store).makeAsyncIterator()
            #expect(try await seen.next() == [])
            try await store.write(insert("a"))
            #expect(try await seen.next() == ["a"])
            try await other.write(insert("b"))
            try await other.settled()
            try await store.settled()
            #expect(try await seen.next() == ["a", "b"])
        }
    }
}
