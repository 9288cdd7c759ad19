import Foundation
import GRDB
import StoreExchange
import StoreFormat
import StoreRecords
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreAuthority
@testable import UbiquityStores

/// Grants, removals, stolen devices and forks in a public container, over real files.
struct ScopeRemovalTests {
    private static func insert(_ device: PublicDevice, _ id: String, _ points: Int) -> String {
        "INSERT INTO score VALUES ('\(device.name)', '\(id)', \(points))"
    }

    @Test("P-04: canModify and the rights in the file follow the enrolment and a granted role while the store is open")
    func rightsFollow() async throws {
        try await PublicWorld.with { world in
            var ann = world.reader("ann")
            let (store, owner) = (try await ann.open(), try await world.owner.open())
            try await settle(store, owner)
            #expect(store.account == nil && !store.canModify)
            ann.account = try ann.registration.createAccount(in: world.container)
            try await settle(store, owner)
            #expect(store.account == ann.account && store.canModify)
            try await store.execute(Self.insert(ann, "a", 1))
            await #expect(throws: DatabaseError.self) { try await store.execute("INSERT INTO template VALUES ('t', 'T')") }
            let template = ObjectID(table: "template", key: [.text(Array("t".utf8)[...])])
            #expect(!store.canUpdate(template))
            let account = ann.account!
            #expect(try await owner.runner.signPolicy { $0.roles["editor"]?.insert(account) } == 2)
            try await settle(store, owner)
            #expect(store.canUpdate(template))
            try await store.execute("INSERT INTO template VALUES ('t', 'T')")
            try await settle(store, owner)
            #expect(try await owner.game == [score(ann, "a", 1), "t=T"].sorted())
            for store in [store, owner] { try await store.close() }
        }
    }

