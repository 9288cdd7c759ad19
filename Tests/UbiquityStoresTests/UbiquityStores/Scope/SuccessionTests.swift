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

/// Stewards that are replaced, and policies that they owe.
struct ScopeSuccessionTests {
    @Test("a stolen steward's policies are void once the owner has begun a term after the last one that counts")
    func stolenSteward() async throws {
        try await PublicWorld.with { world in
            let (ann, eve) = (try world.player("ann"), try world.player("eve"))
            let laptop = try world.device("laptop", of: world.owner)
            let (first, second, third, thief) = (try await laptop.open(), try await ann.open(), try await eve.open(), try await world.owner.open())
            let annAccount = ann.account!
            _ = try await thief.runner.signPolicy { $0.roles["editor"]?.insert(annAccount) }
            try await settle(thief, first, second, third)
            try await second.execute("INSERT INTO template VALUES ('a', 'Ann')")
            try await settle(thief, first, second, third)
            let last = try #require(try world.place.readAuthority().policy)
            // The thief of the steward gives Eve the role, and takes it from Ann.
            let eveAccount = eve.account!
            _ = try await thief.runner.signPolicy { $0.roles["editor"] = [eveAccount] }
            try await settle(thief, first, second, third)
            try await third.execute("INSERT INTO template VALUES ('e', 'Eve')")
            try await settle(thief, first, second, third)
            #expect(try await second.game == ["a=Ann", "e=Eve"])
            await #expect(throws: UbiquitousStoreError.self) { _ = try await first.runner.becomeSteward(after: last.id) }
            try laptop.keys.write(identityKey: world.owner.keys.identityKey!)
            await #expect(throws: UbiquitousStoreError.self) { _ = try await first.runner.becomeSteward(after: StatementIdentifier(eveAccount.hash)) }
            _ = try await first.runner.becomeSteward(after: last.id)
            try await settle(thief, first, second, third)
            await #expect(throws: DatabaseError.self) { try await third.execute("INSERT INTO template VALUES ('f', 'Eve')") }
            try await second.execute("INSERT INTO template VALUES ('b', 'Ann')")
            await #expect(throws: UbiquitousStoreError.self) { _ = try await thief.runner.signPolicy { $0.roles["editor"] = [eveAccount] } }
            try await settle(thief, first, second, third)
            let late = try await world.reader("late").open()
            try await late.settled()
            for shown in [first, second, third, late] { #expect(try await shown.game == ["a=Ann", "b=Ann"]) }
            #expect(try await second.read { db in try RejectedLog.list(db).map(\.reason) } == [Rejection.void.description])
            for store in [first, second, third, thief, late] { try await store.close() }
        }
    }

    @Test("an heir succeeds an owner whose identity key is lost, and holds all roles")
    func heir() async throws {
        try await PublicWorld.with { world in
            let heir = world.reader("heir")
            let key = try HomeKeys(heir.home).publicKey(.heir)
            var beginning = ScopeRegistration.Beginning()
            beginning.access = ["score": .creator("player"), "template": .role("editor")]
            beginning.heirs = [key]
            let (container, _) = try ScopeRegistration(home: world.owner.home, root: world.root).createContainer(beginning)
            var device = PublicDevice(
                directory: heir.directory, home: heir.home, root: world.root, container: container, account: nil)
            device.account = try device.registration.createAccount(in: container)
            let store = try await device.open()
            try await store.settled()
            await #expect(throws: DatabaseError.self) { try await store.execute("INSERT INTO template VALUES ('t', 'T')") }
            #expect(try await store.runner.becomeSteward() == 2)
            try await store.execute("INSERT INTO template VALUES ('t', 'T')")
            _ = try await store.runner.signPolicy { $0.limits.records = 5 }
            try await store.settled()
            let policy = try #require(try device.registration.directory(container).readAuthority().policy?.value)
            #expect(policy.owner == device.account && policy.term == 1 && policy.version == 3)
            try await store.close()
        }
    }

    @Test("the steward's app signs by itself the policy that a role holder's new statement asks for, and the removed device loses the role")
    func owed() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let phone = try world.device("phone", of: ann)
            let (first, second, steward) = (try await ann.open(), try await phone.open(), try await world.owner.open())
            let account = ann.account!
            _ = try await steward.runner.signPolicy { $0.roles["editor"]?.insert(account) }
            try await settle(first, second, steward)
            try await first.runner.removeDevices([try phone.peer])
            try await settle(steward, first)
            #expect(try world.place.readAuthority().policy?.value.version == 3)
            // Nothing more is owed: another exchange signs nothing.
            try await settle(steward, first)
            #expect(try world.place.readAuthority().policy?.value.version == 3)
            try await first.execute("INSERT INTO template VALUES ('a', 'Ann')")
            try await settle(first, steward)
            #expect(try await steward.game == ["a=Ann"])
            for store in [first, second, steward] { try await store.close() }
        }
    }

    @Test("stores that joined an account's records before the admission was closed show them again once it is admitted, as a new store does")
    func readmission() async throws {
        try await PublicWorld.with { world in
            let (ann, bob) = (try world.player("ann"), try world.player("bob"))
            let (first, second, steward) = (try await ann.open(), try await bob.open(), try await world.owner.open())
            try await settle(first, second, steward)
            for (store, player) in [(first, ann), (second, bob)] {
                try await store.execute("INSERT INTO score VALUES (?, 'x', 1)", [player.name])
            }
            try await settle(first, second, steward)
            // Bob's account has a base.
            let phone = try world.device("phone", of: bob)
            try await second.runner.removeDevices([try phone.peer])
            try await settle(first, second, steward)
            let registrar = world.reader("registrar")
            let key = try HomeKeys(registrar.home).publicKey(.registrar)
            _ = try await steward.runner.signPolicy { $0.admission = .registrars([key]) }
            try await settle(first, second, steward)
            #expect(try await steward.game == [])
            let base = try #require(try world.place.readAuthority().statement(of: bob.account!)?.value.base)
            let file = world.content.appending("\(base.peer)/1/baselines/\(base.name)")
            let away = world.directory.appending("base")
            try FileManager.default.moveItem(atPath: file.string, toPath: away.string)
            for player in [ann, bob] { try registrar.registration.admitAccount(player.account!, in: world.container) }
            try await settle(first, second, steward)
            // Ann is back; Bob's records wait for the base.
            #expect(try await steward.game == [score(ann, "x", 1)])
            try FileManager.default.moveItem(atPath: away.string, toPath: file.string)
            try await second.settled()
            try await second.execute("INSERT INTO score VALUES (?, 'y', 2)", [bob.name])
            let late = try await world.reader("late").open()
            try await settle(first, second, steward, late)
            let shown = [score(ann, "x", 1), score(bob, "x", 1), score(bob, "y", 2)].sorted()
            for store in [first, second, steward, late] { #expect(try await store.game == shown) }
            for store in [first, second, steward, late] { try await store.close() }
        }
    }

    @Test("a request waits while a base is missing, and is fulfilled once it is there; one that is refused goes")
    func waitingRequest() async throws {
        try await PublicWorld.with { world in
            let (ann, bob) = (try world.player("ann"), try world.player("bob"))
            let (annAccount, bobAccount) = (ann.account!, bob.account!)
            let laptop = try world.device("laptop", of: world.owner)
            let (steward, other) = (try await world.owner.open(), try await laptop.open())
            try await settle(steward, other)
            _ = try await steward.runner.signPolicy { $0.roles["editor"]?.insert(annAccount) }
            _ = try await steward.runner.signPolicy { $0.roles["editor"]?.remove(annAccount) }
            let base = try #require(try world.place.readAuthority().policy?.value.base)
            let file = world.content.appending("\(base.peer)/1/baselines/\(base.name)")
            let away = world.directory.appending("base")
            try FileManager.default.moveItem(atPath: file.string, toPath: away.string)
            try laptop.keys.write(identityKey: world.owner.keys.identityKey!)
            try await other.write { db in
                try ScopeRequest.grant(role: "editor", bobAccount).ask(db)
                try ScopeRequest.succeed(after: nil).ask(db)
            }
            try await other.settled()
            // The grant is refused, because the laptop is not the steward.
            #expect(try await other.read { db in try ScopeRequest.list(db).map(\.request) } == [.succeed(after: nil)])
            try FileManager.default.moveItem(atPath: away.string, toPath: file.string)
            try await other.settled()
            #expect(try await other.read { db in try ScopeRequest.list(db).isEmpty })
            #expect(try world.place.readAuthority().policy?.value.term == 1)
            for store in [steward, other] { try await store.close() }
        }
    }
}
