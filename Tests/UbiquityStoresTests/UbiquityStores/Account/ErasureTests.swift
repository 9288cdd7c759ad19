import Dispatch
import Foundation
import GRDB
internal import StoreInspection
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting
import Waiting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// Removing files of this device.
struct ErasureTests {
    private func exists(_ file: FilePath) -> Bool { FileManager.default.fileExists(atPath: file.string) }

    @Test("S-011: by an option an account's file goes when the account does, and is made anew from the container when it is back")
    func gone() async throws {
        try await withDevices(1) { devices, root in
            let store = try await devices[0].follow { $0.advanced.removesFilesOfGoneAccounts = true }
            try await store.settled()
            try await store.execute("INSERT INTO person (id) VALUES ('a')")
            try await store.settled()
            let file = store.file
            // What killed processes have left of it holds the account's records too.
            let drafts = ["-joining", "-migration"].map { FilePath(file.string + $0) }
            for draft in drafts { try LinuxFileLayer().writeNew(draft, [1]) }
            try devices[0].home.signOut()
            try await store.settled()
            await store.keeper?.erased()
            for path in [file] + drafts { #expect(!exists(path)) }
            // A new file is no gathered one. The iterator comes before the sign-in, which the store may follow by itself.
            let notices = store.notices.limited().makeAsyncIterator()
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await store.settled()
            var kinds: [StoreTransition.Kind] = []
            while kinds.last != .initialImportCompleted, let notice = try await notices.next() {
                if case .didChange(let transition) = notice { kinds.append(transition.kind) }
            }
            #expect(kinds == [.accountRemoved, .accountAdded, .initialImportCompleted])
            #expect(store.file == file)
            #expect(try await store.rows("SELECT id FROM person") == [["a"]])
        }
    }

    @Test("S-011: an account's file with anything that has not gone out stays, until an opening after it has")
    func unsent() async throws {
        try await withDevices(1) { devices, root in
            let store = try await devices[0].follow { $0.advanced.removesFilesOfGoneAccounts = true }
            try await store.settled()
            let file = store.file
            try await store.execute("INSERT INTO person (id) VALUES ('unsent')")
            try devices[0].home.signOut()
            try await store.settled()
            #expect(await store.place == .local)
            await store.keeper?.erased()
            #expect(exists(file))
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await store.settled()
            #expect(try await store.rows("SELECT id FROM person") == [["unsent"]])
            try await store.close()
            try devices[0].home.signOut()
            // Without the option nothing goes.
            try await devices[0].follow().close()
            #expect(exists(file))
            // What is not in the container is here alone; so is what somebody has said of the file.
            let content = try UbiquityContainer.path(root: root, account: AccountName("alice"), identifier: ContainerIdentifier("org.example.test"))
                .appending("CoreData/People")
            func opened() async throws -> Bool {
                let again = try await devices[0].follow { $0.advanced.removesFilesOfGoneAccounts = true }
                await again.keeper?.erased()
                try await again.close()
                return exists(file)
            }
            let logs = try FileManager.default.subpathsOfDirectory(atPath: content.string).filter { $0.hasSuffix(".ublog") }
            try FileManager.default.moveItem(atPath: content.appending(logs[0]).string, toPath: content.string + "-log")
            #expect(try await opened())
            try FileManager.default.moveItem(atPath: content.string + "-log", toPath: content.appending(logs[0]).string)
            // Nor is it there where the file of that name is damaged.
            let log = URL(filePath: content.appending(logs[0]).string)
            let whole = try Data(contentsOf: log)
            try whole.dropLast().write(to: log)
            #expect(try await opened())
            try whole.write(to: log)
            #expect(try InspectedStore(file, readOnly: false).setPaused(true))
            #expect(try await opened())
            #expect(try InspectedStore(file, readOnly: false).setPaused(false))
            #expect(try await !opened())
        }
    }

    @Test("S-100: the store that is not open is removed by what opens it, on every device, and can be opened again at once")
    func removed() async throws {
        try await withDevices(2) { devices, _ in
            let other = try await devices[1].open()
            let path = devices[0].directory.appending("People.sqlite")
            let options = UbiquitousStore.Options(contentName: "People", exchangesAutomatically: false)
            func remove(_ confirmed: String) async throws -> ContentRemoval {
                try await UbiquitousStore.removeUbiquitousContentAndPersistentStore(
                    at: path, options: options, .removeEverythingOnAllDevices(contentName: confirmed), container: "org.example.test",
                    home: devices[0].home, schema: personSchema)
            }
            let store = try await devices[0].follow()
            try await store.settled()
            try await store.execute("INSERT INTO person (id) VALUES ('a')")
            try await settle(store, other)
            let file = store.file
            await #expect { _ = try await remove("Persons") } throws: { ($0 as? UbiquitousStoreError)?.code == .unsupported }
            // One that is open stays, and is empty.
            #expect(try await remove("People").epoch == 2)
            #expect(exists(file))
            try await store.settled()
            #expect(try await store.rows("SELECT id FROM person") == [])
            try await store.execute("INSERT INTO person (id) VALUES ('b')")
            try await store.settled()
            try await store.close()
            #expect(try await remove("People").epoch == 3)
            #expect(!exists(file))
            try await other.settled()
            #expect(try await other.rows("SELECT id FROM person") == [])
            let again = try await devices[0].follow()
            try await again.execute("INSERT INTO person (id) VALUES ('c')")
            try await settle(again, other)
            #expect(try await other.rows("SELECT id FROM person") == [["c"]])
        }
    }

    @Test("S-100: removal takes the options that name a store's place: of two contents of one name in one container that which lies there goes")
    func removedByPlace() async throws {
        try await withDevices(2) { devices, _ in
            var shared = UbiquitousStore.Options(contentName: "People", exchangesAutomatically: false)
            (shared.advanced.contentPath, shared.containerIdentifier) = ("CoreData/Shared/People", "org.example.test")
            let file = devices[0].directory.appending("Shared.sqlite")
            func open(_ device: TestDevice) async throws -> UbiquitousStore {
                try await UbiquitousStore.open(
                    at: device.directory.appending("Shared.sqlite"), options: shared, home: device.home, schema: personSchema)
            }
            let (usual, elsewhere, other) = (try await devices[0].follow(), try await open(devices[0]), try await open(devices[1]))
            for store in [usual, elsewhere] {
                try await store.settled()
                try await store.execute("INSERT INTO person (id) VALUES ('a')")
                try await store.settled()
            }
            try await other.settled()
            #expect(try await other.rows("SELECT id FROM person") == [["a"]])
            let own = elsewhere.file
            try await elsewhere.close()
            #expect(
                try await UbiquitousStore.removeUbiquitousContentAndPersistentStore(
                    at: file, options: shared, .removeEverythingOnAllDevices(contentName: "Shared/People"), home: devices[0].home,
                    schema: personSchema
                ).epoch == 2)
            #expect(!exists(own))
            try await other.settled()
            #expect(try await other.rows("SELECT id FROM person") == [])
            try await usual.settled()
            #expect(try await usual.rows("SELECT id FROM person") == [["a"]])
            let epochs = try await [usual.status().epoch, other.status().epoch]
            #expect(epochs == [1, 2])
        }
    }

