import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting
import Waiting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// Bad input: a clear error or a quarantine, and nothing else suffers.
struct RefusalTests {
    @Test("F-38: a schema that cannot sync is refused at opening, with every violation and its remedy")
    func violations() async throws {
        let schema = SyncedSchema(
            migrator: migrator(
                """
                CREATE TABLE counted (id INTEGER PRIMARY KEY, x);
                CREATE TABLE keyless (x);
                CREATE TABLE nullable (id TEXT PRIMARY KEY, x);
                CREATE TABLE folded (id TEXT COLLATE NOCASE NOT NULL PRIMARY KEY);
                CREATE TABLE uniquely (id TEXT NOT NULL PRIMARY KEY, x UNIQUE ON CONFLICT REPLACE);
                CREATE TABLE child (id TEXT NOT NULL PRIMARY KEY, parent REFERENCES uniquely (x));
                CREATE TABLE hiding (id TEXT NOT NULL PRIMARY KEY, rowid);
                CREATE TABLE untyped (id NOT NULL PRIMARY KEY);
                CREATE TABLE twofaced (id TEXT COLLATE NOCASE NOT NULL, PRIMARY KEY (id COLLATE BINARY));
                CREATE VIEW seen AS SELECT 1 AS id;
                CREATE TRIGGER touch AFTER INSERT ON keyless BEGIN UPDATE uniquely SET x = 1; END;
                CREATE TRIGGER ignoring BEFORE INSERT ON keyless WHEN NEW.x BEGIN SELECT RAISE(IGNORE); END;
                CREATE TRIGGER keeping BEFORE DELETE ON uniquely BEGIN SELECT RAISE (ABORT, 'no'); END;
                CREATE TRIGGER fine BEFORE UPDATE ON uniquely BEGIN SELECT RAISE(ABORT, 'no'); END;
                """)
        ) {
            SyncedTable("counted")
            SyncedTable("keyless")
            SyncedTable("nullable")
            SyncedTable("folded")
            SyncedTable("uniquely", unique: [["x"]])
            SyncedTable("child")
            SyncedTable("hiding")
            SyncedTable("untyped")
            SyncedTable("twofaced")
            SyncedTable("seen")
            SyncedTable("missing")
        }
        try await withDevices(1) { devices, _ in
            await #expect {
                try await devices[0].open(schema)
            } throws: { error in
                guard let error = error as? UbiquitousStoreError, error.code == .invalidSchema else { return false }
                let lines = error.message.split(separator: "\n").dropFirst()
                let expected = [
                    "INTEGER PRIMARY KEY", "no primary key", "may be NULL", "NOCASE", "ON CONFLICT", "not its primary key", "view",
                    "“missing” does not exist",
                    "Trigger “touch”", "Trigger “ignoring”", "Trigger “keeping”", "hides SQLite's own rowid", "has no type",
                    "of “twofaced” has the collation NOCASE",
                ]
                return lines.count == expected.count && expected.allSatisfy { part in lines.contains { $0.contains(part) } }
            }
        }
    }

    @Test("a file that is not SQLite is refused with its path and the remedy, and left as it is")
    func notADatabase() async throws {
        try await withDevices(1) { devices, _ in
            var store: UbiquitousStore? = try await devices[0].open()
            let file = store!.file
            try await store!.close()
            store = nil
            for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file.string + suffix) }
            let garbage = Data(repeating: 0x41, count: 8192)
            try garbage.write(to: URL(filePath: file.string))
            await #expect {
                try await devices[0].open()
            } throws: { error in
                (error as? UbiquitousStoreError)?.code == .notADatabase && String(describing: error).contains(file.string)
                    && String(describing: error).contains("Move it aside")
            }
            #expect(try Data(contentsOf: URL(filePath: file.string)) == garbage)
        }
    }

    @Test("a store file of a newer format is refused untouched")
    func newerFormat() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open()
            try await store.close()
            try sqlite3(store.file, "UPDATE ubiquity_state SET format = 99; PRAGMA wal_checkpoint(TRUNCATE)")
            let before = try Data(contentsOf: URL(filePath: store.file.string))
            await #expect { try await devices[0].open() } throws: { ($0 as? UbiquitousStoreError)?.code == .newerFormat }
            #expect(try Data(contentsOf: URL(filePath: store.file.string)) == before)
        }
    }

    @Test("a store file of another account is refused")
    func foreignStore() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open()
            try await store.close()
            try sqlite3(store.file, "UPDATE ubiquity_state SET account = 'bob'")
            await #expect { try await devices[0].open() } throws: { ($0 as? UbiquitousStoreError)?.code == .foreignStore }
        }
    }

    /// The logs that a device has published, oldest first.
    fileprivate func logs(of device: TestDevice) async throws -> [FilePath] {
        let container = try await device.container()
        let directory = container.path.appending("CoreData/People/\(container.peer)/1")
        return try FileManager.default.contentsOfDirectory(atPath: directory.string).filter { $0.hasSuffix(".ublog") }.sorted().map(
            directory.appending)
    }

    @Test("F-05: a corrupt log is quarantined and reported with file, peer and reason, and other peers' logs go on")
    func corruptLog() async throws {
        try await withDevices(3) { devices, _ in
            let (bad, good, reader) = try await (devices[0].open(), devices[1].open(), devices[2].open())
            try await bad.execute("INSERT INTO person (id) VALUES ('bad')")
            try await bad.publish()
            try await good.execute("INSERT INTO person (id) VALUES ('good')")
            try await good.publish()
            let log = try #require(try await logs(of: devices[0]).first)
            let whole = try Data(contentsOf: URL(filePath: log.string))
            var altered = whole
            altered[altered.count - 1] ^= 1
            try altered.write(to: URL(filePath: log.string))
            let notices = reader.notices.limited().makeAsyncIterator()
            try await reader.settled()
            #expect(try await reader.rows().map { $0[0] } == ["'good'"])
            let quarantined = try await reader.status().quarantined
            #expect(quarantined.map(\.file) == [log.lastComponent!.string])
            #expect(quarantined.first?.reason.contains("hash") == true)
            let author = try await devices[0].container().peer.description
            #expect(quarantined.first?.peer == author)
            guard case .didQuarantine = try await notices.next() else {
                Issue.record("the quarantine was not announced")
                return
            }
            // It was still arriving.
            try whole.write(to: URL(filePath: log.string))
            try await reader.settled()
            #expect(try await reader.rows().map { $0[0] } == ["'bad'", "'good'"])
            #expect(try await reader.status().quarantined.isEmpty)
        }
    }

    @Test("a log that comes before its author's earlier one, or before what its author had seen, waits and is named")
    func causality() async throws {
        try await withDevices(3) { devices, _ in
            let (one, two, three) = try await (devices[0].open(), devices[1].open(), devices[2].open())
            try await one.execute("INSERT INTO person (id) VALUES ('a')")
            try await one.execute("UPDATE person SET age = 1")
            try await settle(one, two)
            try await two.execute("UPDATE person SET age = 2")
            try await two.publish()
            let late = try await logs(of: devices[0])[0]
            try FileManager.default.moveItem(atPath: late.string, toPath: late.string + ".away")
            try await three.settled()
            #expect(try await three.rows().isEmpty)
            let waiting = try await three.status().waiting
            let peers = try await [devices[0].container().peer.description, devices[1].container().peer.description]
            #expect(Set(waiting.map(\.peer)) == Set(peers))
            #expect(waiting.first { $0.peer == peers[1] }?.reason.description.contains(peers[0]) == true)
            try FileManager.default.moveItem(atPath: late.string + ".away", toPath: late.string)
            try await three.settled()
            #expect(try await three.rows()[0][4] == "2")
            #expect(try await three.status().waiting.isEmpty)
        }
    }

    @Test("a log that names a column unknown here waits, counted and named, while export goes on")
    func unknownColumn() async throws {
        let wider = SyncedSchema(
            migrator: migrator("CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, first TEXT, last TEXT, email TEXT, age, shoe)")
        ) { SyncedTable("person") }
        try await withDevices(2) { devices, _ in
            let (new, old) = try await (devices[0].open(wider), devices[1].open())
            try await new.execute("INSERT INTO person (id, shoe) VALUES ('n', 42)")
            try await old.execute("INSERT INTO person (id, age) VALUES ('o', 7)")
            try await settle(new, old)
            let waiting = try await old.status().waiting
            #expect(waiting.count == 1 && waiting[0].logs == 1 && waiting[0].reason.description.contains("shoe"))
            #expect(try await old.rows().map { $0[0] } == ["'o'"])
            // The other way the narrower log fits.
            #expect(try await new.rows().map { $0[0] } == ["'n'", "'o'"])
        }
    }

    @Test("files of other programs, hostile names and links in the content are passed over")
    func foreignFiles() async throws {
        try await withDevices(2) { devices, root in
            let (left, right) = try await (devices[0].open(), devices[1].open())
            try await left.execute("INSERT INTO person (id) VALUES ('a')")
            try await left.publish()
            let log = try await logs(of: devices[0])[0]
            let directory = log.removingLastComponent()
            let name = log.lastComponent!.string
            for foreign in [
                ".syncthing.\(name).tmp", "~syncthing~\(name).tmp", "\(name).sync-conflict-20261121-070000-ABCDEFG", "new\nline",
                "000000000002.x.ublog",
            ] {
                try Data("x".utf8).write(to: URL(filePath: directory.appending(foreign).string))
            }
            // A link with a log's name that leads out of the tree, and a directory with one.
            let outside = root.appending("outside")
            try FileManager.default.copyItem(atPath: log.string, toPath: outside.string)
            let hash = ContentHash(of: [1])
            try FileManager.default.createSymbolicLink(
                atPath: directory.appending("\(LogFileName(sequence: 2, hash: hash))").string, withDestinationPath: outside.string)
            try FileManager.default.createDirectory(
                atPath: directory.appending("\(LogFileName(sequence: 3, hash: hash))").string, withIntermediateDirectories: true)
            try Data().write(to: URL(filePath: directory.removingLastComponent().removingLastComponent().appending("notes.txt").string))
            try await right.settled()
            #expect(try await right.rows().map { $0[0] } == ["'a'"])
            let author = try await devices[0].container().peer
            #expect(try await right.status().knowledge.sequence(of: author) == 1)
        }
    }

    @Test("a deleted container suspends the store, which keeps its rows, takes saves, and goes on when the container is back")
    func deletedContainer() async throws {
        try await withDevices(2) { devices, root in
            let (left, right) = try await (devices[0].open(), devices[1].open())
            try await left.execute("INSERT INTO person (id) VALUES ('a')")
            try await settle(left, right)
            let container = try await devices[0].container().path
            try FileManager.default.moveItem(atPath: container.string, toPath: root.appending("away").string)
            try await left.execute("INSERT INTO person (id) VALUES ('b')")
            await #expect { try await left.settled() } throws: { ($0 as? UbiquitousStoreError)?.code == .suspended }
            #expect(try await left.status().suspended == .containerGone)
            #expect(try await left.rows().count == 2)
            #expect(!FileManager.default.fileExists(atPath: container.string))
            try FileManager.default.moveItem(atPath: root.appending("away").string, toPath: container.string)
            try await settle(left, right)
            #expect(try await left.status().suspended == nil)
            #expect(try await right.rows().count == 2)
        }
    }

    @Test("a running store tells that its container was deleted, and a late observer hears it too")
    func deletedWhileRunning() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open(automatically: true)
            try await store.execute("INSERT INTO person (id) VALUES ('a')")
            let notices = store.notices.limited().makeAsyncIterator()
            let container = try await devices[0].container().path
            try await removeInUse(container.string)
            var reasons: [StoreNotice] = []
            // The tree goes bottom up: the content or the mark may be missed before the container is.
            while let notice = try await notices.next() {
                reasons.append(notice)
                if notice == .didSuspend(.containerGone) { break }
            }
            #expect(reasons.last == .didSuspend(.containerGone))
            let late = store.notices.limited().makeAsyncIterator()
            #expect(try await late.next() == .didSuspend(.containerGone))
            #expect(try await store.rows().count == 1)
            try await store.close()
        }
    }
}