    @Test("P-10: a removed editor's later log that names an old policy has no effect; what the steward had of it stays")
    func removedEditor() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let account = ann.account!
            let (store, owner) = (try await ann.open(), try await world.owner.open())
            _ = try await owner.runner.signPolicy { $0.roles["editor"]?.insert(account) }
            try await settle(store, owner)
            try await store.execute("INSERT INTO template VALUES ('early', 'Ann')")
            try await store.execute(Self.insert(ann, "a", 1))
            try await settle(store, owner)
            // The removal is signed while Ann is offline and writes on under the policy that she knows.
            #expect(try await owner.runner.signPolicy { $0.roles["editor"]?.remove(account) } == 3)
            try await store.execute("INSERT INTO template VALUES ('late', 'Ann')")
            try await store.execute(Self.insert(ann, "b", 2))
            try await store.publish()
            try await settle(owner, store)
            let shown = [score(ann, "a", 1), score(ann, "b", 2), "early=Ann"].sorted()
            let reader = try await world.reader("reader").open()
            try await reader.settled()
            #expect(try await owner.game == shown)
            #expect(try await reader.game == shown)
            #expect(try await store.game == shown)
            #expect(try await reader.rejected().map(\.reason) == ["the steward has removed its author"])
            await #expect(throws: DatabaseError.self) { try await store.execute("INSERT INTO template VALUES ('later', 'Ann')") }
            for store in [store, owner, reader] { try await store.close() }
        }
    }

    @Test("P-12: a stolen device, and a sibling that it enrols, have no effect after the account's statement; what the account had stays")
    func stolenDevice() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let phone = try world.device("phone", of: ann)
            let (store, stolen) = (try await ann.open(), try await phone.open())
            try await settle(store, stolen)
            try await store.execute(Self.insert(ann, "a", 1))
            try await stolen.execute(Self.insert(phone, "p", 2))
            try await settle(store, stolen)
            #expect(try await store.game == [score(ann, "a", 1), score(ann, "p", 2)])
            let sibling = try world.device("sibling", of: phone)
            try await store.runner.removeDevices([try phone.peer])
            // The thief has not seen the statement when it writes, or does not care.
            try await stolen.execute("UPDATE score SET points = 666 WHERE id = 'a'")
            try await stolen.publish()
            try await store.settled()
            let shown = [score(ann, "a", 1), score(ann, "p", 2)]
            let other = try await sibling.open()
            try await other.settled()
            #expect(!other.canModify)
            try await world.reader("reader").with { reader in
                try await reader.settled()
                #expect(try await reader.game == shown)
                #expect(try await reader.rejected().map(\.reason) == ["its account has removed the device"])
            }
            #expect(try await store.game == shown)
            try await stolen.settled()
            #expect(!stolen.canModify)
            #expect(try await stolen.game == shown)
            for store in [store, stolen, other] { try await store.close() }
        }
    }

    @Test("P-14: a base that no statement names, and one that holds another account's records, join nothing of others")
    func forgedBase() async throws {
        try await PublicWorld.with { world in
            let (ann, eve) = (try world.player("ann"), try world.player("eve"))
            let phone = try world.device("phone", of: eve)
            let (first, second) = (try await ann.open(), try await eve.open())
            try await settle(first, second)
            try await first.execute(Self.insert(ann, "a", 1))
            try await settle(first, second)
            // Eve's program writes baselines of all that her file shows, among it a record of Ann's.
            try await second.writeUnguarded("UPDATE score SET points = 666 WHERE id = 'a'")
            try await second.execute(Self.insert(eve, "e", 3))
            try await second.publish()
            let forged = try Self.forgedBaseline(of: second, by: eve, 1, in: world)
            try await settle(first, second)
            #expect(try await first.game == [score(ann, "a", 1), score(eve, "e", 3)].sorted())
            // Her account's next statement names the second one as its base.
            let base = try Self.forgedBaseline(of: second, by: eve, 2, in: world)
            #expect(base != forged)
            let authority = try world.place.readAuthority()
            var statement = try #require(authority.nextStatement(of: eve.account!, devices: [try eve.peer: eve.keys.deviceKey!.publicKey]))
            statement.base = base
            try world.place.write(statement.signed(with: eve.keys.identityKey!, in: world.container))
            try await settle(first, second)
            _ = phone
            try await world.reader("reader").with { reader in
                try await reader.settled()
                #expect(try await reader.game == [score(ann, "a", 1), score(eve, "e", 3)].sorted())
            }
            #expect(try await first.game == [score(ann, "a", 1), score(eve, "e", 3)].sorted())
            for store in [first, second] { try await store.close() }
        }
    }

    /// Writes a baseline of all that a store's file shows into its device's directory.
    private static func forgedBaseline(
        of store: UbiquitousStore, by device: PublicDevice, _ sequence: Int64, in world: PublicWorld
    ) throws -> BaselineID {
        let draft = world.directory.appending("forged-\(sequence)")
        let file = store.current.file
        let writer = BaselineWriter(store: file.path, shapes: file.shapes, schemaVersion: file.migrations.last ?? "", now: device.clock.now)
        _ = try #require(try writer.write(to: draft, sequence: sequence))
        let id = BaselineID(peer: try device.peer, name: BaselineName(sequence: sequence, hash: try ContentHash(ofFile: draft)))
        let folder = world.content.appending("\(id.peer)/1/baselines")
        try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: true)
        try FileManager.default.moveItem(atPath: draft.string, toPath: folder.appending(id.name.description).string)
        return id
    }

    @Test("P-24: two policies of a number pause the curated tables on all readers, who say so; all agree after the merge")
    func fork() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let account = ann.account!
            let (store, owner) = (try await ann.open(), try await world.owner.open())
            try await settle(store, owner)
            try await Self.grant("editor", to: ann, by: owner)
            try await settle(owner, store)
            try await store.execute("INSERT INTO template VALUES ('early', 'Ann')")
            try await settle(store, owner)
            // The steward's device comes back from a backup, and signs a second policy with the number of one that is out.
            let key = try #require(try world.owner.keys.deviceKey)
            let authority = try world.place.readAuthority()
            let first = try #require(authority.policy)
            _ = try await owner.runner.signPolicy { $0.roles["moderator"]?.insert(account) }
            var second = first.value
            (second.version, second.predecessor) = (3, first.id)
            second.limits.records = 7
            try world.place.write(second.signed(with: key, in: world.container))
            try await settle(store, owner)
            try await owner.writeUnguarded("INSERT INTO template VALUES ('t', 'Owner')")
            try await store.execute(Self.insert(ann, "a", 1))
            try await settle(owner, store)
            #expect(try await store.game == [score(ann, "a", 1), "early=Ann"].sorted())
            let waiting = try await store.status().waiting
            #expect(waiting.map(\.peer) == [try world.owner.peer.description])
            #expect(waiting.first?.description.contains("the policy that merges a fork") == true)
            // Who loses a role by the merge loses no change that the steward has.
            #expect(try await owner.runner.signPolicy { _ in } == 4)
            try await settle(store, owner)
            let reader = try await world.reader("reader").open()
            try await reader.settled()
            let shown = try await owner.game
            #expect(shown == [score(ann, "a", 1), "early=Ann", "t=Owner"].sorted())
            #expect(try await store.game == shown)
            #expect(try await reader.game == shown)
            #expect(try await reader.status().waiting.isEmpty)
            for store in [store, owner, reader] { try await store.close() }
        }
    }

    /// Grants a role, and returns after all stores have followed.
    private static func grant(_ role: String, to device: PublicDevice, by steward: UbiquitousStore) async throws {
        let account = device.account!
        _ = try await steward.runner.signPolicy { $0.roles[role, default: []].insert(account) }
    }

    @Test("P-24: the merge of a fork keeps what only the base of one branch holds, and what one branch has taken back stays taken back")
    func forkWithBase() async throws {
        try await PublicWorld.with { world in
            let (ann, eve) = (try world.player("ann"), try world.player("eve"))
            let (store, other) = (try await ann.open(), try await eve.open())
            try await world.owner.with { owner in
                try await settle(store, other, owner)
                try await Self.grant("editor", to: ann, by: owner)
                try await Self.grant("editor", to: eve, by: owner)
                try await settle(store, other, owner)
                try await store.execute("INSERT INTO template VALUES ('1', 'Ann')")
                try await other.execute("INSERT INTO template VALUES ('eve', 'Eve')")
                try await settle(store, other, owner)
            }
            // The steward's device is backed up here, with both templates.
            let backup = world.directory.appending("backup")
            try FileManager.default.copyItem(atPath: world.owner.directory.string, toPath: backup.string)
            try await store.execute("INSERT INTO template VALUES ('2', 'Ann')")
            let before = try #require(try world.place.readAuthority().policy)
            let (annAccount, eveAccount) = (ann.account!, eve.account!)
            try await world.owner.with { owner in
                try await settle(store, owner)
                _ = try await owner.runner.signPolicy(takingBack: .after([try eve.peer: 0])) {
                    $0.roles["editor"]?.subtract([annAccount, eveAccount])
                }
                try await settle(store, other, owner)
                #expect(try await owner.game == ["1=Ann", "2=Ann"])
            }
            // The restored steward has signed a policy without this removal.
            var second = before.value
            (second.version, second.predecessor, second.base) = (before.value.version + 1, before.id, nil)
            second.limits.records = 7
            try world.place.write(second.signed(with: world.owner.keys.deviceKey!, in: world.container))
            let restored = PublicDevice(
                directory: backup, home: DeviceHome(backup.appending("home")), root: world.root, container: world.container,
                account: world.owner.account)
            let steward = try await restored.open()
            try await settle(steward, store, other)
            #expect(try await steward.read { db in try String.fetchAll(db, sql: "SELECT id FROM template ORDER BY id") } == ["1", "eve"])
            #expect(try await steward.runner.signPolicy { _ in } == before.value.version + 2)
            let reader = try await world.reader("reader").open()
            try await settle(steward, store, other, reader)
            for shown in [steward, store, other, reader] { #expect(try await shown.game == ["1=Ann", "2=Ann"]) }
            for store in [steward, store, other, reader] { try await store.close() }
        }
    }
}
