import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// Changes of which a gate says that they have no effect, in logs and baselines.
struct ImportGateTests {
    /// The store of an account, and a peer that writes what is not its own.
    private struct World {
        var device: TestDevice
        var store: UbiquitousStore
        var forger: UbiquitousStore
        var forgerDevice: TestDevice
        var layout: ContentLayout

        /// The gate of Alice's store, in which the other peer is Bob's.
        func gate(own: WriteRights = .contributor(alice), forgerHolds roles: Set<String> = []) -> ImportGate {
            ImportGate(own: own) { _ in .contributor(bob, roles) }
        }

        /// The logs that Alice's store has not taken in.
        func logs() async throws -> [ReadyLog] {
            try await reading { file in
                let reader = LogReader(layout: layout, contentName: "People", epoch: 1, shapes: file.shapes, files: LinuxFileLayer())
                return try file.pool.read { db in
                    let own = try StoreState.read(db).peer
                    var inventory = try ContentInventory(listing: layout, epoch: 1, register: LogRegister(own: own, db), files: LinuxFileLayer())
                    return try ImportPlanner(reader: reader).plan(&inventory, db).ready
                }
            }
        }

        func join(_ logs: [ReadyLog], _ gate: ImportGate?, isolating: Bool = false) async throws -> LogImporter.Outcome {
            try await reading { file in
                var importer = LogImporter(
                    shapes: file.shapes, sealer: sealer(file), conflictRetention: ConflictRetention(),
                    values: LargeValueReader(layout: layout, epoch: 1, files: LinuxFileLayer()))
                importer.gate = gate
                return try file.importing { db in try importer.join(logs, isolating: isolating, db) }
            }
        }