extension RefusalTests {
    @Test("a store opened while its container is away picks it up when it comes back, and exchanges again")
    func openedWhileAway() async throws {
        try await withDevices(2) { devices, root in
            let (left, right) = try await (devices[0].open(), devices[1].open())
            try await left.execute("INSERT INTO person (id) VALUES ('a')")
            try await settle(left, right)
            try await left.close()
            let container = try await devices[0].container().path
            let away = root.removingLastComponent().appending("away")
            try FileManager.default.moveItem(atPath: container.string, toPath: away.string)
            let reopened = try await devices[0].open(automatically: true)
            let notices = reopened.notices.limited().makeAsyncIterator()
            #expect(try await notices.next() == .didSuspend(.containerGone))
            #expect(await reopened.runner.nextTime == nil, "it waits for the container, and asks for it by no clock")
            try await reopened.execute("INSERT INTO person (id) VALUES ('b')")
            try FileManager.default.moveItem(atPath: away.string, toPath: container.string)
            while let notice = try await notices.next(), notice != .didResume {}
            try await settle(right, reopened, right)
            #expect(try await right.rows().count == 2)
            try await reopened.close()
        }
    }

    @Test("a log that this store's schema refuses is quarantined with the reason, and other peers' logs go on")
    func refusedByConstraint() async throws {
        let strict = SyncedSchema(
            migrator: migrator("CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, first TEXT NOT NULL, last TEXT, email TEXT, age)")
        ) { SyncedTable("person") }
        try await withDevices(3) { devices, _ in
            let (lax, good, reader) = try await (devices[0].open(), devices[1].open(strict), devices[2].open(strict))
            try await lax.execute("INSERT INTO person (id, first) VALUES ('ok', 'x')")
            try await lax.execute("INSERT INTO person (id) VALUES ('bad')")
            try await lax.publish()
            try await good.execute("INSERT INTO person (id, first) VALUES ('good', 'y')")
            try await good.publish()
            try await reader.settled()
            #expect(try await reader.rows().map { $0[0] } == ["'good'", "'ok'"])
            let quarantined = try await reader.status().quarantined
            #expect(quarantined.count == 1 && quarantined[0].reason.contains("person.first"))
        }
    }

