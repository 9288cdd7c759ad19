import Foundation
import GRDB
import StoreExchange
import StoreFormat
import StoreInspection
import StoreRecords
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreAuthority
@testable import UbiquityStores

/// Audits of public places whose publishers are honest, and of those whose publishers are not.
struct PlaceAuditTests {
    /// Publishes, with new snapshots.
    private func publish(_ store: UbiquitousStore, _ world: PublicWorld, inParts: Bool = false) async throws {
        world.owner.clock.advance(by: 2 * 86400)
        var publishing = PlacePublishing()
        publishing.retention = .seconds(900 * 86400)
        if inParts { publishing.recordsInOnePart = 1 }
        _ = try await store.publishPlace(to: world.published, publishing)
    }

    /// Audits the world's place with the tables of a device's store.
    private func audit(_ world: PublicWorld, as device: PublicDevice, _ schema: SyncedSchema = PublicDevice.schema) async throws -> PlaceAudit {
        let store = try await device.open(schema)
        let file = store.file
        try await store.close()
        let facts = try InspectedStore(file, readOnly: true).placeFacts()
        #expect(facts.container == world.container && facts.contentName == "Game")
        return try await withTemporaryDirectory { scratch in
            try await PlaceAuditor(
                address: "file://\(world.published)", container: facts.container, contentName: facts.contentName, schema: facts.schema,
                seen: facts.state, scratch: scratch, progress: { _ in }
            ).audit()
        }
    }

    /// Replaces the snapshot of the scores in the newest head by an altered one, and signs the head again.
    private func forge(_ world: PublicWorld, _ alter: (Database, Int64) throws -> Void, deaths: DeathList? = nil) throws {
        let path = world.published.appending("head").string
        var head = try Signed<PublishedHead>(decoding: Array(Data(contentsOf: URL(filePath: path))), in: world.container).value
        var part = try #require(head.tables["score"]?.parts[""])
        let original = PlaceFiles(world.published).path(.snapshot(table: "score", digit: "", part.written, part.records.hash))
        let forged = world.directory.appending("forged")
        try? FileManager.default.removeItem(atPath: forged.string)
        try FileManager.default.copyItem(atPath: original.string, toPath: forged.string)
        let queue = try DatabaseQueue(path: forged.string)
        try queue.write { db in try alter(db, try Int64.fetchOne(db, sql: "SELECT number FROM synced_table WHERE name = 'score'")!) }
        try queue.close()
        func place(_ file: FilePath, _ path: (ContentHash) -> PublishedPath) throws -> PublishedFile {
            let bytes = try Data(contentsOf: URL(filePath: file.string))
            let hash = ContentHash(of: Array(bytes))
            try bytes.write(to: URL(filePath: PlaceFiles(world.published).path(path(hash)).string))
            return PublishedFile(hash: hash, size: Int64(bytes.count))
        }
        part.records = try place(forged) { .snapshot(table: "score", digit: "", part.written, $0) }
        if let deaths {
            let file = world.directory.appending("forged-deaths")
            try Data(deaths.encoded).write(to: URL(filePath: file.string))
            part.deaths = try place(file) { .deaths(table: "score", digit: "", part.written, $0) }
        }
        head.tables["score"]!.parts[""] = part
        let key = try #require(try world.owner.keys.deviceKey)
        let draft = head.draft(by: key.publicKey)
        let bytes = Data(draft.signed(with: key, in: world.container))
        try bytes.write(to: URL(filePath: path))
        let numbered = PlaceFiles(world.published).path(.head(head.number, StatementIdentifier(draft.hash)))
        try bytes.write(to: URL(filePath: numbered.string))
    }

    enum Lie: String, CaseIterable { case altered, stamp, invented, missing, death }

    @Test(
        "P-23: an audit finds the one row of a snapshot that its publisher has altered, invented or left out, and a death that nobody died",
        arguments: Lie.allCases)
    func lies(_ lie: Lie) async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let (store, owner) = (try await ann.open(), try await world.owner.open())
            try await settle(store, owner)
            for id in ["a", "b", "c"] { try await store.execute("INSERT INTO score VALUES ('\(ann.name)', '\(id)', 1)") }
            try await settle(store, owner)
            try await publish(owner, world)
            try await store.execute("UPDATE score SET points = 2 WHERE id = 'b'")
            try await store.execute("DELETE FROM score WHERE id = 'c'")
            try await settle(store, owner)
            try await publish(owner, world)
            for store in [store, owner] { try await store.close() }
            let honest = try await audit(world, as: world.owner)
            #expect(honest.isSound && honest.audited == [2] && honest.heads == 1...2 && honest.records >= 2 && honest.skipped.isEmpty)