        /// Joins the one baseline of the content.
        func joinBaseline(_ gate: ImportGate?) async throws -> ImportTransaction.Outcome {
            let names = FileManager.default.enumerator(atPath: layout.directory.string)!.compactMap { $0 as? String }
            let path = layout.directory.pushing(FilePath(try #require(names.first { $0.hasSuffix(".ubbaseline") })))
            let peer = try #require(path.components.lazy.compactMap { PeerIdentifier($0.string) }.first)
            let id = BaselineID(peer: peer, name: try #require(BaselineName(path.lastComponent!.string)))
            return try await reading { file in
                let header = try BaselineReader(layout: layout, contentName: "People", epoch: 1).header(of: id, clock: .latest)
                var joiner = BaselineJoiner(shapes: file.shapes, sealer: sealer(file), migrations: file.migrations)
                joiner.gate = gate
                return try file.importing(attaching: [path]) { db in try joiner.join(header, db) }
            }
        }

        private func sealer(_ file: StoreFile) -> Sealer {
            let clock = device.clock
            return Sealer(shapes: file.shapes, schemaVersion: "v1", now: { clock.now })
        }

        private func reading<Result>(_ body: (StoreFile) throws -> Result) async throws -> Result {
            let state = try await store.read { db in try StoreState.read(db) }
            let file = try StoreFile.open(store.file, schema: Game.schema().scoped, newState: state)
            defer { try? file.pool.close() }
            return try body(file)
        }

        /// Everything that the store holds, except which logs it has taken in.
        func content() async throws -> [String: [[String]]] {
            let taken: Set = ["ubiquity_log", "ubiquity_knowledge", "ubiquity_hole", "ubiquity_seen", "ubiquity_peer", "ubiquity_import"]
            let tables = try await store.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'").map { $0[0] }
            var content: [String: [[String]]] = [:]
            for table in tables where !taken.contains(table) {
                content[table] = try await store.rows("SELECT * FROM \"\(table)\"").sorted { $0.lexicographicallyPrecedes($1) }
            }
            return content
        }
    }

    /// Runs a body with a store of Alice's that holds a score, and a peer of Bob's that has forged changes of it.
    private func withWorld(forging statements: [String], _ body: (World) async throws -> Void) async throws {
        try await withDevices(2) { devices, _ in
            let store = try await devices[0].open(Game.schema(), as: .contributor(alice, ["editor"]))
            let forger = try await devices[1].open(Game.schema(), as: .contributor(bob))
            try await store.execute("INSERT INTO score (player, id, points, note) VALUES ('\(alice)', 's', 1, 'n'), ('\(alice)', 'd', 1, 'd')")
            try await store.execute("DELETE FROM score WHERE id = 'd'; INSERT INTO template VALUES ('t', 'T')")
            try await settle(store, forger)
            devices[1].clock.advance(by: 3600)
            for sql in statements {
                // The trigger of an honest program refuses Alice's rows.
                try await forger.write { db in try AuthorityRow.write(.contributor(sql.contains("\(alice)") ? alice : bob, ["editor"]), db) }
                try await forger.execute(sql)
            }
            try await forger.settled()
            let layout = ContentLayout(container: try await devices[0].container().path, content: "People")
            try await body(World(device: devices[0], store: store, forger: forger, forgerDevice: devices[1], layout: layout))
            for store in [store, forger] { try await store.close() }
        }
    }

    private static let forged = [
        "UPDATE score SET points = 99 WHERE player = '\(alice)'", "INSERT INTO score (player, id) VALUES ('\(alice)', 'd')",
        "INSERT INTO score (player, id, note) VALUES ('\(alice)', 'new', 'm')", "UPDATE template SET name = 'forged'",
        "INSERT INTO template VALUES ('u', 'U')", "DELETE FROM template WHERE id = 't'", "DELETE FROM score WHERE player = '\(alice)' AND id = 's'",
    ]

    @Test(
        "P-05: a foreign insertion, edit and deletion alter nothing, though their logs are taken in, and are listed with their reasons",
        arguments: [false, true])
    func rejected(isolating: Bool) async throws {
        try await withWorld(forging: Self.forged) { world in
            let before = try await world.content()
            let outcome = try await world.join(world.logs(), world.gate(), isolating: isolating)
            #expect(outcome.joined == Self.forged.count && outcome.refused == nil)
            let after = try await world.content()
            #expect(after == before, "\(Set(after.keys).filter { after[$0] != before[$0] })")
            #expect(outcome.imported.changes.notice == nil && outcome.imported.conflicts == 0)
            let rejected = outcome.imported.rejected
            #expect(rejected.count == Self.forged.count)
            let reasons = rejected.list.map { "\($0.record.table) \($0.record.key.last!) \($0.reason)" }
            #expect(
                reasons == [
                    "score s otherAccount", "score d otherAccount", "score new otherAccount", "template t otherRole", "template u otherRole",
                    "template t otherRole", "score s otherAccount",
                ])
            let forger = try await world.forger.status().peer
            #expect(rejected.list.allSatisfy { $0.peer == forger && !$0.isFact })
            // Nothing is left to join, in any order.
            #expect(try await world.logs().isEmpty)
        }
    }

    @Test("without a gate, and for an author who may, those changes have their effect")
    func accepted() async throws {
        for gate in [nil, ImportGate(own: .contributor(alice)) { _ in .contributor(alice, ["editor"]) }] {
            try await withWorld(forging: Self.forged) { world in
                let outcome = try await world.join(world.logs(), gate)
                #expect(outcome.imported.rejected.count == 0 && outcome.imported.rejected.list.isEmpty)
                #expect(try await world.store.rows("SELECT id FROM score ORDER BY id") == [["d"], ["new"]])
                #expect(try await world.store.rows("SELECT id, name FROM template") == [["u", "U"]])
            }
        }
    }

    @Test("of one save, the author's own changes have an effect and the others none")
    func mixed() async throws {
        let save = "UPDATE template SET name = 'x'; INSERT INTO template VALUES ('u', 'U')"
        try await withWorld(forging: [save, "INSERT INTO score (player, id, points) VALUES ('\(bob)', 's', 5)"]) { world in
            let outcome = try await world.join(world.logs(), world.gate())
            #expect(outcome.imported.rejected.count == 2)
            #expect(try await world.store.rows(Game.rows).map { $0[0...2].joined(separator: " ") } == ["alice s 1", "bob s 5", "template t T"])
            #expect(outcome.imported.changes.notice?.inserted.count == 1 && outcome.imported.changes.notice?.updated.isEmpty == true)
        }
    }

    @Test("P-07: a stamp of another account moves the clock of nobody who does not write there, whether it has an effect or not")
    func clocks() async throws {
        let own = "INSERT INTO score (player, id, points) VALUES ('\(bob)', 's', 5)"
        for (roles, rights, moves) in [
            ([], WriteRights.contributor(alice), false), ([], .reading, false), ([], .contributor(bob), true),
            (Set(["editor"]), .contributor(alice), false), (["editor"], .contributor(alice, ["editor"]), true),
        ] {
            try await withWorld(forging: [own, "UPDATE template SET name = 'later'", "UPDATE score SET points = 9 WHERE player = '\(alice)'"]) {
                world in
                func clock() async throws -> HybridTime { try await world.store.read { db in try StoreState.read(db).clock } }
                let before = try await clock()
                let logs = try await world.logs()
                #expect(logs.count == 3 && logs.allSatisfy { $0.time > before })
                _ = try await world.join(logs, world.gate(own: rights, forgerHolds: roles))
                #expect(try await clock() == (moves ? logs[roles.isEmpty ? 0 : 1].time : before))
                #expect(try await world.store.rows("SELECT points FROM score WHERE player = '\(bob)'") == [["5"]])
            }
        }
    }

    @Test("a group that is said to be another peer's is rejected, and named by its records")
    func otherWriter() async throws {
        try await withWorld(forging: ["INSERT INTO score (player, id, points) VALUES ('\(bob)', 's', 5)"]) { world in
            let owner = try await world.store.status().peer
            let logs = try await world.logs().map { log in
                var contents = log.contents
                for index in contents.groups.indices { contents.groups[index].peer = owner }
                return ReadyLog(peer: log.peer, name: log.name, log: log.log, contents: contents, isOlder: log.isOlder)
            }
            let before = try await world.content()
            let outcome = try await world.join(logs, ImportGate(own: .contributor(alice)) { _ in .contributor(bob) })
            #expect(try await world.content() == before)
            #expect(outcome.imported.rejected.list.map(\.reason) == [.otherWriter] && outcome.joined == 1)
            #expect(outcome.imported.rejected.list.first?.record.key.last == .text(Array("s".utf8)[...]))
        }
    }

    @Test("a fact that two records are one is rejected unless both are the author's", arguments: [false, true])
    func facts(isOwn: Bool) async throws {
        try await withWorld(forging: ["INSERT INTO score (player, id, points) VALUES ('\(bob)', 's', 5)"]) { world in
            func node(_ account: AccountIdentifier, _ id: String) -> RecordNode {
                RecordNode(key: [WriteRights.value(of: account), .text(Array(id.utf8)[...])], life: 1)
            }
            let other = isOwn ? node(bob, "twin") : node(alice, "s")
            let logs = try await world.logs().map { log in
                var contents = log.contents
                let table = contents.tables.firstIndex { $0.name == "score" }!
                for index in contents.groups.indices {
                    contents.groups[index].same = [LogBody.Same(table: table, fact: SameAs(node(bob, "s"), other))]
                }
                return ReadyLog(peer: log.peer, name: log.name, log: log.log, contents: contents, isOlder: log.isOlder)
            }
            let rejected = try await world.join(logs, world.gate()).imported.rejected
            #expect(rejected.list.map { "\($0.record.key.last!) \($0.reason) \($0.isFact)" } == (isOwn ? [] : ["s otherAccount true"]))
            #expect(try await world.store.rows("SELECT count(*) FROM ubiquity_same_1") == [[isOwn ? "2" : "0"]])
            #expect(try await world.store.rows("SELECT points FROM score WHERE player = '\(bob)'") == [["5"]])
        }
    }

    @Test("a hostile log lists no more changes than the limit, and counts all")
    func limit() async throws {
        let count = RejectedChanges.limit + 50
        let many = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < \(count)) INSERT INTO template SELECT i, i FROM n"
        try await withWorld(forging: [many]) { world in
            let rejected = try await world.join(world.logs(), world.gate()).imported.rejected
            #expect(rejected.count == count && rejected.list.count == RejectedChanges.limit)
        }
    }

