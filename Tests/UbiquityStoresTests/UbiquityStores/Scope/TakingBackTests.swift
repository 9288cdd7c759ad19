import Foundation
import GRDB
import StoreAuthority
import StoreFormat
import StoreRecords
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreExchange
@testable import UbiquityStores

/// Removals that take back logs which the signing store has joined, over real files.
struct TakingBackTests {
    private static func insert(_ device: PublicDevice, _ id: String, _ points: Int) -> String {
        "INSERT INTO score VALUES ('\(device.name)', '\(id)', \(points))"
    }

    /// A container with two editors, who have written templates that all have read.
    private func withEditors(
        _ body: (PublicWorld, _ eve: PublicDevice, _ bob: PublicDevice, _ stores: [UbiquitousStore], _ reader: UbiquitousStore) async throws -> Void
    ) async throws {
        try await PublicWorld.with { world in
            let (eve, bob) = (try world.player("eve"), try world.player("bob"))
            let (first, second, owner) = (try await eve.open(), try await bob.open(), try await world.owner.open())
            let reader = try await world.reader("reader").open()
            for device in [eve, bob] { try await owner.grant("editor", to: device.account!) }
            try await settle(first, second, owner)
            try await owner.execute("INSERT INTO template VALUES ('owner', 'Owner')")
            try await settle(owner, first, second)
            try await first.execute("INSERT INTO template VALUES ('both', 'Eve')")
            try await first.execute("UPDATE template SET title = 'Eve' WHERE id = 'owner'")
            try await first.publish()
            try await settle(owner, second)
            try await second.execute("UPDATE template SET title = 'Bob' WHERE id = 'both'")
            try await second.execute("INSERT INTO template VALUES ('bob', 'Bob')")
            try await settle(second, first, owner)
            try await first.execute("INSERT INTO template VALUES ('eve', 'Eve')")
            try await first.execute(Self.insert(eve, "e", 1))
            try await settle(first, second, owner, reader)
            #expect(try await reader.game == [score(eve, "e", 1), "bob=Bob", "both=Bob", "eve=Eve", "owner=Eve"].sorted())
            try await body(world, eve, bob, [first, second, owner], reader)
            for store in [first, second, owner, reader] { try await store.close() }
        }
    }

    private static func drafts(of store: UbiquitousStore) throws -> [String] {
        let directory = store.current.file.path.removingLastComponent()
        return try FileManager.default.contentsOfDirectory(atPath: directory.string).filter { $0.contains("taking-back") }
    }

