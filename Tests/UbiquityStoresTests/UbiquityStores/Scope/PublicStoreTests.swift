import Foundation
import GRDB
import StoreFormat
import StoreRecords
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityStores
import UbiquityTesting

/// Stores of many accounts in one public container, over real files.
struct PublicStoreTests {
    private static func insert(_ device: PublicDevice, _ id: String, _ points: Int) -> String {
        "INSERT INTO score VALUES ('\(device.name)', '\(id)', \(points))"
    }

    @Test("S-155, P-03: signed out, the rows of all accounts are read, and an insert is refused; the store leaves nothing in the container")
    func signedOut() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            try await ann.with { store in
                try await store.settled()
                try await store.execute(Self.insert(ann, "a", 7))
                try await store.settled()
            }
            let before = try Self.files(world)
            let reader = world.reader("reader")
            try await reader.with { store in
                try await store.settled()
                #expect(try await store.game == [score(ann, "a", 7)])
                #expect(store.account == nil && !store.canModify)
                await #expect(throws: DatabaseError.self) { try await store.execute(Self.insert(ann, "b", 1)) }
                await #expect(throws: DatabaseError.self) { try await store.execute("INSERT INTO template VALUES ('t', 'T')") }
                try await store.settled()
            }
            #expect(try Self.files(world) == before)
        }
    }

    @Test("A scope that is no identifier, a web address, an account's container or another way of opening beside a scope are refused with the remedy")
    func refusals() async throws {
        try await PublicWorld.with { world in
            let reader = world.reader("reader")
            func message(_ scope: StoreScope, existing: Bool = false) async -> String {
                var options = UbiquitousStore.Options(contentName: "Game", exchangesAutomatically: false)
                options.scope = scope
                if existing { options.existingDatabase = world.directory.appending("plain") }
                do {
                    _ = try await UbiquitousStore.open(
                        at: world.directory.appending("Refused.sqlite"), options: options, home: reader.home, schema: PublicDevice.schema)
                    return ""
                } catch { return "\(error)" }
            }
            #expect(await message(.public("c7k", at: world.root.string)).contains("`ubcontrol public create`"))
            #expect(await message(.public(world.container.description, at: "ftp://game.example")).contains("write one like"))
            #expect(await message(.public(world.container.description, at: world.root.string), existing: true).contains("leave them out"))
            var options = UbiquitousStore.Options(contentName: "Game")
            options.scope = .public(world.container.description, at: world.root.string)
            #expect(throws: UbiquitousStoreError.self) { try options.identifier(or: nil) }
        }
    }

    @Test("S-160, P-06: two accounts create one id, and every device has two records; each account, and nobody else, changes and deletes its own")
    func twoAccounts() async throws {
        try await PublicWorld.with { world in
            let (ann, bob) = (try world.player("ann"), try world.player("bob"))
            let (first, second) = (try await ann.open(), try await bob.open())
            // A store learns from the container what its account may change.
            try await settle(first, second)
            try await first.execute(Self.insert(ann, "best", 1))
            try await second.execute(Self.insert(bob, "best", 2))
            try await settle(first, second)
            let both = [score(ann, "best", 1), score(bob, "best", 2)].sorted()
            #expect(try await first.game == both)
            #expect(try await second.game == both)
            await #expect(throws: DatabaseError.self) { try await second.execute("UPDATE score SET points = 0 WHERE player = '\(ann.name)'") }
            await #expect(throws: DatabaseError.self) { try await second.execute("DELETE FROM score WHERE player = '\(ann.name)'") }
            try await second.execute("UPDATE score SET points = 9 WHERE player = '\(bob.name)'")
            try await settle(first, second)
            #expect(try await first.game == [score(ann, "best", 1), score(bob, "best", 9)].sorted())
            let own = ObjectID(table: "score", key: [WriteRights.value(of: ann.account!), .text(Array("best".utf8)[...])])
            #expect(first.canUpdate(own) && first.canDelete(own) && !second.canUpdate(own) && !second.canDelete(own))
            // Neither the owner of the container, who holds all roles, nor a reader may.
            let others = [try await world.owner.open(), try await world.reader("reader").open()]
            for other in others {
                try await other.settled()
                #expect(!other.canUpdate(own) && !other.canDelete(own))
                await #expect(throws: DatabaseError.self) { try await other.execute("DELETE FROM score") }
            }
            for store in [first, second] + others { try await store.close() }
        }
    }

    @Test("S-157, P-05: a foreign edit, a foreign deletion and a change of a curated table, validly signed, have no effect anywhere, and are listed")
    func foreignChanges() async throws {
        try await PublicWorld.with { world in
            let (ann, eve) = (try world.player("ann"), try world.player("eve"))
            let (first, second, owner) = (try await ann.open(), try await eve.open(), try await world.owner.open())
            try await settle(first, second, owner)
            try await first.execute(Self.insert(ann, "a", 1))
            try await first.execute(Self.insert(ann, "b", 2))
            try await owner.execute("INSERT INTO template VALUES ('t', 'Template')")
            try await settle(first, second, owner)
            try await second.writeUnguarded("UPDATE score SET points = 666 WHERE id = 'a'; DELETE FROM score WHERE id = 'b'")
            try await second.writeUnguarded("UPDATE template SET title = 'Eve'")
            try await second.execute(Self.insert(eve, "mine", 3))
            try await settle(second, first, owner)
            let shown = [score(ann, "a", 1), score(ann, "b", 2), score(eve, "mine", 3), "t=Template"].sorted()
            let reader = try await world.reader("reader").open()
            try await reader.settled()
            for store in [first, owner, reader] {
                #expect(try await store.game == shown)
                let rejected = try await store.rejected()
                #expect(rejected.map(\.changes) == [2, 1])
                #expect(rejected.allSatisfy { $0.peer.hasPrefix(eve.name) })
                #expect(rejected.map(\.reason) == ["the record is another account's", "the policy that it names does not know the device"])
                #expect(rejected[1].record?.hasPrefix("template/") == true)
            }
            for store in [first, second, owner, reader] { try await store.close() }
        }
    }

    @Test("P-07: a stranger's stamps of the year 2199 and of 1970 change nobody else's row and nobody else's clock")
    func stamps() async throws {
        try await PublicWorld.with { world in
            let (ann, eve) = (try world.player("ann"), try world.player("eve"))
            let (first, second) = (try await ann.open(), try await eve.open())
            try await settle(first, second)
            try await first.execute(Self.insert(ann, "a", 1))
            try await settle(first, second)
            let clock = try await Self.clock(of: first)
            eve.clock.advance(by: 172 * 365.25 * 86_400)
            try await second.writeUnguarded("UPDATE score SET points = 666 WHERE id = 'a'; \(Self.insert(eve, "late", 1))")
            eve.clock.advance(by: -220 * 365.25 * 86_400)
            try await second.execute(Self.insert(eve, "early", 1))
            try await settle(second, first)
            #expect(try await first.game == [score(ann, "a", 1), score(eve, "early", 1), score(eve, "late", 1)].sorted())
            #expect(try await Self.clock(of: first) == clock)
            for store in [first, second] { try await store.close() }
        }
    }

    @Test("P-08: a log with one altered byte, in another's directory, or of another container is refused by name; others' logs are joined")
    func altered() async throws {
        try await PublicWorld.with { world in
            let (ann, eve) = (try world.player("ann"), try world.player("eve"))
            try await ann.with { store in
                try await store.settled()
                try await store.execute(Self.insert(ann, "a", 1))
                try await store.settled()
            }
            try await eve.with { store in
                try await store.settled()
                try await store.execute(Self.insert(eve, "e", 1))
                try await store.settled()
            }
            let logs = world.content.appending(try ann.peer.description).appending("1")
            let name = try #require(try FileManager.default.contentsOfDirectory(atPath: logs.string).first { $0.hasSuffix(".ublog") })
            let file = logs.appending(name)
            let whole = [UInt8](try Data(contentsOf: URL(filePath: file.string)))
            for index in [0, 20, whole.count / 2, whole.count - 64, whole.count - 1] {
                var bytes = whole
                bytes[index] ^= 1
                try Data(bytes).write(to: URL(filePath: file.string))
                try await world.reader("reader\(index)").with { store in
                    try await store.settled()
                    #expect(try await store.game == [score(eve, "e", 1)])
                    let refused = try await store.status().quarantined
                    #expect(refused.map(\.file) == [name])
                }
            }
            // Eve's own log, under Ann's name.
            try FileManager.default.removeItem(atPath: file.string)
            let foreign = world.content.appending(try eve.peer.description).appending("1")
            let other = try #require(try FileManager.default.contentsOfDirectory(atPath: foreign.string).first { $0.hasSuffix(".ublog") })
            try FileManager.default.copyItem(atPath: foreign.appending(other).string, toPath: logs.appending(other).string)
            try await world.reader("reader").with { store in
                try await store.settled()
                #expect(try await store.game == [score(eve, "e", 1)])
                #expect(try await store.status().quarantined.map(\.reason) == ["it is a log of \(try eve.peer)"])
            }
        }
    }

    @Test("P-08: a log with another's signature, for another container, of another epoch, or under another's certificate is refused by name")
    func forgedHeaders() async throws {
        try await PublicWorld.with { world in
            let (ann, eve) = (try world.player("ann"), try world.player("eve"))
            let (container, policy) = (world.container, StatementIdentifier(world.container.hash))
            let other = ScopeIdentifier(ContentHash(of: Array("another".utf8)))
            let own = StatementIdentifier(eve.account!.hash)
            let cases: [(rights: LogRights, epoch: Int64, key: PrivateKey?, reason: String)] = [
                (LogRights(container: container, policy: policy, certificate: own), 1, try ann.keys.deviceKey, "signature is not valid"),
                (LogRights(container: other, policy: policy, certificate: own), 1, try eve.keys.deviceKey, "container"),
                (LogRights(container: container, policy: policy, certificate: own), 2, try eve.keys.deviceKey, "epoch"),
                (
                    LogRights(container: container, policy: policy, certificate: StatementIdentifier(ann.account!.hash)), 1,
                    try eve.keys.deviceKey, "signature is not valid"
                ),
            ]
            for (number, forged) in cases.enumerated() {
                var rows = WireWriter()
                rows.varint(1)
                for text in [eve.name, "e"] { rows.recordValue(.text(text)) }
                rows.varint(1)
                rows.recordValue(.integer(6))
                var body = LogBodyBuilder()
                body.add(LogBody.Table(name: "score", keyColumns: ["player", "id"], columns: ["points"]), count: 1, rows: rows)
                var header = LogHeader(
                    peer: try eve.peer, contentName: "Game", epoch: forged.epoch, sequence: 1, predecessor: nil, news: Knowledge(), schema: "v1",
                    created: Date(timeIntervalSince1970: 1_795_000_000), saves: 1, changes: 1)
                header.rights = forged.rights
                let bytes = LogFile.encode(header, body: body.encoded(time: HybridTime(milliseconds: 1_795_000_000_000)))
                let name = LogFileName(sequence: 1, hash: ContentHash(of: bytes))
                let logs = world.content.appending(try eve.peer.description).appending("1")
                try? FileManager.default.removeItem(atPath: logs.string)
                try FileManager.default.createDirectory(atPath: logs.string, withIntermediateDirectories: true)
                let signed = LogFile.signed(bytes, name.hash, with: try #require(forged.key), in: forged.rights.container)
                try Data(signed).write(to: URL(filePath: logs.appending(name.description).string))
                try await world.reader("reader\(number)").with { store in
                    try await store.settled()
                    #expect(try await store.game.isEmpty, "\(forged.reason)")
                    let refused = try await store.status().quarantined.map { ($0.file, $0.reason) }
                    let rejected = try await store.rejected().map { ("\(LogFileName(sequence: $0.sequence, hash: name.hash))", $0.reason) }
                    let listed = refused + rejected
                    #expect(listed.count == 1 && listed.first?.0 == name.description, "\(forged.reason): \(listed)")
                    #expect(listed.first?.1.contains(forged.reason) == true, "\(listed)")
                }
            }
        }
    }

    @Test("a statement that a synchroniser has written in part is listed, and read and no longer listed once it is whole")
    func partialStatement() async throws {
        try await PublicWorld.with { world in
            let store = try await world.reader("reader").open()
            try await store.settled()
            let ann = try world.player("ann")
            let folder = world.place.accounts.appending(ann.name)
            let name = try #require(try FileManager.default.contentsOfDirectory(atPath: folder.string).first)
            let file = URL(filePath: folder.appending(name).string)
            let whole = try Data(contentsOf: file)
            try whole.prefix(whole.count / 2).write(to: file)
            try await store.settled()
            let listed = try await store.status().quarantined
            #expect(listed.map(\.peer) == ["accounts/\(ann.name)"] && listed.map(\.file) == [name])
            try whole.write(to: file)
            try await store.settled()
            #expect(try await store.status().quarantined.isEmpty)
            try await ann.with { other in
                try await other.settled()
                try await other.execute(Self.insert(ann, "a", 1))
                try await other.settled()
            }
            try await store.settled()
            #expect(try await store.game == [score(ann, "a", 1)])
            try await store.close()
        }
    }

    @Test("P-15: an account whose log is missing delays no other account's")
    func missing() async throws {
        try await PublicWorld.with { world in
            let (ann, bob) = (try world.player("ann"), try world.player("bob"))
            let (first, second) = (try await ann.open(), try await bob.open())
            try await settle(first, second)
            for points in 1...2 {
                try await first.execute(Self.insert(ann, "a\(points)", points))
                try await settle(first, second)
                try await second.execute(Self.insert(bob, "b\(points)", points))
                try await settle(first, second)
            }
            let logs = world.content.appending(try ann.peer.description).appending("1")
            let name = try #require(
                try FileManager.default.contentsOfDirectory(atPath: logs.string).sorted().first { $0.hasPrefix("000000000001.") })
            try FileManager.default.removeItem(atPath: logs.appending(name).string)
            try await world.reader("reader").with { store in
                try await store.settled()
                #expect(try await store.game == [score(bob, "b1", 1), score(bob, "b2", 2)])
                #expect(try await store.status().waiting.map(\.peer) == [try ann.peer.description])
            }
            for store in [first, second] { try await store.close() }
        }
    }

    @Test("P-25: an unsigned epoch mark, receipt or retirement in a public container changes nothing")
    func unsigned() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let store = try await ann.open()
            try await store.settled()
            try await store.execute(Self.insert(ann, "a", 1))
            try await store.settled()
            let peer = try ann.peer
            let epochs = world.content.appending("epochs")
            try FileManager.default.createDirectory(atPath: epochs.string, withIntermediateDirectories: true)
            let mark = EpochMark(epoch: 2, peer: peer, knowledge: nil, time: ann.clock.now)
            try Data(mark.encoded()).write(to: URL(filePath: epochs.appending("2.\(peer)").string))
            let receipts = world.content.appending(peer.description).appending("1/receipts")
            try FileManager.default.createDirectory(atPath: receipts.string, withIntermediateDirectories: true)
            let receipt = Receipt(
                peer: peer, epoch: 1, knowledge: Knowledge([peer: .init(sequence: 9, hash: ContentHash(of: [1]))]), migrations: [],
                time: ann.clock.now)
            try Data(receipt.encoded()).write(to: URL(filePath: receipts.appending("7").string))
            try await store.execute(Self.insert(ann, "b", 2))
            try await store.settled()
            #expect(try await store.game == [score(ann, "a", 1), score(ann, "b", 2)])
            try await world.reader("reader").with { reader in
                try await reader.settled()
                #expect(try await reader.game == [score(ann, "a", 1), score(ann, "b", 2)])
                #expect(try await reader.status().epoch == 1)
            }
            try await store.close()
        }
    }

    /// The clock with which a store stamps its account's records.
    private static func clock(of store: UbiquitousStore) async throws -> Int64 {
        try await store.read { db in try Int64.fetchOne(db, sql: "SELECT clock FROM ubiquity_state")! }
    }

    private static func files(_ world: PublicWorld) throws -> Set<String> {
        Set(FileManager.default.enumerator(atPath: world.root.string)!.compactMap { $0 as? String })
    }
}
