import Foundation
import GRDB
import StoreFormat
import StoreRecords
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting
import Waiting

@testable import StoreExchange
@testable import UbiquityStores

/// What a removal leaves of the saves of the device that reads it, over real files.
struct RejectedSavesTests {
    private static func insert(_ device: PublicDevice, _ id: String, _ points: Int) -> String {
        "INSERT INTO score VALUES ('\(device.name)', '\(id)', \(points))"
    }

    @Test("A rebuild loses no save that is sealed or captured and not published, and a removal of another device keeps it")
    func unpublished() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let (phone, old) = (try world.device("phone", of: ann), try world.device("old", of: ann))
            let (first, second, third) = (try await ann.open(), try await phone.open(), try await old.open())
            try await settle(first, second, third)
            try await second.execute(Self.insert(phone, "published", 1))
            try await settle(first, second, third)
            try await first.runner.removeDevices([try old.peer])
            try await second.execute(Self.insert(phone, "sealed", 2))
            try await second.executeElsewhere(Self.insert(phone, "captured", 3))
            // The statement names the devices that remain, and a device that is enrolled goes on.
            try await second.readStatements()
            let shown = [score(phone, "captured", 3), score(phone, "published", 1), score(phone, "sealed", 2)]
            #expect(try await second.game == shown)
            #expect(try KeptLogs(home: phone.home).list().isEmpty)
            try await settle(second, first)
            #expect(try await first.game == shown)
            #expect(try await second.game == shown)
            for store in [first, second, third] { try await store.close() }
        }
    }

    @Test("P-13: honest saves of a removed editor, published or not, are kept, and are restored when the role comes back; its own records go out")
    func editor() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let account = ann.account!
            let (store, owner) = (try await ann.open(), try await world.owner.open())
            let reader = try await world.reader("reader").open()
            try await owner.grant("editor", to: account)
            try await settle(store, owner)
            try await store.execute("INSERT INTO template VALUES ('early', 'Ann')")
            try await settle(store, owner, reader)
            try await owner.take("editor", from: account)
            try await store.execute("INSERT INTO template VALUES ('published', 'Ann')")
            try await store.publish()
            try await store.execute("INSERT INTO template VALUES ('sealed', 'Ann')")
            try await store.execute(Self.insert(ann, "a", 1))
            try await store.execute("UPDATE template SET title = 'Anna' WHERE id = 'early'")
            try await store.execute(Self.insert(ann, "b", 2))
            let notices = store.notices.limited().makeAsyncIterator()
            try await store.readStatements()
            let shown = [score(ann, "a", 1), score(ann, "b", 2), "early=Ann"].sorted()
            #expect(try await store.game == shown)
            let kept = KeptLogs(home: ann.home)
            let entry = try #require(try kept.list().first?.entry)
            #expect(try kept.list().count == 1 && entry.reason == .rightRemoved && entry.tables == ["template"])
            let peer = try ann.peer.description
            #expect(entry.changes == 3 && entry.logs == 3 && entry.missing == 0 && entry.peer == peer)
            #expect(
                try kept.changes(of: entry.id).flatMap(\.changes).map { "\($0.record) \($0.values)" }.sorted() == [
                    "template/t:early [\"title\": \"Anna\"]", "template/t:published [\"title\": \"Ann\"]", "template/t:sealed [\"title\": \"Ann\"]",
                ])
            var told: KeptEntry?
            while told == nil { if case .didRejectSaves(let kept)? = try await notices.next() { told = kept } }
            #expect(told == entry)
            // The logs that remain follow each other without the rejected ones.
            #expect(try await store.read { db in try Outbox.names(db).map(\.sequence) } == [3, 4])
            try await settle(store, owner, reader)
            for store in [store, owner, reader] { #expect(try await store.game == shown) }
            #expect(try await reader.status().waiting.isEmpty)
            #expect(try await reader.rejected().map(\.sequence) == [2])
            #expect(throws: UbiquitousStoreError.self) { try kept.restore(entry.id, into: nil) }
            #expect(try await store.game == shown)

            try await owner.grant("editor", to: account)
            try await settle(store, owner)
            #expect(try kept.restore(entry.id, into: nil) == (written: 3, deleted: 0))
            try await settle(store, owner, reader)
            let restored = [score(ann, "a", 1), score(ann, "b", 2), "early=Anna", "published=Ann", "sealed=Ann"].sorted()
            for store in [store, owner, reader] { #expect(try await store.game == restored) }
            #expect(try kept.list().count == 1)
            for store in [store, owner, reader] { try await store.close() }
        }
    }

    @Test("P-13: a rebuild on request, and a later removal, keep nothing again that a removal has rejected")
    func once() async throws {
        try await PublicWorld.with { world in
            let (ann, bob) = (try world.player("ann"), try world.player("bob"))
            let (store, owner) = (try await ann.open(), try await world.owner.open())
            for device in [ann, bob] { try await owner.grant("editor", to: device.account!) }
            try await settle(store, owner)
            try await owner.take("editor", from: ann.account!)
            try await store.execute("INSERT INTO template VALUES ('late', 'Ann')")
            try await store.publish()
            try await settle(store, owner)
            let kept = KeptLogs(home: ann.home)
            let entry = try #require(try kept.list().first)
            try kept.remove(entry.id)
            try await store.runner.rebuild()
            try await owner.take("editor", from: bob.account!)
            try await settle(store, owner)
            #expect(try kept.list().isEmpty)
            for store in [store, owner] { try await store.close() }
        }
    }

    @Test("P-13: a device that is removed keeps what it has captured, sealed or published and nobody has read, also changes of curated tables")
    func device() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let phone = try world.device("phone", of: ann)
            let (store, removed, owner) = (try await ann.open(), try await phone.open(), try await world.owner.open())
            try await settle(store, removed)
            try await owner.grant("editor", to: ann.account!)
            try await settle(store, removed, owner)
            try await removed.execute(Self.insert(phone, "read", 1))
            try await settle(removed, store, owner)
            try await store.runner.removeDevices([try phone.peer])
            #expect(try await owner.runner.signPolicy { _ in } == 3)
            try await removed.execute(Self.insert(phone, "published", 2))
            try await removed.publish()
            try await removed.execute(Self.insert(phone, "sealed", 3))
            try await removed.execute("INSERT INTO template VALUES ('t', 'Phone')")
            try await removed.executeElsewhere("UPDATE score SET points = 9 WHERE id = 'read'")
            // Two statements have come together.
            try await removed.readStatements()
            #expect(try await removed.game == [score(ann, "read", 1)])
            #expect(try await removed.read { db in try Outbox.names(db) }.isEmpty)
            let kept = KeptLogs(home: phone.home)
            let records = try kept.list().flatMap { try kept.changes(of: $0.id) }.flatMap(\.changes).map(\.record).sorted()
            #expect(records == ["published", "read", "sealed"].map { "score/t:\(phone.name)/t:\($0)" } + ["template/t:t"])
            try await settle(removed, store, owner)
            for store in [store, removed, owner] { #expect(try await store.game == [score(ann, "read", 1)]) }
            for store in [store, removed, owner] { try await store.close() }
        }
    }

    @Test(
        "P-13: of a save in several logs, with large values, a removal keeps the rejected changes whole, and a log that a crash left in both places once"
    )
    func largeSaves() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let (store, owner) = (try await ann.open(), try await world.owner.open())
            try await owner.grant("editor", to: ann.account!)
            try await settle(store, owner)
            let before = try Self.outbox(of: store)
            try await store.execute("INSERT INTO template VALUES ('both', 'Ann')")
            let both = try Self.outbox(of: store)
            try await store.publish()
            // As after a crash between the rename and the removal from the outbox.
            try Self.putBack(both, into: store)
            #expect(before.isEmpty && both.count == 1)
            try await owner.take("editor", from: ann.account!, takingBack: .everything)
            try await store.write { db in
                for number in 0..<150 {
                    try db.execute(sql: "INSERT INTO template VALUES (?, ?)", arguments: ["long-\(number)", String(repeating: "x", count: 60_000)])
                }
                for number in 0..<3 {
                    try db.execute(
                        sql: "INSERT INTO template VALUES (?, ?)", arguments: ["large-\(number)", String(repeating: "\(number)", count: 3 << 20)])
                }
            }
            try await store.execute(Self.insert(ann, "a", 1))
            #expect(try Self.outbox(of: store).count > 3)
            try await store.readStatements()
            #expect(try await store.game == [score(ann, "a", 1)])
            let kept = KeptLogs(home: ann.home)
            let entry = try #require(try kept.list().first?.entry)
            #expect(entry.changes == 154 && entry.missingValues == 0)
            try await settle(store, owner)
            for store in [store, owner] { #expect(try await store.game == [score(ann, "a", 1)]) }
            #expect(try await owner.status().waiting.isEmpty)
            try await owner.grant("editor", to: ann.account!)
            try await settle(store, owner)
            #expect(try kept.restore(entry.id, into: nil) == (written: 154, deleted: 0))
            try await settle(store, owner)
            let lengths = try await owner.read { db in try Int.fetchAll(db, sql: "SELECT DISTINCT length(title) FROM template ORDER BY 1") }
            #expect(lengths == [3, 60_000, 3 << 20])
            for store in [store, owner] { try await store.close() }
        }
    }

    private static func putBack(_ rows: [Row], into store: UbiquitousStore) throws {
        try store.current.file.pool.write { db in
            for row in rows {
                try db.execute(sql: "DELETE FROM ubiquity_log WHERE hash = ?", arguments: [row["hash"] as Data])
                try db.execute(sql: "INSERT INTO ubiquity_outbox VALUES (?,?,?,?,?)", arguments: StatementArguments(row.databaseValues))
            }
        }
    }

    private static func outbox(of store: UbiquitousStore) throws -> [Row] {
        try store.current.file.pool.read { db in try Row.fetchAll(db, sql: "SELECT * FROM ubiquity_outbox ORDER BY sequence") }
    }

    @Test("If the saves that a removal rejects cannot be set aside, the store stays as it was until they can")
    func unwritable() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let phone = try world.device("phone", of: ann)
            let (store, removed) = (try await ann.open(), try await phone.open())
            try await settle(store, removed)
            try await store.runner.removeDevices([try phone.peer])
            try await removed.execute(Self.insert(phone, "p", 1))
            let kept = phone.home.kept.string
            try Data().write(to: URL(filePath: kept))
            await #expect(throws: UbiquitousStoreError.self) { try await removed.readStatements() }
            #expect(try await removed.game == [score(ann, "p", 1)])
            #expect(try await removed.read { db in try Outbox.names(db) }.count == 1)
            try FileManager.default.removeItem(atPath: kept)
            try await removed.readStatements()
            #expect(try await removed.game == [])
            #expect(try KeptLogs(home: phone.home).list().map { $0.entry?.changes } == [1])
            for store in [store, removed] { try await store.close() }
        }
    }

    @Test("Logs that have gone from the container while a domain was built again are joined when they are back")
    func missingLogs() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let (phone, old) = (try world.device("phone", of: ann), try world.device("old", of: ann))
            let (store, other) = (try await ann.open(), try await phone.open())
            let reader = try await world.reader("reader").open()
            try await settle(store, other)
            for number in 1...3 {
                try await other.execute(Self.insert(phone, "p\(number)", number))
                try await other.publish()
            }
            try await reader.settled()
            let shown = (1...3).map { score(ann, "p\($0)", $0) }
            #expect(try await reader.game == shown)
            let logs = world.content.appending("\(try phone.peer)/1")
            let away = world.directory.appending("away")
            let names = try FileManager.default.contentsOfDirectory(atPath: logs.string).filter { $0.hasSuffix(".ublog") }.sorted()
            func move(_ names: some Sequence<String>, from: FilePath, to: FilePath) throws {
                try FileManager.default.createDirectory(atPath: to.string, withIntermediateDirectories: true)
                for name in names { try FileManager.default.moveItem(atPath: from.appending(name).string, toPath: to.appending(name).string) }
            }
            try move(names, from: logs, to: away)
            try await store.runner.removeDevices([try old.peer])
            try move(names[2...], from: away, to: logs)
            try await reader.settled()
            #expect(try await reader.game == [shown[2]])
            try move(names[1..<2], from: away, to: logs)
            try await reader.settled()
            try move(names[..<1], from: away, to: logs)
            for _ in 0..<2 { try await reader.settled() }
            #expect(try await reader.game == shown)
            #expect(try await reader.read { db in try Holes(db).arePossible } == false)
            try await settle(store, other)
            for store in [store, other] { #expect(try await store.game == shown) }
            for store in [store, other, reader] { try await store.close() }
        }
    }

    @Test("A rebuild keeps the columns that stay on the device")
    func localColumns() async throws {
        let schema = SyncedSchema(
            migrator: migrator("CREATE TABLE score (player TEXT NOT NULL, id TEXT NOT NULL, points INTEGER, note TEXT, PRIMARY KEY (player, id))")
        ) {
            SyncedTable("score", access: .creator("player"), excluding: ["note"])
        }
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let old = try world.device("old", of: ann)
            let (store, reader) = (try await ann.open(schema), try await world.reader("reader").open(schema))
            try await store.settled()
            try await store.execute("INSERT INTO score VALUES ('\(ann.name)', 'a', 1, NULL)")
            try await settle(store, reader)
            try await reader.execute("UPDATE score SET note = 'mine'")
            try await store.runner.removeDevices([try old.peer])
            try await reader.settled()
            #expect(try await reader.read { db in try String.fetchAll(db, sql: "SELECT note FROM score") } == ["mine"])
            for store in [store, reader] { try await store.close() }
        }
    }

    @Test("A base is whole although logs in it have later stamps of another domain: of an editor's own records, and of curated tables")
    func stamps() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let old = try world.device("old", of: ann)
            let (store, owner) = (try await ann.open(), try await world.owner.open())
            let reader = try await world.reader("reader").open()
            try await owner.grant("editor", to: ann.account!)
            try await settle(store, owner)
            try await store.execute("INSERT INTO template VALUES ('t', 'Ann')")
            ann.clock.advance(by: 86_400)
            try await store.execute(Self.insert(ann, "a", 1))
            try await settle(store, owner)
            try await owner.take("editor", from: ann.account!)
            try await owner.grant("editor", to: ann.account!)
            try await settle(store, owner)
            ann.clock.advance(by: 86_400)
            try await store.execute("UPDATE template SET title = 'Anna'")
            try await settle(store, owner)
            try await store.removeDevices([try old.peer])
            try await settle(store, owner, reader)
            for store in [store, owner, reader] {
                #expect(try await store.game == [score(ann, "a", 1), "t=Anna"].sorted())
                #expect(try await store.status().quarantined == [])
            }
            for store in [store, owner, reader] { try await store.close() }
        }
    }

    @Test("P-10: an editor who keeps another role has no effect with later logs that name the old policy")
    func oneOfTwoRoles() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let account = ann.account!
            let (store, owner) = (try await ann.open(), try await world.owner.open())
            try await owner.grant("editor", to: account)
            try await owner.grant("moderator", to: account)
            try await settle(store, owner)
            try await store.execute("INSERT INTO template VALUES ('early', 'Ann')")
            try await settle(store, owner)
            try await owner.take("editor", from: account)
            try await store.execute("INSERT INTO template VALUES ('late', 'Ann')")
            try await store.publish()
            let reader = try await world.reader("reader").open()
            try await settle(owner, reader, store)
            for store in [store, owner, reader] { #expect(try await store.game == ["early=Ann"]) }
            for store in [store, owner, reader] { try await store.close() }
        }
    }
}

extension UbiquitousStore {
    /// Takes in new statements without publishing first, as when saves come in between.
    func readStatements() async throws {
        var content = KnownContent(try await read { db in try StoreState.read(db) })
        try ScopeKeeper(context: runner.context)!.refresh(&content)
    }

    /// Writes as another program does, so that the changes are captured and not sealed.
    func executeElsewhere(_ sql: String) async throws {
        let queue = try DatabaseQueue(path: current.file.path.string)
        try await queue.write { db in try db.execute(sql: sql) }
        try queue.close()
    }
}
