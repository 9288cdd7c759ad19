import GRDB
import SystemPackage
import Testing
import UbiquityTesting

@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// Random work of devices: what follows a store by its changes alone holds its rows.
struct ChangeReplicaTests {
    private static let tables = ["list", "song", "note"]
    private static let schema = SyncedSchema(
        migrator: migrator(
            """
            CREATE TABLE list (id TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE song (id TEXT NOT NULL PRIMARY KEY, list TEXT NOT NULL REFERENCES list (id) ON DELETE CASCADE, title TEXT UNIQUE, position INTEGER);
            CREATE TABLE note (day INTEGER NOT NULL, place TEXT NOT NULL, text, high INTEGER, PRIMARY KEY (day, place)) WITHOUT ROWID;
            """)
    ) {
        SyncedTable("list", unique: [["name"]])
        SyncedTable("song", exclusive: [["title"]])
        SyncedTable("note", columns: ["high": .maximum])
    }

    private static func statement(_ random: inout SeededRandom) -> String {
        func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }
        let (song, list, title) = ("'s\(number(0..<6))'", "'l\(number(0..<3))'", ["NULL", "'x'", "'y'"][number(0..<3)])
        let note = "(\(number(0..<3)), '\(number(0..<2))', \(number(0..<4)), \(number(0..<9)))"
        switch number(0..<14) {
        case 0..<3: return "INSERT OR IGNORE INTO song VALUES (\(song), \(list), \(title), \(number(0..<9)))"
        case 3: return "UPDATE OR IGNORE song SET title = \(title), position = \(number(0..<9)) WHERE id = \(song)"
        case 4: return "UPDATE OR IGNORE song SET id = 't' || id WHERE id = \(song)"
        case 5: return "DELETE FROM song WHERE id = \(song)"
        case 6, 7: return "INSERT OR IGNORE INTO list VALUES (\(list), 'n\(number(0..<2))')"
        case 8: return "DELETE FROM list WHERE id = \(list)"
        case 9: return "INSERT OR REPLACE INTO song VALUES (\(song), \(list), \(title), 1)"
        case 10: return "INSERT OR REPLACE INTO note VALUES \(note)"
        case 11: return "INSERT OR IGNORE INTO note VALUES \(note)"
        case 12: return "UPDATE note SET text = text + 1, high = \(number(0..<9)) WHERE day = \(number(0..<3))"
        default: return "DELETE FROM note WHERE day = \(number(0..<3))"
        }
    }

    /// Two devices, the first of which has two openings of its store file.
    private struct World {
        var devices: [TestDevice]
        var stores: [UbiquitousStore]
        var random: SeededRandom
        let history: HistoryRetention

        mutating func step() async throws {
            let index = Int.random(in: 0..<stores.count, using: &random)
            let store = stores[index]
            for device in devices { device.clock.advance(by: Double.random(in: 0..<5, using: &random)) }
            let statements = (0..<Int.random(in: 1..<4, using: &random)).map { _ in ChangeReplicaTests.statement(&random) }
            do {
                switch Int.random(in: 0..<6, using: &random) {
                case 0:
                    // A program that knows nothing of stores, one transaction for each statement.
                    for statement in statements {
                        let queue = try DatabaseQueue(path: store.file.string)
                        defer { try? queue.close() }
                        try await queue.write { db in try db.execute(sql: statement) }
                    }
                default:
                    try await store.write { db in for statement in statements { try db.execute(sql: statement) } }
                }
            } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
                // There was no save.
            }
            switch Int.random(in: 0..<40, using: &random) {
            case 0..<10: try await store.settled()
            case 10..<13: try await store.publish()
            case 13: try await store.rollBaseline()
            case 14:
                try await store.settled()
                try? await store.rebuildFromUbiquitousContent()
            case 15 where index > 0: try await store.removeUbiquitousContent(.removeEverythingOnAllDevices(contentName: "People"))
            case 16:
                try await store.close()
                stores[index] = try await devices[max(0, index - 1)].open(ChangeReplicaTests.schema, history: history)
            default: break
            }
        }
    }

    @Test(
        "T-64: who reads the changed records, at any time and in pages of any size, holds exactly the store's rows, over random work of two devices",
        arguments: 1...14)
    func follows(seed: UInt64) async throws {
        try await withDevices(2) { devices, _ in
            // With some seeds, so little is kept that tokens expire.
            let history = seed % 4 == 0 ? HistoryRetention(count: 40, days: 1) : HistoryRetention()
            var stores: [UbiquitousStore] = []
            for device in [devices[0], devices[0], devices[1]] { stores.append(try await device.open(Self.schema, history: history)) }
            for store in stores { try await store.settled() }
            var world = World(devices: devices, stores: stores, random: SeededRandom(seed: seed), history: history)
            var copies = [FollowingCopy(of: Self.tables), FollowingCopy(of: Self.tables)]
            for round in 0..<120 {
                try await world.step()
                for index in copies.indices where Int.random(in: 0..<(seed % 4 == 0 ? 30 : 3), using: &world.random) == 0 {
                    let limit = Bool.random(using: &world.random) ? nil : Int.random(in: 1..<20, using: &world.random)
                    _ = try await copies[index].advance(world.stores[index + 1], limit: limit)
                }
                guard round % 40 == 39 else { continue }
                for index in copies.indices {
                    try await copies[index].catchUp(world.stores[index + 1], limit: 3)
                    let differences = try await copies[index].differences(from: world.stores[index + 1])
                    #expect(differences == [], "seed \(seed), round \(round), copy \(index)")
                }
            }
            for store in world.stores { try await store.close() }
        }
    }
}
