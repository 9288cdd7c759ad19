import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityStores
import Waiting

/// A store's content is removed, and does not come back.
struct EpochTests {
    @Test("S-102, S-103, S-174: after a removal no device shows a row of the old content, the store is of use at once, and each can fill it again")
    func removal() async throws {
        try await withDevices(3) { devices, _ in
            let (one, two, three) = try await (devices[0].open(), devices[1].open(), devices[2].open())
            try await one.execute("INSERT INTO person VALUES ('p', 'A', 'B', 'c@d', 1), ('q', 'A', 'B', 'c@d', 1)")
            try await one.write { db in try StoreMetadata(db).set("2026", for: "edition") }
            try await settle(one, two, three)
            try await two.execute("DELETE FROM person WHERE id = 'q'")
            try await settle(one, two, three)

            #expect(try await !devices[0].endedFiles(before: 2).isEmpty)
            let removal = try await one.removeAll()
            #expect(removal == ContentRemoval(epoch: 2, kept: nil, missing: 0))
            // It is complete: no file of the old content is left, before anybody has exchanged again.
            #expect(try await devices[0].endedFiles(before: 2) == [])
            #expect(try await one.status().epoch == 2)
            #expect(try await one.rows() == [])
            // The same keys again, at once, and one of those that had died.
            try await one.execute("INSERT INTO person (id, first) VALUES ('p', 'new'), ('q', 'new')")
            try await settle(one, two, three)
            for store in [one, two, three] {
                #expect(try await store.rows("SELECT id, first, last FROM person ORDER BY id") == [["p", "new", "NULL"], ["q", "new", "NULL"]])
                #expect(try await store.read { db in try StoreMetadata(db).keys } == [])
            }
            try await two.execute("UPDATE person SET last = 'two' WHERE id = 'p'")
            try await three.execute("DELETE FROM person WHERE id = 'q'")
            try await settle(one, two, three)
            for store in [one, two, three] {
                #expect(try await store.rows("SELECT id, first, last FROM person") == [["p", "new", "two"]])
                let status = try await store.status()
                #expect(status.waiting == [] && status.quarantined == [])
            }
            for device in devices { #expect(try device.kept().list().isEmpty) }
        }
    }

    @Test("S-105: a removal confirmed for another content is refused, and removes nothing")
    func confirmation() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open()
            try await store.execute("INSERT INTO person (id) VALUES ('p')")
            let error = await #expect(throws: UbiquitousStoreError.self) {
                try await store.removeUbiquitousContent(.removeEverythingOnAllDevices(contentName: "people"))
            }
            #expect(error?.code == .unsupported && error?.message.contains("“People”") == true)
            #expect(try await store.rows().count == 1)
            #expect(try await store.status().epoch == 1)
        }
    }

    @Test("S-103: one file tells a store that the content was removed, whatever is in the file", arguments: ["", "{\"format\":1", "{\"format\":9}"])
    func garbageMark(text: String) async throws {
        try await withDevices(2) { devices, _ in
            let (one, two) = try await (devices[0].open(), devices[1].open())
            try await one.execute("INSERT INTO person (id) VALUES ('p')")
            try await settle(one, two)
            let layout = try await devices[0].layout()
            try Data(text.utf8).write(to: URL(filePath: layout.epochMark(7, by: PeerIdentifier(account: "alice", uuid: UUID())).string))
            try await settle(one, two)
            for store in [one, two] {
                #expect(try await store.rows() == [])
                #expect(try await store.status().epoch == 7)
            }
            // It says of no log that it had been read: each sets its own aside.
            #expect(try devices[0].kept().list().map { $0.entry?.changes } == [1])
            #expect(try devices[1].kept().list().isEmpty)
            try await two.execute("INSERT INTO person (id) VALUES ('new')")
            try await settle(two, one)
            #expect(try await one.rows("SELECT id FROM person") == [["new"]])
        }
    }

    @Test("F-20: a peer that was off during a removal brings nothing back; what it had not sent, or nobody had read, is set aside and listed")
    func offDuringRemoval() async throws {
        try await withDevices(2) { devices, _ in
            let (one, two) = try await (devices[0].open(), devices[1].open())
            try await one.execute("INSERT INTO person (id, first) VALUES ('p', 'A')")
            try await settle(one, two)
            try await two.execute("UPDATE person SET first = 'read'")
            try await settle(one, two)
            // Published and not read; and not published.
            try await two.execute("UPDATE person SET last = 'unread'")
            try await two.publish()
            try await two.execute("INSERT INTO person (id, first) VALUES ('q', 'unsent')")
            try await two.close()
            #expect(try await one.removeAll().kept == nil)
            try await settle(one)

            let back = try await devices[1].open()
            try await settle(back, one)
            for store in [one, back] { #expect(try await store.rows() == []) }
            #expect(try devices[0].kept().list().isEmpty)
            let found = try devices[1].kept().list()
            let entry = try #require(found.first?.entry)
            #expect(found.count == 1)
            #expect((entry.logs, entry.changes, entry.missing, entry.epoch, entry.content) == (2, 2, 0, 1, "People"))
            let changes = try devices[1].kept().changes(of: entry.id)
            #expect(changes.allSatisfy { $0.fault == nil })
            #expect(changes.flatMap(\.changes).map(\.record) == ["person/t:p", "person/t:q"])
            #expect(changes.flatMap(\.changes).map(\.values) == [["last": "unread"], ["first": "unsent"]])
            // Now that it is set aside the content holds nothing of the old epoch.
            try await settle(back, one)
            #expect(try await devices[0].endedFiles(before: 2) == [])
        }
    }

    @Test("the logs of a peer that nobody had read stay until it has set them aside; those that were read go with the exchange behind the removal")
    func unreadStay() async throws {
        try await withDevices(2) { devices, _ in
            let (one, two) = try await (devices[0].open(), devices[1].open())
            try await two.execute("INSERT INTO person (id) VALUES ('read')")
            try await settle(two, one)
            try await two.execute("INSERT INTO person (id, age) VALUES ('unread', 1)")
            try await two.publish()
            try await one.removeAll()
            try await settle(one)
            let left = try await devices[0].endedFiles(before: 2).filter { $0.hasSuffix(".ublog") }
            #expect(left.count == 1 && left[0].contains("000000000002."))
            try await settle(one)
            #expect(try await devices[0].endedFiles(before: 2).filter { $0.hasSuffix(".ublog") } == left)
            try await settle(two)
            #expect(try await devices[0].endedFiles(before: 2) == [])
            #expect(try devices[1].kept().list().map { $0.entry?.logs } == [1])
        }
    }

    @Test("a peer that returns two epochs later sets aside what had not been read of the epoch that it knew, and no more")
    func twoEpochsLater() async throws {
        try await withDevices(2) { devices, _ in
            let (one, two) = try await (devices[0].open(), devices[1].open())
            try await two.execute("INSERT INTO person (id) VALUES ('read')")
            try await settle(two, one)
            try await two.execute("INSERT INTO person (id) VALUES ('unsent')")
            try await two.close()
            try await one.removeAll()
            try await one.execute("INSERT INTO person (id) VALUES ('second')")
            try await settle(one)
            #expect(try await one.removeAll().epoch == 3)
            try await one.execute("INSERT INTO person (id) VALUES ('third')")
            try await settle(one)
            let back = try await devices[1].open()
            try await settle(back, one, back)
            #expect(try await back.rows("SELECT id FROM person") == [["third"]])
            let entry = try #require(try devices[1].kept().list().first?.entry)
            #expect((entry.logs, entry.missing, entry.epoch) == (1, 0, 1))
            // With everybody in the third epoch, only its mark is left.
            try await settle(one)
            let marks = try await FileManager.default.contentsOfDirectory(atPath: devices[0].layout().epochs.string)
            #expect(marks.count == 1 && marks[0].hasPrefix("3."))
        }
    }

    @Test("two removals at once are one epoch, and what neither had read of the other is not set aside as unread")
    func twoRemovals() async throws {
        try await withTemporaryDirectory { directory in
            let stores = try await Apart(2, in: directory)
            let (one, two) = (stores.stores[0], stores.stores[1])
            try await one.execute("INSERT INTO person (id) VALUES ('one')")
            try await two.execute("INSERT INTO person (id) VALUES ('two')")
            try await one.publish()
            try await two.publish()
            #expect(try await one.removeAll().epoch == 2)
            #expect(try await two.removeAll().epoch == 2)
            try await one.execute("INSERT INTO person (id) VALUES ('new one')")
            try await two.execute("INSERT INTO person (id) VALUES ('new two')")
            try await one.publish()
            try await two.publish()
            try stores.exchangeFiles()
            try await settle(one, two)
            try stores.exchangeFiles()
            try await settle(one, two)
            for store in stores.stores {
                #expect(try await store.rows("SELECT id FROM person ORDER BY id") == [["new one"], ["new two"]])
                #expect(try await store.status().epoch == 2)
            }
            for device in stores.devices { #expect(try device.kept().list().isEmpty) }
        }
    }

    @Test("S-175: a removal without transport takes effect here at once, and elsewhere when the mark arrives, also before and after any other file")
    func withoutTransport() async throws {
        try await withTemporaryDirectory { directory in
            let stores = try await Apart(2, in: directory)
            let (one, two) = (stores.stores[0], stores.stores[1])
            try await one.execute("INSERT INTO person (id) VALUES ('old')")
            try await one.publish()
            try stores.exchangeFiles()
            try await settle(two)
            try await one.removeAll()
            #expect(try await one.rows() == [])
            #expect(try await two.rows().count == 1)
            try await one.execute("INSERT INTO person (id) VALUES ('new')")
            try await one.publish()
            // Logs of the new epoch first: they are nobody's business before the mark.
            try stores.exchangeFiles { !$0.contains("/epochs/") }
            try await two.execute("INSERT INTO person (id) VALUES ('meanwhile')")
            try await settle(two)
            #expect(try await two.rows("SELECT id FROM person ORDER BY id") == [["meanwhile"], ["old"]])
            try stores.exchangeFiles()
            try await settle(two)
            #expect(try await two.rows("SELECT id FROM person") == [["new"]])
            #expect(try stores.devices[1].kept().list().map { $0.entry?.changes } == [1])
            // Whatever of the old epoch turns up again brings nothing back.
            try stores.exchangeFiles()
            try await settle(one, two)
            for store in stores.stores { #expect(try await store.rows("SELECT id FROM person") == [["new"]]) }
        }
    }

    @Test("a container that is gone makes a removal fail with the reason, and nothing is removed")
    func containerGone() async throws {
        try await withDevices(1) { devices, root in
            let store = try await devices[0].open()
            try await store.execute("INSERT INTO person (id) VALUES ('p')")
            try await settle(store)
            let container = try await devices[0].container().path.string
            try FileManager.default.moveItem(atPath: container, toPath: root.appending("away").string)
            let error = await #expect(throws: UbiquitousStoreError.self) { try await store.removeAll() }
            #expect(error?.code == .suspended)
            #expect(try await store.rows().count == 1)
            try FileManager.default.moveItem(atPath: root.appending("away").string, toPath: container)
            #expect(try await store.removeAll().epoch == 2)
            #expect(try await store.rows() == [])
        }
    }

    @Test("a mark that is lost does not bring its epoch back: who remembers it writes it again")
    func lostMark() async throws {
        try await withDevices(3) { devices, _ in
            let (one, two) = try await (devices[0].open(), devices[1].open())
            try await one.execute("INSERT INTO person (id) VALUES ('old')")
            try await settle(one, two)
            try await two.close()
            try await one.removeAll()
            try await one.execute("INSERT INTO person (id) VALUES ('new')")
            let epochs = try await devices[0].layout().epochs.string
            for mark in try FileManager.default.contentsOfDirectory(atPath: epochs) where mark.hasPrefix("2.") {
                try FileManager.default.removeItem(atPath: "\(epochs)/\(mark)")
            }
            try await settle(one)
            #expect(try await one.rows("SELECT id FROM person") == [["new"]])
            let (back, third) = try await (devices[1].open(), devices[2].open())
            try await settle(back, third, one)
            for store in [one, back, third] {
                #expect(try await store.status().epoch == 2)
                #expect(try await store.rows("SELECT id FROM person") == [["new"]])
            }
        }
    }

    @Test("content that disappears without a mark empties no store")
    func noMark() async throws {
        try await withDevices(2) { devices, _ in
            let (one, two) = try await (devices[0].open(), devices[1].open())
            try await one.execute("INSERT INTO person (id) VALUES ('p')")
            try await settle(one, two)
            try FileManager.default.removeItem(atPath: try await devices[0].layout().directory.string)
            for store in [one, two] {
                await #expect(throws: UbiquitousStoreError.self) { try await store.settled() }
                #expect(try await store.rows().count == 1)
                #expect(try await store.status().suspended == .contentGone)
            }
        }
    }

    @Test("F-19: while others write, a removal is complete when it returns: none of the old rows is seen again, and every later one stays")
    func whileOthersWrite() async throws {
        try await withDevices(3) { devices, _ in
            let stores = try await [devices[0].open(automatically: true), devices[1].open(automatically: true), devices[2].open(automatically: true)]
            let writers = stores.dropFirst().enumerated().map { index, store in
                Task {
                    for number in 0..<10 { try await store.execute("INSERT INTO person (id) VALUES ('\(index)-\(number)')") }
                }
            }
            for number in 0..<5 { try await stores[0].execute("INSERT INTO person (id) VALUES ('own \(number)')") }
            let own = try await stores[0].status().peer
            let removal = try await stores[0].removeAll()
            #expect(removal.epoch == 2)
            // What is left has come since from others, or is for them to set aside.
            #expect(try await devices[0].endedFiles(before: 2).filter { $0.hasPrefix("\(own)/") } == [])
            try await stores[0].execute("INSERT INTO person (id) VALUES ('after')")
            for writer in writers { try await writer.value }
            for _ in 0..<3 { for store in stores { try await store.settled() } }
            let rows = try await stores[0].rows("SELECT id FROM person ORDER BY id").map { $0[0] }
            #expect(rows.contains("after") && !rows.contains { $0.hasPrefix("own") })
            for store in stores {
                #expect(try await store.rows("SELECT id FROM person ORDER BY id").map { $0[0] } == rows)
                #expect(try await store.status().epoch == 2)
            }
            // Each row is in the new epoch, or was read by who removed, or is set aside; those before a shown one are not shown.
            for (index, device) in devices.dropFirst().enumerated() {
                let shown = rows.filter { $0.hasPrefix("\(index)-") }.compactMap { Int($0.dropFirst(2)) }.sorted()
                #expect(shown == Array((10 - shown.count)..<10))
                let kept = try device.kept().list().flatMap { try device.kept().changes(of: $0.id) }.flatMap(\.changes).map(\.record)
                #expect(Set(kept).count == kept.count && Set(kept).isDisjoint(with: rows.map { "person/t:\($0)" }))
            }
            #expect(try await devices[0].endedFiles(before: 2) == [])
            for store in stores { try await store.close() }
        }
    }

    @Test("an observation and a reader of notices hear of a removal by another device")
    func observers() async throws {
        try await withDevices(2) { devices, _ in
            let (one, two) = try await (devices[0].open(), devices[1].open())
            try await one.execute("INSERT INTO person (id) VALUES ('p')")
            try await settle(one, two)
            let notices = two.notices.limited().makeAsyncIterator()
            let people = ValueObservation.tracking { db in try String.fetchAll(db, sql: "SELECT id FROM person") }.removeDuplicates()
            let seen = people.values(in: two).limited().makeAsyncIterator()
            #expect(try await seen.next() == ["p"])
            try await two.execute("UPDATE person SET age = 3")
            try await one.removeAll()
            try await settle(two)
            #expect(try await seen.next() == [])
            let entry = try #require(try devices[1].kept().list().first?.entry)
            #expect(try await notices.next() == .didRemoveContent(ContentRemoval(epoch: 2, kept: entry, missing: 0)))
            #expect(entry.changes == 1)
        }
    }

    @Test("names that are not ours stay in a directory of an ended epoch, and no link is followed")
    func foreignNames() async throws {
        try await withDevices(1) { devices, root in
            let store = try await devices[0].open()
            try await store.execute("INSERT INTO person (id) VALUES ('p')")
            try await settle(store)
            let status = try await store.status()
            let directory = try await devices[0].layout().logs(of: status.peer, epoch: 1)
            let outside = root.appending("outside")
            try FileManager.default.createDirectory(atPath: outside.string, withIntermediateDirectories: true)
            try Data("x".utf8).write(to: URL(filePath: outside.appending("1").string))
            try FileManager.default.createSymbolicLink(atPath: directory.appending("baselines").string, withDestinationPath: outside.string)
            try Data("mine".utf8).write(to: URL(filePath: directory.appending("letter.txt").string))
            try await store.removeAll()
            try await settle(store)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.string).sorted() == ["baselines", "letter.txt"])
            #expect(FileManager.default.fileExists(atPath: outside.appending("1").string))
        }
    }
}

extension UbiquitousStore {
    @discardableResult
    func removeAll() async throws -> ContentRemoval {
        try await removeUbiquitousContent(.removeEverythingOnAllDevices(contentName: "People"))
    }
}

extension TestDevice {
    func kept() -> KeptLogs { KeptLogs(home: home) }

    func layout() async throws -> ContentLayout { ContentLayout(container: try await container().path, content: "People") }

    /// What is left in the content of epochs before one.
    func endedFiles(before epoch: Int64) async throws -> [String] {
        let directory = try await layout().directory.string
        var paths: [String]?
        while paths == nil {
            do {
                paths = try FileManager.default.subpathsOfDirectory(atPath: directory)
            } catch let error as CocoaError where error.code == .fileReadNoSuchFile && FileManager.default.fileExists(atPath: directory) {
                // A store that exchanges meanwhile has removed a directory between its name and its content.
                continue
            }
        }
        return (paths ?? []).filter { path in
            FilePath(path).components.dropFirst().first.flatMap { ContentLayout.epoch(ofDirectory: $0.string) }.map { $0 < epoch } ?? false
        }.sorted()
    }
}