    @Test("P-05: a baseline joins the records that its author may change, and no others", arguments: [false, true])
    func baseline(hasRights: Bool) async throws {
        let own = "INSERT INTO score (player, id, points) VALUES ('\(bob)', 's', 5), ('\(bob)', 'dead', 5)"
        try await withWorld(forging: Self.forged + [own, "DELETE FROM score WHERE player = '\(bob)' AND id = 'dead'"]) { world in
            try await world.forger.rollBaseline()
            let before = try await world.content()
            if hasRights {
                let outcome = try await world.joinBaseline(ImportGate(own: .reading) { _ in .contributor(alice, ["editor"]) })
                #expect(try await world.store.rows(Game.rows).map { $0[0...1].joined(separator: " ") } == ["alice d", "alice new", "template u"])
                // Bob's record, alive and dead.
                #expect(outcome.rejected.count == 2)
                return
            }
            let outcome = try await world.joinBaseline(world.gate())
            #expect(try await world.store.rows(Game.rows).map { $0[0...2].joined(separator: " ") } == ["alice s 1", "bob s 5", "template t T"])
            #expect(outcome.rejected.count > 3 && outcome.rejected.list.allSatisfy { $0.reason != .otherWriter })
            let after = try await world.content()
            // Beside Bob's records, nothing has changed: no clock, no dead record, no conflict.
            for (table, rows) in after where table != "score" {
                let added = rows.count - before[table]!.count
                let expected = ["ubiquity_clock_1": 1, "ubiquity_dead_1": 1, "ubiquity_population": 1][table] ?? 0
                if !["ubiquity_history", "ubiquity_synced"].contains(table) { #expect(added == expected, "\(table)") }
            }
            #expect(after["ubiquity_state"] == before["ubiquity_state"] && after["ubiquity_same_1"] == before["ubiquity_same_1"])
        }
    }
}
