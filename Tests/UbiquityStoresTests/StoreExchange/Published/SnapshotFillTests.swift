import Foundation
import GRDB
import StoreExchange
import StoreRecords
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreAuthority
@testable import UbiquityStores

/// How a reader of a public place fills its tables from snapshots.
struct SnapshotFillTests {
    private static func publishing(inParts: Bool = true) -> PlacePublishing {
        var publishing = PlacePublishing()
        if inParts { publishing.recordsInOnePart = 1 }
        return publishing
    }

    /// A text for each living record, with its values, its life and its stamps; one for each record that is hidden.
    private static func registers(_ store: UbiquitousStore) async throws -> [String] {
        try await store.read { db in
            let score = try #require(KnownTable.all(db).first { $0.name == "score" }).shape(.creator("player"), db)
            return try String.fetchAll(
                db,
                sql: """
                    SELECT player || '/' || s.id || '=' || points || ' ' || life || ' ' || time || ' ' || name || ' ' || hex(coalesce(others, '')) AS row
                    FROM score s JOIN \(score.clockTable) c ON c.rid = s.rowid JOIN ubiquity_peer p ON p.number = c.peer
                    UNION ALL SELECT k0 || '/' || k1 || ' hidden ' || held FROM \(score.asideTable) ORDER BY row
                    """)
        }
    }

    @Test(
        "P-20: tables that are filled again and again in parts hold the publisher's values, lives and stamps, however many records have died",
        arguments: [UInt64(1), 2])
    func refilled(_ seed: UInt64) async throws {
        try await PublicWorld.with { world in
            var random = SeededRandom(seed: seed)
            let devices = try (0..<4).map { try world.player("player\($0)") }
            var players: [(PublicDevice, UbiquitousStore)] = []
            for device in devices { players.append((device, try await device.open())) }
            let owner = try await world.owner.open()
            for (_, store) in players { try await settle(store, owner) }
            var readers: [UbiquitousStore] = []
            for turn in 0..<24 {
                for _ in 0..<3 {
                    let (device, store) = players.randomElement(using: &random)!
                    let id = "r\(Int.random(in: 0..<4, using: &random))"
                    switch Int.random(in: 0..<4, using: &random) {
                    case 0, 1: try await store.execute("DELETE FROM score WHERE player = '\(device.name)' AND id = '\(id)'")
                    default: try await store.execute("INSERT OR REPLACE INTO score VALUES ('\(device.name)', '\(id)', \(turn))")
                    }
                    try await settle(store, owner)
                }
                // Every second edition has new snapshots, and no reader can catch up with logs from before the last but one.
                world.owner.clock.advance(by: Double.random(in: 0..<2 * 86400, using: &random))
                var publishing = Self.publishing()
                publishing.retention = .seconds(86400)
                _ = try await owner.publishPlace(to: world.published, publishing)
                if turn % 5 == 0 { readers.append(try await world.placeReader("reader\(turn)").open()) }
                for reader in readers where Int.random(in: 0..<6, using: &random) == 0 {
                    try await reader.settled()
                    #expect(try await Self.registers(reader) == Self.registers(owner), "turn \(turn)")
                }
            }
            for reader in readers {
                try await reader.settled()
                #expect(try await Self.registers(reader) == Self.registers(owner))
            }
            for store in players.map(\.1) + [owner] + readers { try await store.close() }
        }
    }

    @Test("P-34: a first read takes in a part of a table with one statement, and not each record with its own; blocks hold")
    func whole() async throws {
        try await PublicWorld.with { world in
            let (ann, bob) = (try world.player("ann"), try world.player("bob"))
            let (first, second, owner) = (try await ann.open(), try await bob.open(), try await world.owner.open())
            try await settle(first, second, owner)
            for (device, store) in [(ann, first), (bob, second)] {
                try await store.write { db in
                    for id in 0..<50 { try db.execute(sql: "INSERT INTO score VALUES ('\(device.name)', 'r\(id)', \(id))") }
                }
            }
            try await settle(first, second, owner)
            try await owner.write { db in try Moderation(db).block(bob.account!, reason: "spam") }
            try await settle(owner)
            let edition = try await owner.publishPlace(to: world.published, Self.publishing())
            let device = world.placeReader("reader")
            let meter = SQLiteMeter(below: device.directory)
            let reader = try await device.open()
            try await reader.settled()
            #expect(try await Self.registers(reader) == Self.registers(owner))
            #expect(try await reader.game == (0..<50).map { score(ann, "r\($0)", $0) }.sorted())
            let fills = meter.runs.filter { $0.sql.contains("INTO main.\"score\"") && $0.sql.contains("SELECT") }
            let parts = try #require(edition.head.tables["score"]).parts.count
            #expect(parts == 32 && fills.count == parts)
            let single = meter.runs.filter { $0.sql.contains("INTO \"score\"") && $0.sql.contains("VALUES") }
            #expect(single.isEmpty, "\(single.count) records were joined by themselves")
            for store in [first, second, owner, reader] { try await store.close() }
        }
    }

