import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting
import Waiting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreInspection
@testable import StoreRecords
@testable import UbiquityStores

/// A peer's identifier is never used again: copies and old backups of a store take new ones, and nothing is lost.
struct IdentityTests {
    /// The rows' keys.
    private func insert(_ key: String, _ store: UbiquitousStore) async throws {
        try await store.execute("INSERT INTO person (id, first) VALUES (?, ?)", [key, key.uppercased()])
    }

    /// A device whose directory is a copy of another's.
    private func copy(_ device: TestDevice, as name: String, root: FilePath) throws -> TestDevice {
        let parent = device.directory.removingLastComponent()
        try FileManager.default.copyItem(atPath: device.directory.string, toPath: parent.appending(name).string)
        return try TestDevice(name, in: parent, root: root)
    }

    private func expectSame(_ stores: [UbiquitousStore], keys expected: [String]) async throws {
        let rows = try await stores[0].rows()
        for store in stores {
            #expect(try await store.keys() == expected)
            #expect(try await store.rows() == rows)
            let status = try await store.status()
            #expect(status.waiting.isEmpty && status.quarantined.isEmpty && status.unpublished == 0)
        }
        #expect(try await Set(stores.asyncMap { try await $0.status().peer }).count == stores.count)
    }

    @Test("F-13: a store keeps its identifier over restarts, a newer version of the app, and a stay away of its account")
    func stable() async throws {
        let newer = twoVersions(
            "CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, first TEXT, last TEXT COLLATE NOCASE, email TEXT, age)",
            "ALTER TABLE person ADD COLUMN phone TEXT"
        ) { SyncedTable("person") }
        try await withDevices(2) { devices, root in
            let other = try await devices[1].open(newer)
            let peer = try await devices[0].container().peer
            for (number, schema) in [personSchema, personSchema, newer, newer].enumerated() {
                let store = try await UbiquitousStore.open(
                    at: devices[0].directory.appending("People.sqlite"), options: .init(contentName: "People", exchangesAutomatically: false),
                    container: "org.example.test", home: devices[0].home, schema: schema, now: { [clock = devices[0].clock] in clock.now })
                try await insert("\(number)", store)
                try await store.settled()
                #expect(try await store.status().peer == peer)
                if number == 1 {
                    try devices[0].home.signOut()
                    try await store.settled()
                    try devices[0].home.signIn(AccountName("alice"), containers: root)
                    try await store.settled()
                    #expect(try await store.status().peer == peer)
                }
                try await store.close()
            }
            try await other.settled()
            #expect(try await other.keys() == ["0", "1", "2", "3"])
            #expect(try await other.peers().map(\.peer) == [peer.description], "there has been one, and nobody has been retired")
            #expect(try await other.peers().allSatisfy { !$0.isRetired })
        }
    }

    @Test("a restored backup takes a new identifier, imports what it had forgotten, and publishes what only it holds")
    func restoredBackup() async throws {
        try await withDevices(2) { devices, root in
            var left = try await devices[0].open()
            let right = try await devices[1].open()
            try await insert("a", left)
            try await settle(left, right)
            try await left.close()
            let backup = try copy(devices[0], as: "backup", root: root)
            left = try await devices[0].open()
            try await insert("b", left)
            try await left.execute("UPDATE person SET last = 'forgotten' WHERE id = 'a'")
            try await settle(left, right)
            let old = try await left.status().peer
            try await left.close()

            try FileManager.default.removeItem(atPath: devices[0].directory.string)
            try FileManager.default.moveItem(atPath: backup.directory.string, toPath: devices[0].directory.string)
            let restored = try await devices[0].open()
            try await insert("c", restored)
            try await settle(restored, right, restored)
            let new = try await restored.status().peer
            #expect(new != old)
            try await expectSame([restored, right], keys: ["a", "b", "c"])
            #expect(try await right.rows()[0][2] == "'forgotten'")
            // The path of the store file and what the home says stay as they were.
            let peer = try await devices[0].container().peer
            #expect(peer == old && restored.file.string.contains(old.description))
        }
    }