    @Test("P-11: all that a removed editor has written is taken back on every device, also on one that reads later; others' later edits stay")
    func everything() async throws {
        try await withEditors { world, eve, bob, stores, reader in
            let (first, owner) = (stores[0], stores[2])
            try await owner.take("editor", from: eve.account!, takingBack: .everything)
            for _ in 0..<2 { for store in stores + [reader] { try await store.settled() } }
            let late = try await world.reader("late").open()
            try await late.settled()
            // A score is not a template: the account's own records are its own.
            let shown = [score(eve, "e", 1), "bob=Bob", "both=Bob", "owner=Owner"].sorted()
            for store in stores + [reader, late] { #expect(try await store.game == shown) }
            for reader in [reader, late] {
                #expect(try await reader.rejected().allSatisfy { $0.peer.hasPrefix(eve.name) })
                #expect(try await reader.rejected().count == 3)
            }
            let kept = KeptLogs(home: eve.home)
            let records = try kept.list().flatMap { try kept.changes(of: $0.id) }.flatMap(\.changes).map(\.record).sorted()
            #expect(records == ["template/t:both", "template/t:eve", "template/t:owner"])
            // Life goes on.
            try await stores[1].execute("UPDATE template SET title = 'Bob' WHERE id = 'owner'")
            for store in [stores[1], first, owner, reader, late] { try await store.settled() }
            for store in stores + [reader, late] { #expect(try await store.game == shown.map { $0 == "owner=Owner" ? "owner=Bob" : $0 }) }
            #expect(try Self.drafts(of: owner) == [])
            try await late.close()
        }
    }

    @Test("P-11: what is taken back begins after a log of a device; earlier ones stay")
    func after() async throws {
        try await withEditors { world, eve, bob, stores, reader in
            try await stores[2].take("editor", from: eve.account!, takingBack: .after([try eve.peer: 1]))
            for _ in 0..<2 { for store in stores + [reader] { try await store.settled() } }
            let late = try await world.reader("late").open()
            try await late.settled()
            let shown = [score(eve, "e", 1), "bob=Bob", "both=Bob", "owner=Owner"].sorted()
            for store in stores + [reader, late] { #expect(try await store.game == shown) }
            #expect(try await reader.rejected().map(\.sequence) == [2, 3])
            try await late.close()
        }
    }

    @Test("P-11: what a stolen device wrote after a log is taken back, with all that its siblings wrote; the account's own edit stays")
    func stolenDevice() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let phone = try world.device("phone", of: ann)
            let (store, stolen) = (try await ann.open(), try await phone.open())
            let reader = try await world.reader("reader").open()
            try await settle(store, stolen)
            try await stolen.execute(Self.insert(phone, "honest", 1))
            try await settle(stolen, store)
            try await stolen.execute("UPDATE score SET points = 666")
            try await stolen.execute(Self.insert(phone, "thief", 666))
            let sibling = try world.device("sibling", of: phone)
            let third = try await sibling.open()
            try await settle(stolen, third)
            try await third.execute(Self.insert(sibling, "sibling", 666))
            try await settle(third, stolen, store)
            try await store.execute("UPDATE score SET points = 7 WHERE id = 'thief'")
            try await settle(store, reader)
            #expect(try await reader.game == [score(ann, "honest", 666), score(ann, "sibling", 666), score(ann, "thief", 7)])
            let last = [try phone.peer: Int64(1), try sibling.peer: 0]
            try await store.removeDevices([try phone.peer], takingBack: .after(last))
            try await settle(store, reader, stolen, third)
            let late = try await world.reader("late").open()
            try await late.settled()
            let shown = [score(ann, "honest", 1), score(ann, "thief", 7)]
            for store in [store, reader, late, stolen, third] { #expect(try await store.game == shown) }
            #expect(try Self.drafts(of: store) == [])
            for store in [store, stolen, third, reader, late] { try await store.close() }
        }
    }

    @Test("P-11: nothing is signed if a log is in the base before, a log of others is missing, or a device is not removed; each is named")
    func refusals() async throws {
        try await withEditors { world, eve, bob, stores, reader in
            let (second, owner) = (stores[1], stores[2])
            func refusal(_ takingBack: TakingBack) async -> String {
                do {
                    try await owner.take("editor", from: eve.account!, takingBack: takingBack)
                    return ""
                } catch { return "\(error)" }
            }
            let (his, hers) = (try bob.peer, try eve.peer)
            #expect(await refusal(.after([his: 0])).contains("\(his) is no device"))
            let logs = world.content.appending("\(his)/1")
            let name = try #require(try FileManager.default.contentsOfDirectory(atPath: logs.string).sorted().first { $0.hasSuffix(".ublog") })
            let away = world.directory.appending(name)
            try FileManager.default.moveItem(atPath: logs.appending(name).string, toPath: away.string)
            let missing = await refusal(.everything)
            #expect(missing.contains("lacks the log \(name) of \(his)"), "\(missing)")
            try FileManager.default.moveItem(atPath: away.string, toPath: logs.appending(name).string)
            #expect(try world.place.readAuthority().policy?.value.version == 3)
            #expect(try Self.drafts(of: owner) == [])
            // Bob's removal makes what Eve has written permanent.
            try await owner.take("editor", from: bob.account!)
            try await first(stores).execute("INSERT INTO template VALUES ('later', 'Eve')")
            try await settle(first(stores), owner, second)
            let held = await refusal(.everything)
            #expect(held.contains("Take back what came after it: \(hers):4"), "\(held)")
            try await owner.take("editor", from: eve.account!, takingBack: .after([hers: 4]))
            for _ in 0..<2 { for store in stores + [reader] { try await store.settled() } }
            let shown = [score(eve, "e", 1), "bob=Bob", "both=Bob", "eve=Eve", "owner=Eve"].sorted()
            for store in stores + [reader] { #expect(try await store.game == shown) }
            #expect(await refusal(.everything).contains("Nobody loses a role"))
            #expect(try Self.drafts(of: owner) == [])
        }
    }

    private func first(_ stores: [UbiquitousStore]) -> UbiquitousStore { stores[0] }

    @Test("A copy that a killed process has left is removed when the store is used again")
    func leftCopy() async throws {
        try await PublicWorld.with { world in
            let path = try await world.owner.with { store in store.current.file.path.string }
            for suffix in ["-taking-back", "-taking-back-journal"] { try Data([1]).write(to: URL(filePath: path + suffix)) }
            try await world.owner.with { store in
                try await store.settled()
                #expect(try Self.drafts(of: store) == [])
            }
        }
    }

    /// Expects that requests wait in their order, as they were asked, until each is dropped.
    private static func expectQueue(_ requests: [ScopeRequest]) throws {
        try DatabaseQueue().write { db in
            try ScopeState.create(ScopeIdentifier(ContentHash(of: [2])), db)
            for request in requests { try request.ask(db) }
            #expect(try ScopeRequest.list(db).map(\.request) == requests)
            for waiting in try ScopeRequest.list(db) {
                #expect(try ScopeRequest.drop(waiting.number, db))
                #expect(try !ScopeRequest.drop(waiting.number, db))
            }
            #expect(try ScopeRequest.list(db).isEmpty)
            try db.execute(sql: "INSERT INTO ubiquity_scope_request (request) VALUES ('{\"kind\":\"of a newer version\"}')")
            #expect(try ScopeRequest.list(db).map(\.request) == [nil])
        }
    }

    @Test("What is taken back, and the requests of other programs, are read back as they were written")
    func text() throws {
        let account = AccountIdentifier(ContentHash(of: [1]))
        let peer = PeerIdentifier(account: account.description, uuid: UUID())
        for value in [TakingBack.nothing, .everything, .after([peer: 12]), .after([peer: 0, PeerIdentifier(account: "b:c d", uuid: UUID()): 7])] {
            #expect(TakingBack(value.description) == value)
            #expect(try JSONDecoder().decode([TakingBack].self, from: JSONEncoder().encode([value])) == [value])
            try Self.expectQueue([.remove(role: "editor", account, takingBack: value), .revoke(peer, takingBack: value)])
        }
        let key = PrivateKey().publicKey
        try Self.expectQueue([
            .grant(role: "a\nb", account), .merge, .limit(logs: 7, records: nil), .limit(logs: nil, records: 0), .admission(.open),
            .admission(.registrars([key])), .admission(.registrars([])), .succeed(after: nil), .succeed(after: StatementIdentifier(account.hash)),
        ])
        for text in ["everything", "\(peer)", "\(peer):", "\(peer):-1", "\(peer):1\n\(peer):2", "all\n\(peer):1", "x:1"] {
            #expect(TakingBack(text) == nil)
        }
    }
}
