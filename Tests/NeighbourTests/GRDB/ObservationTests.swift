import Foundation
import GRDB
import Testing
import Ubiquity
import Waiting

/// GRDB's observations, and what they tell of other devices.
struct ObservationTests {
    @Test("A ValueObservation tells of what the other device saves")
    func values() async throws {
        try await withTwoDevices(Library.schema) { two in
            let observation = ValueObservation.tracking { db in try Author.order(Author.Columns.name).fetchAll(db).map(\.name) }.removeDuplicates()
            let names = observation.values(in: two.phone).limited("the authors").makeAsyncIterator()
            #expect(try await names.next() == [])
            _ = try await Library.fill(two.desk)
            try await two.sync()
            #expect(try await names.next() == ["Ursula"])
        }
    }

    @Test("The differences of an observed list, as a table view wants them, come from another device's saves too")
    func differences() async throws {
        try await withTwoDevices(Library.schema) { two in
            let (_, books) = try await Library.fill(two.desk)
            try await two.sync()
            let observation = ValueObservation.tracking { db in try Book.all().orderedByTitle().fetchAll(db) }.removeDuplicates()
            let lists = observation.values(in: two.phone).limited("the books").makeAsyncIterator()
            let before = try #require(try await lists.next())
            try await two.desk.write { db in _ = try books[0].delete(db) }
            try await two.sync()
            let difference = try #require(try await lists.next()).difference(from: before)
            #expect(difference.removals.count == 1 && difference.insertions.isEmpty)
        }
    }

    @Test("A DatabaseRegionObservation tells of an import's transaction, while the store stays with its file")
    func regions() async throws {
        try await withTwoDevices(Library.schema) { two in
            let (changes, changed) = AsyncStream.makeStream(of: Int.self)
            let observation = DatabaseRegionObservation(tracking: Author.all())
            let observing = observation.start(in: two.phone) { _ in
                changed.finish()
            } onChange: { db in
                changed.yield((try? Author.fetchCount(db)) ?? -1)
            }
            defer { observing.cancel() }
            _ = try await Library.fill(two.desk)
            try await two.sync()
            let counts = changes.limited("a change of the authors").makeAsyncIterator()
            #expect(try await counts.next() == 1)
        }
    }
}