    @Test("what was saved and not published before the renewal goes out under the new identifier, with its stamps and its author of then")
    func reissued() async throws {
        try await withDevices(2) { devices, root in
            let left = try await devices[0].open()
            let right = try await devices[1].open()
            try await insert("a", left)
            try await settle(left, right)
            let copied = try copy(devices[0], as: "copy", root: root)
            let clone = try await copied.open()
            try await insert("b", left)
            try await left.publish()
            // Sealed under the old identifier, before the other's log is seen.
            copied.clock.advance(by: 60)
            try await clone.execute("UPDATE person SET first = 'clone' WHERE id = 'a'")
            try await insert("c", clone)
            let sealed = try await clone.sealedLogs()
            let stamps = try sealed.map { try LogBody.decode($0).groups[0].time }
            let old = try await clone.status().peer
            try await clone.settled()
            let new = try await clone.status().peer
            #expect(new != old)
            let logs = try publishedLogs(of: new, in: await copied.container())
            #expect(logs.map(\.header.sequence) == [1, 2, 3])
            // The last says that nobody need wait for the old identifier.
            #expect(try LogBody.decode(logs[2]).retired.keys.map(\.self) == [old])
            #expect(try logs.flatMap { try $0.changes } == sealed.flatMap { try $0.changes })
            for (log, stamp) in zip(logs, stamps) {
                let group = try LogBody.decode(log).groups[0]
                #expect(group.time == stamp && group.peer == old)
            }
            // The first names the last log of the branch that it goes on from.
            let published = try await clone.logs(of: old).first
            #expect(logs[0].header.news.heads[old] == published.map { [$0] })
            #expect(logs[1].header.news.isEmpty)
            try await settle(left, right, clone, left, right)
            try await expectSame([left, right, clone], keys: ["a", "b", "c"])
            #expect(try await right.rows()[0][1] == "'clone'")
        }
    }

    private func publishedLogs(of peer: PeerIdentifier, in container: UbiquityContainer) throws -> [LogFile] {
        let directory = container.path.appending("CoreData/People/\(peer)/1")
        return try FileManager.default.contentsOfDirectory(atPath: directory.string).sorted().compactMap { LogFileName($0) }.map { name in
            try LogFile(decoding: [UInt8](Data(contentsOf: URL(filePath: directory.appending(name.description).string))), named: name)
        }
    }

    @Test("a cloned home whose copies have both published under one identifier: all files of one sequence are applied, and both go on")
    func clonedHome() async throws {
        try await withDevices(2) { devices, root in
            let left = try await devices[0].open()
            let right = try await devices[1].open()
            try await insert("a", left)
            try await settle(left, right)
            let copied = try copy(devices[0], as: "copy", root: root)
            let clone = try await copied.open()
            let old = try await left.status().peer
            try await clone.settled()
            let notices = clone.notices.limited().makeAsyncIterator()
            // Neither looks at the container between.
            try await left.execute("UPDATE person SET first = 'left' WHERE id = 'a'")
            try await clone.execute("UPDATE person SET last = 'clone' WHERE id = 'a'")
            try await insert("b", left)
            try await insert("c", clone)
            try await left.execute("UPDATE person SET email = 'l' WHERE id = 'a'")
            try await clone.execute("UPDATE person SET email = 'c' WHERE id = 'a'")
            try await left.publish()
            try await clone.publish()
            #expect(try publishedLogs(of: old, in: await copied.container()).map(\.header.sequence).sorted() == [1, 2, 2, 3, 3, 4, 4])
            try await clone.settled()
            let new = try await clone.status().peer
            #expect(try await notices.next() == .didTakeNewIdentifier(new))
            try await settle(right, left, clone, right)
            try await expectSame([left, right, clone], keys: ["a", "b", "c"])
            #expect(try await right.rows()[0][1...2] == ["'left'", "'clone'"])
            // A head for each branch, in every store and receipt; and what one branch took from the other is listed.
            for store in [left, right, clone] {
                #expect(try await store.status().knowledge.heads[old]?.map(\.sequence) == [4, 4])
                let lost = try await store.conflicts().flatMap(\.lost).filter { $0.column == "email" }.map(\.value.description)
                let kept = try await store.rows()[0][3]
                #expect(lost == [kept == "'l'" ? "c" : "l"], "\(lost) \(kept)")
            }
            let survey = try await ContainerSurvey(of: devices[0].container().path).stores[0]
            #expect(survey.peers.filter(\.isForked).map(\.peer) == [old.description])
            #expect(survey.peers.filter { $0.peer != old.description }.flatMap(\.knowledge).allSatisfy { $0.behind == 0 })
            try await insert("d", left)
            try await insert("e", clone)
            try await settle(left, clone, right)
            try await expectSame([left, right, clone], keys: ["a", "b", "c", "d", "e"])
        }
    }