    @Test("a pipe, a directory or an altered log beside a good one of the same sequence does not hold it up")
    func impostors() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(), devices[1].open())
            try await left.execute("INSERT INTO person (id) VALUES ('a')")
            try await left.publish()
            let container = try await devices[0].container()
            let directory = container.path.appending("CoreData/People/\(container.peer)/1")
            for index in 0..<10 {
                let name = directory.appending("\(LogFileName(sequence: 1, hash: ContentHash(of: [UInt8(index)])))").string
                switch index % 3 {
                case 0: #expect(mkfifo(name, 0o644) == 0)
                case 1: try FileManager.default.createDirectory(atPath: name, withIntermediateDirectories: true)
                default: try Data("x".utf8).write(to: URL(filePath: name))
                }
            }
            try Data().write(to: URL(filePath: directory.appending("receipts/9223372036854775807").string))
            try await right.settled()
            try await left.settled()
            #expect(try await right.rows().count == 1)
        }
    }

    @Test("a published log that was damaged before its save was forgotten is sent again by its owner")
    func damagedBeforeForgotten() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(), devices[1].open())
            try await left.execute("INSERT INTO person (id) VALUES ('a')")
            let bytes = try #require(try await left.read { db in try Data.fetchOne(db, sql: "SELECT bytes FROM ubiquity_outbox") })
            let container = try await devices[0].container()
            let name = LogFileName(sequence: 1, hash: ContentHash(of: [UInt8](bytes)))
            try bytes.prefix(20).write(to: URL(filePath: container.path.appending("CoreData/People/\(container.peer)/1/\(name)").string))
            try await left.publish()
            try await right.settled()
            #expect(try await right.rows().count == 1)
        }
    }
}