            var deaths: DeathList?
            if lie == .death {
                deaths = DeathList()
                deaths!.lives[.init(of: [.text(Array(ann.name.utf8)[...]), .text(Array("z".utf8)[...])])] = 2
            }
            let key = ["player": ann.name, "id": "b"]
            try forge(
                world,
                { db, number in
                    let clock = "rid = (SELECT rowid FROM record_\(number) WHERE k1 = 'b')"
                    switch lie {
                    case .altered: try db.execute(sql: "UPDATE record_\(number) SET v0 = 999 WHERE k1 = 'b'")
                    case .stamp: try db.execute(sql: "UPDATE clock_\(number) SET time = time + 1 WHERE \(clock)")
                    case .invented:
                        try db.execute(
                            sql: """
                                INSERT INTO record_\(number) (rowid, k0, k1, v0) SELECT 77, k0, 'x', 5 FROM record_\(number) WHERE k1 = 'b';
                                INSERT INTO clock_\(number) SELECT 77, life, time, peer, columns, others FROM clock_\(number) WHERE \(clock)
                                """)
                    case .missing: try db.execute(sql: "DELETE FROM clock_\(number) WHERE \(clock); DELETE FROM record_\(number) WHERE k1 = 'b'")
                    case .death: break
                    }
                }, deaths: deaths)
            let found = try await audit(world, as: world.owner)
            #expect(!found.isSound && found.findings.count == 1, "\(found.findings)")
            let finding = try #require(found.findings.first)
            #expect(finding.head == 2 && finding.table == "score")
            switch lie {
            case .altered, .stamp: #expect(finding.kind == "altered" && finding.key == key)
            case .invented: #expect(finding.kind == "invented" && finding.key == ["player": ann.name, "id": "x"])
            case .missing: #expect(finding.kind == "missing" && finding.key == key)
            case .death: #expect(finding.kind == "death")
            }
        }
    }

    @Test(
        "P-23: an audit of an honest place finds nothing, after random changes by columns with rules, deletions and a removal",
        arguments: [UInt64(1), 2, 3, 4])
    func honest(_ seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let schema = SyncedSchema(
            migrator: migrator(
                """
                CREATE TABLE score (player TEXT NOT NULL, id TEXT NOT NULL, points INTEGER, best INTEGER DEFAULT 7, x REAL, y REAL, PRIMARY KEY (player, id));
                CREATE TABLE template (id TEXT NOT NULL PRIMARY KEY, title TEXT UNIQUE, note NOT NULL DEFAULT 'none');
                """)
        ) {
            SyncedTable("score", access: .creator("player"), columns: ["best": .maximum], together: [["x", "y"]])
            SyncedTable("template", access: .role("editor"), unique: [["title"]])
        }
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let phone = try world.device("phone", of: ann)
            let bob = try world.player("bob")
            let devices = [ann, phone, bob]
            var stores: [UbiquitousStore] = []
            for device in devices { stores.append(try await device.open(schema)) }
            let owner = try await world.owner.open(schema)
            _ = try await owner.runner.signPolicy { $0.roles["editor"]?.insert(bob.account!) }
            for store in stores { try await settle(store, owner) }
            for turn in 0..<30 {
                let number = Int.random(in: 0..<devices.count, using: &random)
                let (device, store) = (devices[number], stores[number])
                let id = "r\(Int.random(in: 0..<4, using: &random))"
                let isMine = "player = '\(device.name)' AND id = '\(id)'"
                switch Int.random(in: 0..<8, using: &random) {
                case 0: try await store.execute("DELETE FROM score WHERE \(isMine)")
                case 1: try await store.execute("UPDATE score SET best = \(turn % 5) WHERE \(isMine)")
                case 2: try await store.execute("UPDATE score SET x = \(turn), y = \(turn) / 2.0 WHERE \(isMine)")
                case 3 where turn < 20 && number == 2:
                    try await store.execute("INSERT OR REPLACE INTO template (id, title) VALUES ('\(id)', '\(turn)')")
                case 3: try await owner.execute("INSERT OR REPLACE INTO template (id, title) VALUES ('\(id)', '\(turn % 3)')")
                default: try await store.execute("INSERT OR IGNORE INTO score (player, id, points) VALUES ('\(device.name)', '\(id)', \(turn))")
                }
                if turn == 20 { _ = try await owner.runner.signPolicy { $0.roles["editor"]?.remove(bob.account!) } }
                if Bool.random(using: &random) { for store in stores { try await settle(store, owner) } }
                if turn % 5 == 0 { try await publish(owner, world, inParts: turn % 10 == 0) }
            }
            for store in stores + [owner] { try await store.close() }
            let found = try await audit(world, as: world.owner, schema)
            #expect(found.isSound, "\(found.findings)")
            #expect(found.audited.count >= 4 && found.unproved.isEmpty, "\(found)")
        }
    }

    @Test("An audit of two heads with one number, of which a reader has seen the other, convicts the publisher")
    func splitView() async throws {
        try await PublicWorld.with { world in
            let owner = try await world.owner.open()
            try await owner.settled()
            try await publish(owner, world)
            let copy = world.directory.appending("copy").string
            try FileManager.default.copyItem(atPath: world.published.string, toPath: copy)
            try await owner.execute("INSERT INTO template VALUES ('t', 'One')")
            try await owner.settled()
            try await publish(owner, world)
            let reader = world.placeReader("reader")
            try await reader.with { try await $0.settled() }
            #expect(try await audit(world, as: reader).isSound)
            // The publisher shows others a place without the row.
            try FileManager.default.removeItem(atPath: world.published.string)
            try FileManager.default.moveItem(atPath: copy, toPath: world.published.string)
            try await publish(owner, world)
            try await owner.close()
            let found = try await audit(world, as: reader)
            #expect(found.contradicted == 2 && !found.isSound)
        }
    }
}