    @Test("a log waits for exactly the branch that its author had read, not for another log of that sequence")
    func exactBranch() async throws {
        try await withDevices(3) { devices, root in
            let left = try await devices[0].open()
            let right = try await devices[1].open()
            try await insert("a", left)
            try await settle(left, right)
            let clone = try await copy(devices[0], as: "copy", root: root).open()
            try await clone.settled()
            try await insert("b", left)
            try await insert("c", clone)
            try await left.publish()
            try await clone.publish()
            try await right.settled()
            try await right.execute("UPDATE person SET age = 1")
            try await right.publish()
            let old = try await right.status().knowledge.heads.first { $0.value.count == 2 }!.key
            let container = try await devices[0].container()
            let branch = try #require(try publishedLogs(of: old, in: container).first { try $0.changes[0].contains("person/c") })
            let name = LogFileName(sequence: 2, hash: ContentHash(of: LogFile.encode(branch.header, body: Array(branch.body)))).description
            let (file, away) = (container.path.appending("CoreData/People/\(old)/1/\(name)").string, root.appending(name).string)
            try FileManager.default.moveItem(atPath: file, toPath: away)
            let reader = try await devices[2].open()
            try await reader.settled()
            #expect(try await reader.keys() == ["a", "b"])
            let waiting = try await reader.status().waiting
            guard waiting.count == 1, case .files(let files) = waiting[0].reason else {
                Issue.record("\(waiting)")
                return
            }
            #expect(files.map(\.hash) == [LogFileName(name)?.hash.description])
            try FileManager.default.moveItem(atPath: away, toPath: file)
            try await reader.settled()
            #expect(try await reader.keys() == ["a", "b", "c"])
            #expect(try await reader.rows().allSatisfy { $0[4] == "1" })
        }
    }