extension RefusalTests {
    @Test("F-04: what an import cannot use is a typed event that names peer, log and record, and stands in the status")
    func typedEvents() async throws {
        let strict = SyncedSchema(
            migrator: migrator("CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, first TEXT NOT NULL, last TEXT, email TEXT, age)")
        ) { SyncedTable("person") }
        try await withDevices(2) { devices, _ in
            let (lax, reader) = try await (devices[0].open(), devices[1].open(strict))
            try await lax.execute("INSERT INTO person (id, first) VALUES ('ok', 'x')")
            try await lax.execute("INSERT INTO person (id) VALUES ('bad')")
            try await lax.execute("INSERT INTO person (id, first) VALUES ('later', 'x')")
            try await lax.publish()
            let notices = reader.notices.limited().makeAsyncIterator()
            try await reader.settled()
            var found: QuarantinedLog?
            while found == nil, let notice = try await notices.next() {
                if case .didQuarantine(let log) = notice { found = log }
            }
            let peer = try await lax.status().peer.description
            #expect(found?.peer == peer && found?.kind == .refused && found?.record == ObjectID(table: "person", key: [.text("bad")]).text)
            #expect(found?.file.hasPrefix("000000000002.") == true && found?.since == devices[1].clock.now)
            let status = try await reader.status()
            #expect(status.quarantined == [try #require(found)])
            // What follows it waits for it: the file is there, and cannot be used.
            #expect(status.waiting.map(\.sequence) == [2] && status.waiting[0].logs == 1)
            #expect(status.awaited.map(\.sequence) == [2])
            #expect(status.awaited.first?.isDamaged == true && status.awaited.first?.peer == peer)
        }
    }

