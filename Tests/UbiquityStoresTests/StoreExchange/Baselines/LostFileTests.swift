import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// A device loses its store file, and what it wrote before comes back to it by a baseline alone.
///
/// The clocks stand, so that what is written before and after has equal stamps but for the author.
struct LostFileTests {
    /// Where what the lost file had said is still to be found.
    enum Place: CaseIterable {
        case ownBaseline, othersBaseline
    }

    private func lose(_ store: UbiquitousStore) async throws {
        try await store.close()
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store.file.string + suffix) }
    }

    @Test("Whoever has lost its store file and writes before it has read the content: the value that loses is listed", arguments: Place.allCases)
    func listed(place: Place) async throws {
        try await withDevices(2) { devices, root in
            let (first, other) = (try await devices[0].open(), try await devices[1].open())
            try await first.execute("INSERT INTO person (id, first) VALUES ('p', 'before')")
            try await settle(first, other, first)
            let lost = try await first.status().peer
            try await (place == .ownBaseline ? first : other).rollBaseline()
            try await settle(first, other, first)
            try await lose(first)
            if place == .othersBaseline {
                let directory = root.appending("alice/org.example.test/CoreData/People/\(lost)")
                try FileManager.default.removeItem(atPath: directory.string)
            }
            let again = try await devices[0].open()
            try sqlite3(again.file, "INSERT INTO person (id, first) VALUES ('p', 'after')")
            try await settle(again, other, again)
            #expect(try await again.status().peer != lost)
            let shown = try await again.rows("SELECT first FROM person")
            #expect(try await other.rows("SELECT first FROM person") == shown)
            let listed = try await again.read { db in try ConflictHistory(db).list() }.flatMap(\.lost).map(\.value.description)
            // The other has read both logs; here one came by a baseline.
            #expect(listed == (shown == [["after"]] ? ["before"] : ["after"]))
        }
    }

    @Test(
        "Of two values that a restored copy has given one stamp, the one that loses is listed, whichever comes by a baseline", arguments: ["a", "c"])
    func restored(value: String) async throws {
        try await withDevices(1) { devices, _ in
            var store = try await devices[0].open()
            try await store.settled()
            let copy = devices[0].directory.appending("copy.sqlite")
            try await store.close()
            try sqlite3(store.file, "PRAGMA wal_checkpoint(TRUNCATE)")
            try FileManager.default.copyItem(atPath: store.file.string, toPath: copy.string)
            store = try await devices[0].open()
            try await store.execute("INSERT INTO person (id, first) VALUES ('p', ?)", [value])
            try await store.settled()
            // Nobody else reads the logs: they go.
            try await store.rollBaseline()
            try await lose(store)
            try FileManager.default.moveItem(atPath: copy.string, toPath: store.file.string)
            store = try await devices[0].open()
            try sqlite3(store.file, "INSERT INTO person (id, first) VALUES ('p', 'b')")
            try await store.settled()
            #expect(try await store.rows("SELECT first FROM person") == [[max(value, "b")]])
            #expect(try await store.conflicts().flatMap(\.lost).map(\.value.description) == [min(value, "b")])
        }
    }
}