    @Test("equal stamps by two branches of one identifier are ordered by value, alike everywhere")
    func equalStamps() async throws {
        try await withDevices(2) { devices, root in
            let left = try await devices[0].open()
            let right = try await devices[1].open()
            try await insert("a", left)
            try await settle(left, right)
            let copied = try copy(devices[0], as: "copy", root: root)
            let clone = try await copied.open()
            try await left.execute("UPDATE person SET first = 'low', last = 'z' WHERE id = 'a'")
            try await clone.execute("UPDATE person SET first = 'lower', last = 'y' WHERE id = 'a'")
            #expect(try LogBody.decode(await left.sealedLogs()[0]).groups[0].time == LogBody.decode(await clone.sealedLogs()[0]).groups[0].time)
            try await left.publish()
            try await clone.publish()
            try await settle(clone, left, right)
            for store in [left, right, clone] { #expect(try await store.rows()[0][1...2] == ["'lower'", "'z'"]) }
        }
    }

    @Test("a fork of an old sequence, of the first too, is found out and applied like any other", arguments: [0, 1, 3])
    func oldSequence(sequence: Int) async throws {
        try await withDevices(2) { devices, root in
            var left = try await devices[0].open()
            let right = try await devices[1].open()
            for index in 0..<sequence { try await insert("early\(index)", left) }
            try await left.settled()
            try await left.close()
            let copied = try copy(devices[0], as: "copy", root: root)
            let clone = try await copied.open()
            try await insert("fork", clone)
            let bytes = try #require(try await clone.read { db in try Data.fetchOne(db, sql: "SELECT bytes FROM ubiquity_outbox") })
            left = try await devices[0].open()
            for index in 0..<5 { try await insert("late\(index)", left) }
            try await settle(left, right)
            // A crash of the copy between rename and forgetting: what it published goes on from an old log.
            let old = try await left.status().peer
            let name = LogFileName(sequence: Int64(sequence) + 1, hash: ContentHash(of: [UInt8](bytes)))
            let container = try await devices[0].container()
            try bytes.write(to: URL(filePath: container.path.appending("CoreData/People/\(old)/1/\(name)").string))
            try await settle(right, left, clone, right)
            // It is published already: no change goes out again.
            let new = try await clone.status().peer
            #expect(new != old)
            #expect(try publishedLogs(of: new, in: container).flatMap { try $0.changes }.isEmpty)
            let expected = (["fork"] + (0..<sequence).map { "early\($0)" } + (0..<5).map { "late\($0)" }).sorted()
            try await expectSame([left, right, clone], keys: expected)
        }
    }

    @Test("three branches of one identifier meet on every peer, in whatever order they arrive", arguments: [[0, 1, 2], [2, 0, 1]])
    func threeBranches(order: [Int]) async throws {
        try await withTemporaryDirectory { directory in
            let root = directory.appending("root")
            try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
            let first = try TestDevice("first", in: directory, root: root)
            let original = try await first.open()
            try await insert("a", original)
            try await original.settled()
            try await original.close()
            // Each copy has a containers root of its own, so that none sees another's logs but as they are carried.
            var devices: [TestDevice] = []
            for index in 0..<4 {
                let ownRoot = directory.appending("root\(index)")
                try FileManager.default.copyItem(atPath: root.string, toPath: ownRoot.string)
                if index < 3 {
                    devices.append(try copy(first, as: "copy\(index)", root: ownRoot))
                } else {
                    devices.append(try TestDevice("reader", in: directory, root: ownRoot))
                }
            }
            let stores = try await devices.asyncMap { try await $0.open() }
            for (index, store) in stores.prefix(3).enumerated() {
                try await insert("b\(index)", store)
                try await store.execute("UPDATE person SET age = \(index) WHERE id = 'a'")
                try await store.publish()
            }
            func carry(_ from: Int, _ to: Int) throws {
                let (source, target) = (directory.appending("root\(from)").string, directory.appending("root\(to)").string)
                for path in try FileManager.default.subpathsOfDirectory(atPath: source) where !path.contains(".nosync") {
                    let destination = FilePath(target).appending(path)
                    guard !FileManager.default.fileExists(atPath: destination.string) else { continue }
                    try FileManager.default.createDirectory(
                        atPath: destination.removingLastComponent().string, withIntermediateDirectories: true)
                    var isDirectory: ObjCBool = false
                    _ = FileManager.default.fileExists(atPath: FilePath(source).appending(path).string, isDirectory: &isDirectory)
                    if !isDirectory.boolValue {
                        try FileManager.default.copyItem(atPath: FilePath(source).appending(path).string, toPath: destination.string)
                    }
                }
            }
            for branch in order {
                try carry(branch, 3)
                try await stores[3].settled()
            }
            #expect(try await stores[3].keys() == ["a", "b0", "b1", "b2"])
            for _ in 0..<2 {
                for (from, to) in order.flatMap({ from in (0..<4).filter { $0 != from }.map { (from, $0) } }) { try carry(from, to) }
                for store in stores { try await store.settled() }
                for to in 0..<3 { try carry(3, to) }
            }
            for _ in 0..<2 {
                for from in 0..<4 { for to in 0..<4 where to != from { try carry(from, to) } }
                for store in stores { try await store.settled() }
            }
            try await expectSame(stores, keys: ["a", "b0", "b1", "b2"])
        }
    }

    @Test("a store whose lost logs others name renews before they have come back")
    func namedByOthers() async throws {
        try await withDevices(2) { devices, root in
            var left = try await devices[0].open()
            let right = try await devices[1].open()
            try await insert("a", left)
            try await settle(left, right)
            try await left.close()
            let backup = try copy(devices[0], as: "backup", root: root)
            left = try await devices[0].open()
            try await insert("b", left)
            try await settle(left, right)
            try await right.execute("UPDATE person SET age = 1")
            try await right.publish()
            let old = try await left.status().peer
            try await left.close()
            // The container has been restored too: the lost log is still on its way.
            let directory = try await devices[0].container().path.appending("CoreData/People/\(old)/1")
            let lost = try #require(try FileManager.default.contentsOfDirectory(atPath: directory.string).first { $0.hasPrefix("000000000002") })
            let away = root.removingLastComponent().appending(lost)
            try FileManager.default.moveItem(atPath: directory.appending(lost).string, toPath: away.string)
            let restored = try await backup.open()
            try await restored.settled()
            #expect(try await restored.status().peer != old)
            let awaited = try await restored.status().waiting
            #expect(awaited.first?.reason.description.contains("log 2 of \(old)") == true)
            try FileManager.default.moveItem(atPath: away.string, toPath: directory.appending(lost).string)
            try await insert("c", restored)
            try await settle(restored, right)
            try await expectSame([restored, right], keys: ["a", "b", "c"])
        }
    }

    @Test("a file with a log's name in the store's own directory that is no whole log of its own changes nothing")
    func impostors() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(), devices[1].open())
            try await insert("a", left)
            try await insert("b", right)
            try await settle(left, right)
            let before = try await left.status().peer
            let directory = try await devices[0].container().path.appending("CoreData/People/\(before)/1")
            // Another peer's log, a truncated one, and one with a foreign hash.
            let other = try await right.status().peer
            let foreign = try #require(try await publishedLogs(of: other, in: devices[0].container()).first)
            let bytes = LogFile.encode(foreign.header, body: Array(foreign.body))
            try Data(bytes).write(to: URL(filePath: directory.appending("\(LogFileName(sequence: 1, hash: ContentHash(of: bytes)))").string))
            try Data(bytes.prefix(40)).write(
                to: URL(filePath: directory.appending("\(LogFileName(sequence: 2, hash: ContentHash(of: bytes)))").string))
            try await left.settled()
            #expect(try await left.status().peer == before)
        }
    }
}

extension Sequence {
    func asyncMap<Result>(_ body: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await body(element)) }
        return results
    }
}
