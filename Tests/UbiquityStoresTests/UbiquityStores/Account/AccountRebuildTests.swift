import Foundation
import GRDB
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting
import Waiting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// An account's file that is made anew at opening, because that is asked for or it cannot be read.
struct AccountRebuildTests {
    private func keys(_ store: UbiquitousStore) async throws -> [String] {
        try await store.read { db in try String.fetchAll(db, sql: "SELECT id || coalesce(first, '') FROM person ORDER BY id") }
    }

    /// What tells a file from another of its name.
    private func number(of file: FilePath) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: file.string)[.systemFileNumber] as? Int)
    }

    private func insert(_ keys: String..., into store: UbiquitousStore) async throws {
        for key in keys { try await store.execute("INSERT INTO person (id) VALUES (?)", [key]) }
    }

    @Test("S-108: with the rebuild option a store opens at once on an empty fallback file and then swaps, and what had not gone out goes out")
    func rebuilt() async throws {
        try await withDevices(2) { devices, root in
            let (first, other) = (try await devices[0].follow(), try await devices[1].open())
            try await first.settled()
            try await insert("a", "b", "c", into: first)
            try await first.settled()
            try await insert("o", into: other)
            try await settle(other, first, other)
            let file = first.file
            let before = try await first.status().peer
            // Nothing of this goes out.
            try await insert("n", into: first)
            try await first.execute("UPDATE person SET first = 'x' WHERE id IN ('a', 'b'); DELETE FROM person WHERE id = 'c'")
            try await first.close()
            try await other.execute("DELETE FROM person WHERE id = 'b'")
            try await other.settled()

            let again = try await devices[0].follow { $0.rebuildsFromUbiquitousContent = true }
            #expect(await again.place == .fallback(try AccountName("alice")))
            #expect(try await keys(again) == [])
            try await insert("f", into: again)
            try await again.settled()
            #expect(again.file == file)
            // What the other has deleted stays so: whoever changed it knew it.
            #expect(try await keys(again) == ["ax", "f", "n", "o"])
            try await settle(again, other)
            #expect(try await keys(other) == ["ax", "f", "n", "o"])
            #expect(try await again.status().peer != before)
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: file.removingLastComponent().removingLastComponent().string).sorted() == [
                    "fallback", "store",
                ])
        }
    }

    @Test(
        "A store that is to be made anew stays as it is where the content is gone, or lacks a log: it shows all its records, and puts them back when told to",
        arguments: [nil] + WipePolicyTests.Loss.allCases)
    func incomplete(_ loss: WipePolicyTests.Loss?) async throws {
        try await withDevices(2) { devices, root in
            let first = try await devices[0].follow()
            try await first.settled()
            try await insert("a", into: first)
            try await first.settled()
            try await insert("b", into: first)
            try await first.settled()
            let peer = try await first.status().peer
            try await first.close()
            let container = try await devices[0].container()
            if let loss {
                try loss.happen(to: container)
            } else {
                let logs = ContentLayout(container: container.path, content: "People").logs(of: peer, epoch: 1)
                let log = try FileManager.default.contentsOfDirectory(atPath: logs.string).filter { $0.hasSuffix(".ublog") }.sorted()[0]
                try FileManager.default.removeItem(atPath: logs.appending(log).string)
            }
            let again = try await devices[0].follow { $0.rebuildsFromUbiquitousContent = true }
            try await insert("f", into: again)
            if loss == nil {
                try await again.settled()
            } else {
                let error = await #expect(throws: UbiquitousStoreError.self) { try await again.settled() }
                #expect(error?.code == .suspended)
            }
            #expect(try await keys(again) == ["a", "b", "f"])
            let alice = try AccountName("alice")
            #expect(await again.place == .account(alice))
            let status = try await again.status()
            #expect(status.peer == peer)
            if loss == nil { #expect(try #require(status.failure).contains("is not rebuilt")) }
            if loss == nil { try await again.rollBaseline() } else { try await again.answerWipe(.republish) }
            try await again.settled()
            let other = try await devices[1].open()
            try await other.settled()
            #expect(try await keys(other) == ["a", "b", "f"])
        }
    }

    @Test("A store that is to be made anew while the containers' disk is not there shows all its records, and is made anew at the next opening")
    func withoutRoot() async throws {
        try await withDevices(1) { devices, root in
            let first = try await devices[0].follow()
            try await first.settled()
            try await insert("a", into: first)
            try await first.settled()
            try await first.close()
            let elsewhere = root.removingLastComponent().appending("elsewhere")
            try FileManager.default.moveItem(atPath: root.string, toPath: elsewhere.string)
            let without = try await devices[0].follow { $0.rebuildsFromUbiquitousContent = true }
            await #expect(throws: UbiquitousStoreError.self) { try await without.settled() }
            #expect(try await keys(without) == ["a"])
            let file = without.file
            try await without.close()
            try FileManager.default.moveItem(atPath: elsewhere.string, toPath: root.string)
            let before = try number(of: file)
            let again = try await devices[0].follow { $0.rebuildsFromUbiquitousContent = true }
            try await again.settled()
            #expect(try await keys(again) == ["a"])
            #expect(again.file == file)
            #expect(try number(of: file) != before)
        }
    }

    @Test("A file is made anew from a baseline, where that holds the logs that are no longer there")
    func fromBaseline() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].follow()
            try await store.settled()
            try await insert("a", into: store)
            try await store.settled()
            try await store.rollBaseline()
            try await insert("b", into: store)
            try await store.settled()
            let layout = ContentLayout(container: try await devices[0].container().path, content: "People")
            let logs = layout.logs(of: try await store.status().peer, epoch: 1)
            let names = try FileManager.default.contentsOfDirectory(atPath: logs.string).filter { $0.hasSuffix(".ublog") }.sorted()
            if names.count > 1 { try FileManager.default.removeItem(atPath: logs.appending(names[0]).string) }
            let before = try number(of: store.file)
            try await store.close()
            let again = try await devices[0].follow { $0.rebuildsFromUbiquitousContent = true }
            try await again.settled()
            #expect(try await keys(again) == ["a", "b"])
            #expect(try number(of: again.file) != before)
        }
    }

    @Test("A former file that holds what the content has lost is set aside and said so, not removed", .timeLimit(.minutes(40)))
    func overtaken() async throws {
        try await withDevices(1) { devices, root in
            let first = try await devices[0].follow()
            try await first.settled()
            try await insert("a", into: first)
            try await first.settled()
            let store = first.file.removingLastComponent()
            try await first.close()
            // The content goes once the new file has been begun.
            let (former, elsewhere) = (store.removingLastComponent().appending("former"), store.removingLastComponent().appending("elsewhere"))
            try FileManager.default.moveItem(atPath: store.string, toPath: elsewhere.string)
            try WipePolicyTests.Loss.content.happen(to: await devices[0].container())
            let begun = try await devices[0].follow()
            try await begun.settled()
            #expect(try await keys(begun) == [])
            try await begun.close()
            try FileManager.default.moveItem(atPath: elsewhere.string, toPath: former.string)
            let again = try await devices[0].follow()
            let notices = again.notices.limited().makeAsyncIterator()
            try await again.settled()
            #expect(try await keys(again) == [])
            #expect(!FileManager.default.fileExists(atPath: former.string))
            var aside: FilePath?
            while aside == nil, let notice = try await notices.next() {
                if case .didSetAside(let path) = notice { aside = path }
            }
            #expect(try sqlite3(#require(aside), "SELECT id FROM person") == "a\n")
        }
    }

    @Test("A file that another program is writing, with a rollback journal, is not made anew under it")
    func beingWritten() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].follow { $0.advanced.journalMode = .delete }
            try await store.settled()
            try await insert("a", into: store)
            let file = store.file
            try await store.close()
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            let shell = try DatabaseQueue(path: file.string, configuration: configuration)
            try await shell.writeWithoutTransaction { db in try db.execute(sql: "BEGIN IMMEDIATE; INSERT INTO person (id) VALUES ('s')") }
            let error = await #expect(throws: UbiquitousStoreError.self) {
                try await devices[0].follow {
                    $0.rebuildsFromUbiquitousContent = true
                    $0.advanced.journalMode = .delete
                }
            }
            #expect(error?.code == .timedOut)
            try await shell.writeWithoutTransaction { db in try db.execute(sql: "COMMIT") }
            try shell.close()
            let again = try await devices[0].follow { $0.rebuildsFromUbiquitousContent = true }
            try await again.settled()
            #expect(try await keys(again) == ["a", "s"])
        }
    }

    @Test("A store that alone knows that its content is being put back is not made anew")
    func finishing() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].follow()
            try await store.settled()
            try await insert("a", into: store)
            try await store.settled()
            try sqlite3(store.file, "UPDATE ubiquity_state SET request = 'finish-republishing'")
            try await store.close()
            let again = try await devices[0].follow { $0.rebuildsFromUbiquitousContent = true }
            let alice = try AccountName("alice")
            #expect(await again.place == .account(alice))
            #expect(try await keys(again) == ["a"])
        }
    }

    @Test("A store that is to be made anew while another process has it open is left as it is")
    func inUse() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].follow()
            try await store.settled()
            try await insert("a", into: store)
            let error = await #expect(throws: UbiquitousStoreError.self) {
                try await devices[0].follow { $0.rebuildsFromUbiquitousContent = true }
            }
            #expect(error?.code == .timedOut)
            try await insert("b", into: store)
            #expect(try await keys(store) == ["a", "b"])
        }
    }

    /// The files of a container that say something of a store's content.
    enum ContentFile: CaseIterable, Sendable {
        case mark, attachment, log, baseline, receipt

        func find(below container: FilePath) throws -> FilePath {
            let names = try FileManager.default.subpathsOfDirectory(atPath: container.string).sorted()
            let name = names.first { name in
                switch self {
                case .mark: name.contains("/epochs/")
                case .attachment: name.hasPrefix(".ubiquity/")
                case .log: name.hasSuffix(".ublog")
                case .baseline: name.hasSuffix(".ubbaseline")
                case .receipt: name.contains("/receipts/")
                }
            }
            return container.pushing(FilePath(try #require(name)))
        }
    }

    @Test(
        "F-23: damage to any file of the content leaves the store full, now, at the next opening, and where it is to be made anew",
        arguments: ContentFile.allCases, [Data(), Data("damaged beyond use, as a disk or a synchroniser may leave it".utf8)])
    func damagedContent(which: ContentFile, bytes: Data) async throws {
        try await withDevices(2) { devices, _ in
            var store = try await devices[0].follow()
            let other = try await devices[1].open()
            try await store.settled()
            try await insert("a", into: store)
            try await store.settled()
            try await store.rollBaseline()
            try await insert("b", into: store)
            try await settle(store, other)
            let damaged = try await which.find(below: devices[0].container().path)
            try bytes.write(to: URL(filePath: damaged.string))
            for isMadeAnew in [false, false, true] {
                try await insert("\(isMadeAnew)", into: store)
                try? await store.settled()
                let before = try await keys(store)
                #expect(Set(before).isSuperset(of: ["a", "b"]))
                try await store.execute("DELETE FROM person WHERE id = ?", ["\(isMadeAnew)"])
                try await store.close()
                store = try await devices[0].follow { $0.rebuildsFromUbiquitousContent = isMadeAnew }
                try? await store.settled()
                #expect(try await keys(store) == ["a", "b"])
            }
            try await store.close()
            try? await other.settled()
            #expect(try await keys(other) == ["a", "b"])
        }
    }

    @Test("F-23: while a file is being made anew the old one lies aside, whole, and goes once the new one holds all of it")
    func keptUntilComplete() async throws {
        try await withDevices(2) { devices, root in
            let (first, other) = (try await devices[0].follow(), try await devices[1].open())
            try await first.settled()
            for key in ["a", "b", "c"] { try await insert(key, into: first) }
            try await settle(first, other)
            let file = first.file
            let former = file.removingLastComponent().removingLastComponent().appending("former").appending(file.lastComponent!)
            try await first.close()
            // What is found whenever the new file reads a log: how many records the old one holds, and the new one's place is in no use yet.
            let found = Mutex<[String]>([])
            let isAnew = Mutex(false)
            let files = HookedFileLayer { (operation, path, _) throws(Errno) in
                guard operation == .read, path.extension == "ublog", FileManager.default.fileExists(atPath: former.string) else { return }
                let count = (try? sqlite3(former, "SELECT count(*) FROM person")) ?? "none"
                found.withLock { $0.append(count) }
                isAnew.withLock { $0 = true }
            }
            var options = UbiquitousStore.Options(contentName: "People", exchangesAutomatically: false)
            options.rebuildsFromUbiquitousContent = true
            let again = try await UbiquitousStore.open(
                at: devices[0].directory.appending("People.sqlite"), options: options, container: "org.example.test", home: devices[0].home,
                schema: personSchema, now: { [clock = devices[0].clock] in clock.now }, files: files)
            try await again.settled()
            #expect(isAnew.withLock { $0 } && found.withLock { $0.allSatisfy { $0 == "3\n" } }, "\(found.withLock { $0 })")
            #expect(try await keys(again) == ["a", "b", "c"])
            #expect(again.file == file && !FileManager.default.fileExists(atPath: former.string))
        }
    }

    @Test("An account's file that is no database is set aside, said so, and made anew from the container")
    func damaged() async throws {
        try await withDevices(2) { devices, _ in
            let (first, other) = (try await devices[0].follow(), try await devices[1].open())
            try await first.settled()
            try await insert("a", into: first)
            try await settle(first, other)
            let file = first.file
            try await first.close()
            try Data("this is no database, and it is longer than a header of one would be: a hundred bytes and more".utf8)
                .write(to: URL(filePath: file.string))
            for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file.string + suffix) }
            let again = try await devices[0].follow()
            let notices = again.notices.limited().makeAsyncIterator()
            guard case .didSetAside(let aside) = try await notices.next() else {
                Issue.record("it is not told")
                return
            }
            #expect(try String(contentsOfFile: aside.string, encoding: .utf8).hasPrefix("this is no database"))
            try await again.settled()
            #expect(try await keys(again) == ["a"])
            #expect(again.file == file)
            try await insert("b", into: again)
            try await settle(again, other)
            #expect(try await keys(other) == ["a", "b"])
        }
    }
}