    @Test("F-12: each awaited file is listed with its state, as far as a log names it")
    func awaitedFiles() async throws {
        try await withDevices(3) { devices, root in
            let (one, two, three) = try await (devices[0].open(), devices[1].open(), devices[2].open())
            try await one.execute("INSERT INTO person (id) VALUES ('a')")
            try await settle(one, two)
            try await two.execute("UPDATE person SET age = 2")
            try await two.publish()
            let log = try await logs(of: devices[0])[0]
            let name = try #require(LogFileName(log.lastComponent!.string))
            let whole = try Data(contentsOf: URL(filePath: log.string))
            let peer = try await one.status().peer.description
            for (content, isDamaged) in [(nil, false), (whole.dropLast(), true)] as [(Data?, Bool)] {
                try FileManager.default.removeItem(atPath: log.string)
                try content?.write(to: URL(filePath: log.string))
                try await three.settled()
                let awaited = try await three.status().awaited
                #expect(awaited.count == 1 && awaited[0].peer == peer && awaited[0].sequence == 1)
                #expect(awaited[0].hash == name.hash.description && awaited[0].isDamaged == isDamaged)
                if content == nil { try Data().write(to: URL(filePath: log.string)) }
            }
            try whole.write(to: URL(filePath: log.string))
            try await three.settled()
            #expect(try await three.status().awaited.isEmpty)
        }
    }
}
