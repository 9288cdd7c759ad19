import Foundation
import GRDB
import StoreAuthority
import StoreExchange
import StoreFormat
import StoreInspection
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreRecords
@testable import UbiquityStores

/// Blocks, vetoes and limits in a public container: what is hidden, from whom, and for how long.
struct ModerationTests {
    private static func insert(_ device: PublicDevice, _ id: String, _ points: Int) -> String {
        "INSERT INTO score VALUES ('\(device.name)', '\(id)', \(points))"
    }

    private static func record(_ device: PublicDevice, _ id: String) -> ObjectID {
        ObjectID(table: "score", key: [.text(Array(device.name.utf8)[...]), .text(Array(id.utf8)[...])])
    }

    @Test("P-16: a block hides all records of an account at once on every device, also later ones, and its end shows them as they are by then")
    func block() async throws {
        try await PublicWorld.with { world in
            let (ann, eve) = (try world.player("ann"), try world.player("eve"))
            let (store, spammer, owner) = (try await ann.open(), try await eve.open(), try await world.owner.open())
            try await settle(store, spammer, owner)
            try await store.execute(Self.insert(ann, "a", 1))
            try await spammer.execute(Self.insert(eve, "e", 2))
            try await spammer.execute(Self.insert(eve, "f", 3))
            try await settle(store, spammer, owner)
            let all = [score(ann, "a", 1), score(eve, "e", 2), score(eve, "f", 3)].sorted()
            #expect(try await store.game == all)
            try await owner.write { db in try Moderation(db).block(eve.account!, reason: "advertises") }
            try await settle(store, spammer, owner)
            for shown in [store, spammer, owner] { #expect(try await shown.game == [score(ann, "a", 1)]) }
            #expect(try await store.held().map(\.reason) == Array(repeating: "its account is blocked: advertises", count: 2))
            // What the account writes meanwhile is merged, and hidden as well.
            try await spammer.execute(Self.insert(eve, "g", 4))
            try await settle(store, spammer, owner)
            let late = try await world.reader("late").open()
            try await late.settled()
            for shown in [store, spammer, owner, late] { #expect(try await shown.game == [score(ann, "a", 1)]) }
            try await owner.write { db in try Moderation(db).withdraw(from: .account(eve.account!)) }
            try await settle(store, spammer, owner, late)
            let whole = (all + [score(eve, "g", 4)]).sorted()
            for shown in [store, spammer, owner, late] {
                #expect(try await shown.game == whole)
                #expect(try await shown.held().isEmpty)
            }
            for store in [store, spammer, owner, late] { try await store.close() }
        }
    }

    @Test("P-16: a veto hides one record, before or after it arrives, and its end shows what its account has written since")
    func veto() async throws {
        try await PublicWorld.with { world in
            let (ann, eve) = (try world.player("ann"), try world.player("eve"))
            let (store, other, owner) = (try await ann.open(), try await eve.open(), try await world.owner.open())
            try await settle(store, other, owner)
            // The decision is there before the record.
            try await owner.write { db in try Moderation(db).veto(Self.record(eve, "e")) }
            try await other.execute(Self.insert(eve, "e", 2))
            try await other.execute(Self.insert(eve, "f", 3))
            try await settle(store, other, owner)
            for shown in [store, other, owner] { #expect(try await shown.game == [score(eve, "f", 3)]) }
            #expect(try await store.held().map(\.record) == [Self.record(eve, "e")])
            try await owner.write { db in
                try Moderation(db).veto(Self.record(eve, "f"))
                try Moderation(db).withdraw(from: .record(Self.record(eve, "e")))
            }
            try await settle(store, other, owner)
            for shown in [store, other, owner] { #expect(try await shown.game == [score(eve, "e", 2)]) }
            #expect(try await store.read { db in try Moderation(db).decisions.map(\.subject) } == [.record(Self.record(eve, "f"))])
            // Its account deletes it and creates it again, while nobody shows it.
            try await other.execute(Self.insert(eve, "f", 5))
            try await settle(store, other, owner)
            try await owner.write { db in try Moderation(db).withdraw(from: .record(Self.record(eve, "f"))) }
            try await settle(store, other, owner)
            for shown in [store, other, owner] { #expect(try await shown.game == [score(eve, "e", 2), score(eve, "f", 5)]) }
            for store in [store, other, owner] { try await store.close() }
        }
    }

    @Test("P-16: only moderators decide; a decision of another account has no effect and is listed, and a removed moderator's later ones too")
    func moderatorsAlone() async throws {
        try await PublicWorld.with { world in
            let (ann, eve) = (try world.player("ann"), try world.player("eve"))
            let (store, other, owner) = (try await ann.open(), try await eve.open(), try await world.owner.open())
            try await settle(store, other, owner)
            try await store.execute(Self.insert(ann, "a", 1))
            try await settle(store, other, owner)
            await #expect(throws: DatabaseError.self) { try await other.write { db in try Moderation(db).block(ann.account!) } }
            try await other.writeUnguarded("INSERT INTO ubiquity_moderation VALUES ('\(ann.name)', 'envy')")
            try await settle(store, other, owner)
            #expect(try await store.game == [score(ann, "a", 1)])
            #expect(try await store.rejected().map(\.reason) == ["the policy that it names does not know the device"])
            let account = eve.account!
            _ = try await owner.runner.signPolicy { $0.roles[Moderation.role]?.insert(account) }
            try await settle(store, other, owner)
            try await other.write { db in try Moderation(db).veto(Self.record(ann, "a"), reason: "tells on me") }
            try await settle(store, other, owner)
            #expect(try await store.game.isEmpty)
            // What the steward has of a removed moderator's decisions stays, until another moderator withdraws it.
            _ = try await owner.runner.signPolicy { $0.roles[Moderation.role]?.remove(account) }
            try await settle(store, other, owner)
            #expect(try await store.game.isEmpty)
            try await owner.write { db in try Moderation(db).withdraw(from: .record(Self.record(ann, "a"))) }
            try await settle(store, other, owner)
            for shown in [store, other, owner] { #expect(try await shown.game == [score(ann, "a", 1)]) }
            for store in [store, other, owner] { try await store.close() }
        }
    }

    @Test("P-17: over its limit an account shows the first N records in the order of keys on every device, in whatever order they come and go")
    func limit() async throws {
        try await PublicWorld.with { world in
            let (ann, eve) = (try world.player("ann"), try world.player("eve"))
            let phone = try world.device("phone", of: eve)
            let (store, first, second, owner) = (try await ann.open(), try await eve.open(), try await phone.open(), try await world.owner.open())
            let all = [store, first, second, owner]
            func agree(_ expected: [String], _ comment: Comment) async throws {
                for store in all + all { try await store.settled() }
                for shown in all { #expect(try await shown.game == expected.sorted(), comment) }
                try await world.reader("late-\(UUID().uuidString)").with { reader in
                    try await reader.settled()
                    #expect(try await reader.game == expected.sorted(), comment)
                }
            }
            for store in all + all { try await store.settled() }
            _ = try await owner.runner.signPolicy { $0.limits.records = 3 }
            for store in all + all { try await store.settled() }
            try await store.execute(Self.insert(ann, "z", 9))
            for id in ["b", "d", "f"] { try await first.execute(Self.insert(eve, id, 1)) }
            let mine = score(ann, "z", 9)
            try await agree([mine, score(eve, "b", 1), score(eve, "d", 1), score(eve, "f", 1)], "three of three")
            try await second.execute(Self.insert(eve, "c", 2))
            try await agree([mine, score(eve, "b", 1), score(eve, "c", 2), score(eve, "d", 1)], "a fourth in between hides the last")
            #expect(try await store.held().map(\.reason) == ["its account has more records in “score” than the 3 that the policy allows"])
            try await first.execute(Self.insert(eve, "a", 3))
            try await second.execute(Self.insert(eve, "e", 3))
            try await agree([mine, score(eve, "a", 3), score(eve, "b", 1), score(eve, "c", 2)], "two at once")
            try await first.execute("DELETE FROM score WHERE id IN ('a', 'b')")
            try await agree([mine, score(eve, "c", 2), score(eve, "d", 1), score(eve, "e", 3)], "deleted ones give way")
            _ = try await owner.runner.signPolicy { $0.limits.records = 1 }
            try await agree([mine, score(eve, "c", 2)], "the limit shrinks")
            // Nothing is known of the number of records after a change of the limit.
            try await first.execute("DELETE FROM score WHERE id = 'c'")
            try await agree([mine, score(eve, "d", 1)], "a deletion after the change")
            _ = try await owner.runner.signPolicy { $0.limits.records = 2 }
            try await agree([mine, score(eve, "d", 1), score(eve, "e", 3)], "the limit grows a little")
            try await first.execute("DELETE FROM score WHERE id = 'd'")
            try await agree([mine, score(eve, "e", 3), score(eve, "f", 1)], "a deletion that ends the excess")
            try await first.execute("INSERT INTO score VALUES ('\(eve.name)', 'c', 2), ('\(eve.name)', 'd', 1)")
            try await agree([mine, score(eve, "c", 2), score(eve, "d", 1)], "and new ones")
            _ = try await owner.runner.signPolicy { $0.limits.records = 10 }
            try await agree([mine, score(eve, "c", 2), score(eve, "d", 1), score(eve, "e", 3), score(eve, "f", 1)], "the limit grows")
            for store in all { try await store.close() }
        }
    }

    @Test("a save within the limit counts no rows, and one beyond it does")
    func countsSeldom() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let (store, owner) = (try await ann.open(), try await world.owner.open())
            try await settle(store, owner)
            func population() async throws -> Int64? {
                try await store.read { db in
                    try Int64.fetchOne(db, sql: "SELECT records FROM ubiquity_population WHERE account = ?", arguments: [ann.name])
                }
            }
            for number in 0..<4 { try await store.execute(Self.insert(ann, "\(number)", number)) }
            #expect(try await population() == 4)
            // An upper bound is not lowered by a deletion, and a save within the limit adds to it without a count.
            try await store.execute("DELETE FROM score WHERE id = '0'")
            try await store.execute(Self.insert(ann, "5", 5))
            #expect(try await population() == 5)
            _ = try await owner.runner.signPolicy { $0.limits.records = 4 }
            try await settle(store, owner)
            try await store.execute(Self.insert(ann, "6", 6))
            #expect(try await population() == 5)
            for store in [store, owner] { try await store.close() }
        }
    }
}