    @Test("P-34: a first read hides what is beyond an account's limit, and counts what comes later against the limit", arguments: [false, true])
    func limited(inParts: Bool) async throws {
        try await PublicWorld.with { world in
            let (ann, bob) = (try world.player("ann"), try world.player("bob"))
            let (first, second, owner) = (try await ann.open(), try await bob.open(), try await world.owner.open())
            try await settle(first, second, owner)
            _ = try await owner.runner.signPolicy { $0.limits.records = 3 }
            try await settle(first, second, owner)
            let reader = try await world.placeReader("reader").open()
            func agree(_ expected: [String]) async throws {
                try await settle(first, second, owner)
                world.owner.clock.advance(by: 1)
                _ = try await owner.publishPlace(to: world.published, Self.publishing(inParts: inParts))
                try await reader.settled()
                for store in [owner, reader] { #expect(try await store.game == expected.sorted()) }
                #expect(try await Self.registers(reader) == Self.registers(owner))
            }
            for id in ["a", "b", "c", "d", "e"] { try await first.execute("INSERT INTO score VALUES ('\(ann.name)', '\(id)', 1)") }
            for id in ["b", "d"] { try await second.execute("INSERT INTO score VALUES ('\(bob.name)', '\(id)', 2)") }
            let (three, two) = (["a", "b", "c"].map { score(ann, $0, 1) }, ["b", "d"].map { score(bob, $0, 2) })
            try await agree(three + two)
            for id in ["c", "e"] { try await second.execute("INSERT INTO score VALUES ('\(bob.name)', '\(id)', 2)") }
            try await agree(three + two + [score(bob, "c", 2)])
            try await first.execute("DELETE FROM score WHERE player = '\(ann.name)' AND id IN ('a', 'b')")
            try await agree(["c", "d", "e"].map { score(ann, $0, 1) } + two + [score(bob, "c", 2)])
            for store in [first, second, owner, reader] { try await store.close() }
        }
    }

    @Test("P-34: a snapshot from before a lower limit and a block is taken in as both decide by then", arguments: [false, true])
    func decidedLater(inParts: Bool) async throws {
        try await PublicWorld.with { world in
            let (ann, bob) = (try world.player("ann"), try world.player("bob"))
            let (first, second, owner) = (try await ann.open(), try await bob.open(), try await world.owner.open())
            try await settle(first, second, owner)
            for (device, store) in [(ann, first), (bob, second)] {
                for id in ["a", "b", "c", "d"] { try await store.execute("INSERT INTO score VALUES ('\(device.name)', '\(id)', 1)") }
            }
            try await settle(first, second, owner)
            _ = try await owner.publishPlace(to: world.published, Self.publishing(inParts: inParts))
            _ = try await owner.runner.signPolicy { $0.limits.records = 3 }
            try await settle(first, second, owner)
            try await owner.write { db in try Moderation(db).block(bob.account!, reason: "spam") }
            try await settle(owner)
            // With new snapshots due, a reader knows both decisions before it fills the scores.
            world.owner.clock.advance(by: 2 * 86400)
            let edition = try await owner.publishPlace(to: world.published, Self.publishing(inParts: inParts))
            #expect(edition.head.snapshot == edition.number && edition.number > 1)
            let reader = try await world.placeReader("reader").open()
            try await reader.settled()
            for store in [owner, reader] { #expect(try await store.game == ["a", "b", "c"].map { score(ann, $0, 1) }) }
            #expect(try await Self.registers(reader) == Self.registers(owner))
            for store in [first, second, owner, reader] { try await store.close() }
        }
    }

    @Test("A record of any number of lives that the publisher took in keeps no reader from its snapshot")
    func manyLives() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let (store, owner) = (try await ann.open(), try await world.owner.open())
            try await settle(store, owner)
            try await store.execute("INSERT INTO score VALUES ('\(ann.name)', 'a', 1)")
            try await settle(store, owner)
            // As after 200,000 deletions: the limit of a log is 131,072 lives, and one log more doubles it.
            try await owner.write { db in
                let score = try #require(KnownTable.all(db).first { $0.name == "score" }).shape(.creator("player"), db)
                try db.execute(sql: "UPDATE \(score.clockTable) SET life = 400001")
            }
            _ = try await owner.publishPlace(to: world.published)
            let reader = try await world.placeReader("reader").open()
            try await reader.settled()
            #expect(try await reader.status().place?.fault == nil)
            #expect(try await reader.game == [score(ann, "a", 1)])
            for store in [store, owner, reader] { try await store.close() }
        }
    }
}
