import GRDB
import SystemPackage
import Testing
import Waiting

@testable import StoreFormat
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
            for try await _ in ends.limited("the writer's queue") {}
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
            let seen = people.values(in: store).limited().makeAsyncIterator()
            #expect(try await seen.next() == [])
            try await store.write(insert("a"))
            #expect(try await seen.next() == ["a"])
            try await other.write(insert("b"))
            try await other.settled()
            try await store.settled()
            #expect(try await seen.next() == ["a", "b"])
        }
    }

    @Test("reads, writes in each of GRDB's ways and observations go on while the file beneath is changed, and no write is left behind")
    func change() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open()
            let first = store.file
            let ids = ValueObservation.tracking { db in try String.fetchSet(db, sql: "SELECT id FROM person") }
            let (values, saw) = AsyncStream.makeStream(of: Set<String>.self)
            let observation = ids.start(in: store, scheduling: .task, onError: { _ in saw.finish() }, onChange: { saw.yield($0) })
            let (failures, fail) = AsyncStream.makeStream(of: String.self)
            let faulty = ValueObservation.tracking { db in try Int.fetchOne(db, sql: "SELECT sum(x) FROM missing") }
                .start(in: store, scheduling: .task, onError: { fail.yield("\($0)") }, onChange: { _ in })
            let failing = failures.limited().makeAsyncIterator()
            _ = try await failing.next()
            // GRDB tells the store of a failure behind the handler above.
            try await until("the store has forgotten the failed observation") { store.observations.count == 1 }
            let writer: any DatabaseWriter = store
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<3 {
                    group.addTask {
                        for count in 0..<100 {
                            switch number {
                            case 0: try await store.write(insert("own\(count)"))
                            case 1: try await writer.writeWithoutTransaction(insert("grdb\(count)"))
                            default: writer.asyncWriteWithoutTransaction { db in try? insert("late\(count)")(db) }
                            }
                            _ = try await store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM person") }
                        }
                    }
                }
                for number in 1...3 {
                    try await store.change(to: first.removingLastComponent().appending("Other\(number).sqlite"))
                }
                try await group.waitForAll()
            }
            try await writer.writeWithoutTransaction { _ in }
            #expect(store.file != first)
            try await store.settled()
            let expected = Set(["own", "grdb", "late"].flatMap { kind in (0..<100).map { "\(kind)\($0)" } })
            #expect(try await store.read { db in try String.fetchSet(db, sql: "SELECT id FROM person") } == expected)
            for try await value in values.limited("all that was written") where value == expected { break }
            // Ended ones are not begun again.
            observation.cancel()
            try await store.change(to: first)
            try await store.write(insert("unseen"))
            try await store.settled()
            fail.finish()
            #expect(try await failing.next() == nil)
            saw.finish()
            for await value in values { #expect(!value.contains("unseen")) }
            faulty.cancel()
        }
    }
}