    @Test("S-100: where the options fix a container its content goes, and that of another account, which is signed in, stays")
    func removedFixed() async throws {
        try await withDevices(1) { devices, root in
            var options = UbiquitousStore.Options(contentName: "People", exchangesAutomatically: false)
            options.container = .fixed(try await devices[0].container())
            let former = try await devices[0].open()
            try await former.insert("a")
            try await former.settled()
            try await former.close()
            try devices[0].home.signIn(AccountName("bob"), containers: root)
            let present = try await devices[0].open()
            try await present.insert("b")
            try await present.settled()
            let removal = try await UbiquitousStore.removeUbiquitousContentAndPersistentStore(
                at: devices[0].directory.appending("People.sqlite"), options: options, .removeEverythingOnAllDevices(contentName: "People"),
                schema: personSchema)
            #expect(removal.epoch == 2)
            try await present.settled()
            #expect(try await present.keys() == ["b"])
            #expect(try await present.status().epoch == 1)
            try await present.close()
        }
    }

    @Test(
        "S-099: a wipe takes the stores their place before it deletes the first item, so that none writes into what goes, and they keep their records"
    )
    func wipe() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].follow()
            try await store.settled()
            try await store.execute("INSERT INTO person (id) VALUES ('a')")
            try await store.settled()
            let (begun, goOn) = (AsyncStream.makeStream(of: Void.self), DispatchSemaphore(value: 0))
            let files = HookedFileLayer { (operation, _, _) throws(Errno) in
                guard operation == .remove else { return }
                begun.continuation.yield()
                // A fault ends the test all the same.
                if goOn.wait(timeout: .now() + 120) == .timedOut { Issue.record("nobody has let the wipe go on") }
                goOn.signal()
            }
            let container = try await UbiquityContainer("org.example.test", home: devices[0].home, files: files)
            try LinuxFileLayer().makeDirectory(container.documents)
            try Data("x".utf8).write(to: URL(filePath: container.documents.appending("a.txt").string))
            let wiping = Task { try await ContainerWipe.run(container) }
            try await within("the first deletion") { for await _ in begun.stream { break } }
            // The first item is still there.
            #expect(exists(container.documents.appending("a.txt")))
            #expect(!exists(container.path.appending("CoreData")))
            try await store.execute("INSERT INTO person (id) VALUES ('meanwhile')")
            let error = await #expect(throws: UbiquitousStoreError.self) { try await store.settled() }
            #expect(error?.code == .suspended)
            goOn.signal()
            let wipe = try await wiping.value
            #expect(wipe.left.isEmpty)
            // It returns when nothing is left.
            #expect(
                try FileManager.default.subpathsOfDirectory(atPath: container.path.string).sorted() == [".ubiquity", ".ubiquity/\(container.peer)"])
            #expect(try await store.rows("SELECT id FROM person ORDER BY id") == [["a"], ["meanwhile"]])
        }
    }
}
