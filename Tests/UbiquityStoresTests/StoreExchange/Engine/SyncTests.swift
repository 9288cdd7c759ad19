import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityStores
import UbiquityTesting
import Waiting

/// Several devices that share a container's directory.
struct SyncTests {
    @Test("S-070: first name, last name and email of one record, changed on devices apart, all survive on all")
    func columnsSurvive() async throws {
        try await withDevices(3) { devices, _ in
            let (one, two, three) = try await (devices[0].open(), devices[1].open(), devices[2].open())
            try await one.execute("INSERT INTO person VALUES ('p', 'A', 'B', 'c@d', 1)")
            try await settle(one, two, three)
            try await one.execute("UPDATE person SET first = 'First'")
            try await one.execute("UPDATE person SET last = 'Last'")
            try await two.execute("UPDATE person SET email = 'e@f'")
            try await three.execute("UPDATE person SET age = 2")
            try await settle(three, one, two)
            for store in [one, two, three] { #expect(try await store.rows() == [["'p'", "'First'", "'Last'", "'e@f'", "2"]]) }
        }
    }

    @Test("of two edits of one column the later wins on both, whichever arrives first")
    func lastWriter() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(), devices[1].open())
            try await left.execute("INSERT INTO person (id, first) VALUES ('p', 'A')")
            try await settle(left, right)
            devices[0].clock.advance(by: 60)
            devices[1].clock.advance(by: 30)
            try await left.execute("UPDATE person SET first = 'later'")
            try await right.execute("UPDATE person SET first = 'earlier', last = 'kept'")
            try await settle(left, right)
            for store in [left, right] { #expect(try await store.rows() == [["'p'", "'later'", "'kept'", "NULL", "NULL"]]) }
        }
    }

    @Test("an edit made after seeing another beats it, though the wall clock is a year behind")
    func wrongClock() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(), devices[1].open())
            devices[0].clock.advance(by: 365 * 86_400)
            try await left.execute("INSERT INTO person (id, first) VALUES ('p', 'from the future')")
            try await settle(left, right)
            try await right.execute("UPDATE person SET first = 'seen and changed'")
            try await settle(left, right)
            for store in [left, right] { #expect(try await store.rows()[0][1] == "'seen and changed'") }
        }
    }

    @Test("a deletion beats an edit made meanwhile, and a deliberate insert afterwards beats the deletion")
    func lives() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(), devices[1].open())
            try await left.execute("INSERT INTO person (id, first) VALUES ('p', 'A')")
            try await settle(left, right)
            try await left.execute("DELETE FROM person")
            devices[1].clock.advance(by: 60)
            try await right.execute("UPDATE person SET first = 'edited later'")
            try await settle(left, right)
            for store in [left, right] { #expect(try await store.rows().isEmpty) }
            try await left.execute("INSERT INTO person (id, last) VALUES ('p', 'reborn')")
            try await settle(left, right)
            for store in [left, right] { #expect(try await store.rows() == [["'p'", "NULL", "'reborn'", "NULL", "NULL"]]) }
        }
    }

    @Test("two devices that insert one natural key make one record")
    func naturalKey() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(), devices[1].open())
            try await left.execute("INSERT INTO person (id, first) VALUES ('ann@example.org', 'Ann')")
            devices[1].clock.advance(by: 1)
            try await right.execute("INSERT INTO person (id, age) VALUES ('ann@example.org', 30)")
            try await settle(left, right)
            for store in [left, right] { #expect(try await store.rows() == [["'ann@example.org'", "'Ann'", "NULL", "NULL", "30"]]) }
        }
    }

    @Test("S-071: a save appears on every device of the account without a call from the app, and all end with equal content")
    func arrivesByItself() async throws {
        try await withDevices(3) { devices, _ in
            let stores = try await (devices[0].open(automatically: true), devices[1].open(automatically: true), devices[2].open(automatically: true))
            let arrivals = [stores.1, stores.2].map { $0.notices.limited().makeAsyncIterator() }
            try await stores.0.execute("INSERT INTO person (id, first) VALUES ('p', 'A')")
            for index in arrivals.indices {
                guard case .didImport(let notice) = try await arrivals[index].next() else {
                    Issue.record("no import was announced")
                    return
                }
                #expect(notice.inserted == [ObjectID(table: "person", key: [.text("p")])])
            }
            let rows = try await stores.0.rows()
            #expect(try await stores.1.rows() == rows)
            #expect(try await stores.2.rows() == rows)
            try await stores.0.close()
            try await stores.1.close()
            try await stores.2.close()
        }
    }

    @Test("a save by another process of the device is published by the one that runs")
    func savedElsewhere() async throws {
        try await withDevices(2) { devices, _ in
            let running = try await devices[0].open(automatically: true)
            let other = try await devices[1].open(automatically: true)
            let arrivals = other.notices.limited().makeAsyncIterator()
            try sqlite3(running.file, "INSERT INTO person (id, first) VALUES ('s', 'Shell')")
            guard case .didImport = try await arrivals.next() else {
                Issue.record("no import was announced")
                return
            }
            #expect(try await other.rows().count == 1)
            try await running.close()
            try await other.close()
        }
    }

    @Test("S-062, F-09: did-import carries the exact ids inserted, updated and deleted, and is never empty")
    func exactNotice() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(), devices[1].open())
            try await left.execute("INSERT INTO person (id) VALUES ('a'), ('b'), ('c')")
            try await settle(left, right)
            let notices = right.notices.limited().makeAsyncIterator()
            try await left.execute("UPDATE person SET age = 1 WHERE id = 'a'")
            try await left.execute("DELETE FROM person WHERE id = 'b'")
            try await left.execute("INSERT INTO person (id) VALUES ('d'), ('e')")
            try await left.execute("DELETE FROM person WHERE id = 'e'")
            try await left.execute("UPDATE person SET age = 2 WHERE id = 'd'")
            // An edit of a record that is dead on the other side changes nothing there.
            try await right.execute("DELETE FROM person WHERE id = 'c'")
            try await left.execute("UPDATE person SET age = 3 WHERE id = 'c'")
            try await settle(left, right)
            func ids(_ keys: String...) -> Set<ObjectID> { Set(keys.map { ObjectID(table: "person", key: [.text($0)]) }) }
            var expected: [ImportNotice] = []
            if case .didImport(let notice) = try await notices.next() { expected.append(notice) }
            #expect(expected.first?.inserted == ids("d"))
            #expect(expected.first?.updated == ids("a"))
            #expect(expected.first?.deleted == ids("b"))
            #expect(try await notices.next() == .didFindConflicts(1))
            try await left.execute("UPDATE person SET age = 4 WHERE id = 'a'")
            try await settle(left, right)
            guard case .didImport(let next) = try await notices.next() else {
                Issue.record("no second notice")
                return
            }
            #expect(next.updated == ids("a") && next.inserted.isEmpty && next.deleted.isEmpty)
        }
    }

    @Test("an import makes GRDB's observations deliver")
    func observation() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(), devices[1].open())
            let counts = ValueObservation.tracking { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM person")! }
                .values(in: right).limited().makeAsyncIterator()
            #expect(try await counts.next() == 0)
            try await left.execute("INSERT INTO person (id) VALUES ('a')")
            try await settle(left, right)
            // Without SQLite's snapshots GRDB may give the first value twice; the sequence goes on until the import shows.
            var count = 0
            while count == 0 { count = try #require(try await counts.next()) }
            #expect(count == 1)
        }
    }

    @Test("S-013: stores with different content names in one container never mix")
    func contentNames() async throws {
        try await withDevices(2) { devices, _ in
            let (home, work) = try await (devices[0].open(contentName: "Home"), devices[1].open(contentName: "Work"))
            try await home.execute("INSERT INTO person (id) VALUES ('h')")
            try await work.execute("INSERT INTO person (id) VALUES ('w')")
            try await settle(home, work)
            #expect(try await home.rows().map { $0[0] } == ["'h'"])
            #expect(try await work.rows().map { $0[0] } == ["'w'"])
        }
    }

    @Test("S-019, S-001: below its content a peer writes only in its own directory and its own names in epochs, and no SQLite file")
    func ownDirectory() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(), devices[1].open())
            let content = try await devices[0].container().path.appending("CoreData/People")
            func files() throws -> [String: [FileAttributeKey: String]] {
                var found: [String: [FileAttributeKey: String]] = [:]
                for path in try FileManager.default.subpathsOfDirectory(atPath: content.string) {
                    let attributes = try FileManager.default.attributesOfItem(atPath: content.appending(path).string)
                    guard attributes[.type] as? FileAttributeType == .typeRegular else { continue }
                    found[path] = [.modificationDate: "\(attributes[.modificationDate]!)", .size: "\(attributes[.size]!)"]
                }
                return found
            }
            try await left.execute("INSERT INTO person (id) VALUES ('a')")
            try await settle(left, right)
            let before = try files()
            try await right.execute("UPDATE person SET age = 1")
            try await right.settled()
            let after = try files()
            let own = try await right.status().peer.description
            let touched = Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }
            #expect(!touched.isEmpty)
            #expect(touched.allSatisfy { $0.hasPrefix(own + "/") })
            // No file that was there before has other bytes now: all are written once.
            #expect(before.allSatisfy { after[$0.key] == nil || after[$0.key] == $0.value })
            let container = try await devices[0].container().path
            let all = try FileManager.default.subpathsOfDirectory(atPath: container.string)
            #expect(!all.contains { $0.contains("sqlite") })
        }
    }

    @Test("S-009: store files lie below CoreDataUbiquitySupport, peer and content name: the account's, its fallback file, and this device's own")
    func storePath() async throws {
        try await withDevices(2) { devices, _ in
            let first = try await devices[0].open()
            let support = devices[0].directory.appending("CoreDataUbiquitySupport")
            #expect(first.file == support.appending("\(try await devices[0].container().peer)/People/store/People.sqlite"))

            let store = try await devices[1].follow()
            let peer = try await devices[1].container().peer
            let own = devices[1].directory.appending("CoreDataUbiquitySupport")
            #expect(peer.account == "alice")
            #expect(store.file == own.appending("\(peer)/People/fallback/People.sqlite"))
            try await store.settled()
            #expect(store.file == own.appending("\(peer)/People/store/People.sqlite"))
            try devices[1].home.signOut()
            try await store.settled()
            let names = try FileManager.default.contentsOfDirectory(atPath: own.string).compactMap { PeerIdentifier($0) }
            let local = try #require(names.first { $0 != peer })
            #expect(names.count == 2 && local.account == "local")
            #expect(store.file == own.appending("\(local)/People/store/People.sqlite"))
            #expect(FileManager.default.fileExists(atPath: store.file.string))
        }
    }

    @Test("the content is laid out as the design says")
    func contentLayout() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open()
            try await store.execute("INSERT INTO person (id) VALUES ('a')")
            let log = try #require(try await store.sealedLogs().first)
            try await store.settled()
            let container = try await devices[0].container()
            let peer = container.peer
            let found = Set(try FileManager.default.subpathsOfDirectory(atPath: container.path.appending("CoreData").string))
            let name = try #require(found.first { $0.hasSuffix(".ublog") }.flatMap { FilePath($0).lastComponent?.string })
            #expect(log.header.sequence == LogFileName(name)?.sequence)
            #expect(
                found == [
                    "People", "People/epochs", "People/epochs/1.\(peer)", "People/\(peer)", "People/\(peer)/1", "People/\(peer)/1/\(name)",
                    "People/\(peer)/1/receipts", "People/\(peer)/1/receipts/1", "People/\(peer)/1/tmp.nosync",
                ])
        }
    }

    @Test("S-003: a store file deleted while closed is rebuilt from the container, under a new identifier")
    func rebuilt() async throws {
        try await withDevices(2) { devices, _ in
            var left = try await devices[0].open()
            let right = try await devices[1].open()
            try await left.execute("INSERT INTO person (id, first) VALUES ('a', 'A'), ('b', 'B')")
            try await left.execute("DELETE FROM person WHERE id = 'b'")
            try await settle(left, right)
            try await right.execute("UPDATE person SET age = 7")
            try await settle(left, right)
            let rows = try await left.rows()
            let (file, old) = try await (left.file, left.status().peer)
            try await left.close()
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file.string + suffix) }
            left = try await devices[0].open()
            try await left.settled()
            #expect(try await left.rows() == rows)
            #expect(try await left.status().peer != old)
            try await left.execute("INSERT INTO person (id) VALUES ('c')")
            try await settle(left, right)
            #expect(try await right.rows().map { $0[0] } == ["'a'", "'c'"])
        }
    }

    @Test("what is saved while the container is away goes out when a new store file finds its place under a new identifier")
    func savedBeforeAttachment() async throws {
        try await withDevices(2) { devices, root in
            let (left, right) = try await (devices[0].open(), devices[1].open())
            try await left.execute("INSERT INTO person (id) VALUES ('a')")
            try await settle(left, right)
            try await left.close()
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: left.file.string + suffix) }
            let container = try await devices[0].container().path
            try FileManager.default.moveItem(atPath: container.string, toPath: root.appending("away").string)
            let fresh = try await devices[0].open()
            try await fresh.execute("INSERT INTO person (id) VALUES ('b')")
            try FileManager.default.moveItem(atPath: root.appending("away").string, toPath: container.string)
            try await settle(fresh, right, fresh)
            for store in [fresh, right] { #expect(try await store.rows().map { $0[0] } == ["'a'", "'b'"]) }
        }
    }

    @Test("two openings of a new store at once both succeed")
    func openedTwice() async throws {
        try await withDevices(1) { devices, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        let store = try await devices[0].open()
                        try await store.settled()
                        try await store.close()
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("a home whose path has .. in it hears of changes all the same")
    func indirectPath() async throws {
        try await withTemporaryDirectory { directory in
            let root = directory.appending("root")
            try FileManager.default.createDirectory(atPath: root.appending("x").string, withIntermediateDirectories: true)
            let indirect = FilePath(root.string + "/x/..")
            let one = try await TestDevice("one", in: directory, root: indirect).open(automatically: true)
            let two = try await TestDevice("two", in: directory, root: root).open(automatically: true)
            let notices = one.notices.limited().makeAsyncIterator()
            try await two.execute("INSERT INTO person (id) VALUES ('a')")
            while let notice = try await notices.next() {
                if case .didImport = notice { break }
            }
            #expect(try await one.rows().count == 1)
            try await one.close()
            try await two.close()
        }
    }

    @Test("an observer hears that another process of the device has written, and observations deliver")
    func otherProcess() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open(automatically: true)
            try await store.execute("INSERT INTO person (id) VALUES ('a')")
            try await store.settled()
            let notices = store.notices.limited().makeAsyncIterator()
            let counts = ValueObservation.tracking { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM person")! }
                .values(in: store).limited().makeAsyncIterator()
            var count = try #require(try await counts.next())
            #expect(count == 1)
            try sqlite3(store.file, "INSERT INTO person (id) VALUES ('b')")
            guard case .didChangeInAnotherProcess(let changes) = try await notices.next() else {
                Issue.record("no notice")
                return
            }
            #expect(changes?.changes == [.inserted(ObjectID(table: "person", key: [.text("b")]))])
            while count == 1 { count = try #require(try await counts.next()) }
            #expect(count == 2)
            try await store.close()
        }
    }

    @Test("S-072: a trigger of the app can ask whether a change is local or imported")
    func importFlag() async throws {
        let schema = SyncedSchema(
            migrator: migrator(
                """
                CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, first TEXT, last TEXT, email TEXT, age);
                CREATE TABLE history (id TEXT, imported);
                CREATE TRIGGER note_history AFTER INSERT ON person BEGIN INSERT INTO history VALUES (NEW.id, (SELECT active FROM ubiquity_import)); END;
                """)
        ) { SyncedTable("person") }
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(schema), devices[1].open(schema))
            try await left.execute("INSERT INTO person (id) VALUES ('a')")
            try await settle(left, right)
            #expect(try await left.rows("SELECT quote(id), quote(imported) FROM history") == [["'a'", "0"]])
            #expect(try await right.rows("SELECT quote(id), quote(imported) FROM history") == [["'a'", "1"]])
        }
    }

    @Test("S-176: an object id has a text form that names the same record on another device")
    func objectIDText() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(), devices[1].open())
            let notices = right.notices.limited().makeAsyncIterator()
            try await left.execute("INSERT INTO person (id) VALUES ('a/b, %ü')")
            try await settle(left, right)
            guard case .didImport(let notice) = try await notices.next(), let id = notice.inserted.first else {
                Issue.record("nothing was imported")
                return
            }
            let text = id.text
            #expect(text == "person/t:a%2Fb%2C%20%25%C3%BC")
            #expect(ObjectID(text: text) == ObjectID(table: "person", key: [.text("a/b, %ü")]))
        }
        let values: [RecordValue] = [
            .integer(-7), .integer(.max), .real(Double(1.5).bitPattern), .text(""), .text([0xFF, 0, 0x2F][...]), .blob([]), .blob([0, 255][...]),
            .null,
        ]
        for value in values {
            let id = ObjectID(table: "a/b:c", key: [value, .text("x")])
            #expect(ObjectID(text: id.text) == id, "\(id.text)")
        }
        for text in ["", "person", "person/", "person/x:1", "person/i:one", "person/i:1/", "person/t:%4", "person/t:%zz", "person/b:%00%0", "/t:a"] {
            #expect(ObjectID(text: text) == nil, "\(text)")
        }
    }
}
