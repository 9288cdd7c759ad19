import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreExchange
@testable import StoreRecords
@testable import UbiquityStores

/// An app that names another container than before.
struct ContainerChangeTests {
    private func open(_ device: TestDevice, _ container: String) async throws -> UbiquitousStore {
        try await UbiquitousStore.open(
            at: device.directory.appending("People.sqlite"), options: .init(contentName: "People", exchangesAutomatically: false),
            container: container, home: device.home, schema: personSchema, now: { [clock = device.clock] in clock.now })
    }

    /// The changes of file that somebody hears of who asks after an opening.
    private func transitions(_ store: UbiquitousStore) async -> [StoreTransition] {
        var notices = store.notices.makeAsyncIterator()
        store.notices.broadcast.post(.didChangeInAnotherProcess(nil))
        var heard: [StoreTransition] = []
        while let notice = await notices.next(), notice != .didChangeInAnotherProcess(nil) {
            if case .didChange(let transition) = notice { heard.append(transition) }
        }
        return heard
    }

    @Test("S-057: an opening tells of another container than at the last launch, once, with both files; each keeps its records")
    func changed() async throws {
        try await withDevices(1) { devices, _ in
            let alice = try AccountName("alice")
            let first = try await open(devices[0], "org.example.old")
            try await first.insert("old")
            try await first.settled()
            let old = first.file
            try await first.close()

            let second = try await open(devices[0], "org.example.new")
            let heard = await transitions(second)
            #expect(heard.map(\.kind) == [.containerChanged])
            #expect(heard.first?.removed == StoreLocation(place: .account(alice), file: old))
            #expect(heard.first?.added == StoreLocation(place: .fallback(alice), file: second.file))
            #expect(try await second.keys() == [])
            try await second.insert("new")
            try await second.settled()
            let new = second.file
            #expect(new != old)
            try await second.close()

            // The same again is nothing to tell, and the way back is.
            let third = try await open(devices[0], "org.example.new")
            #expect(await transitions(third).isEmpty)
            #expect(try await third.keys() == ["new"])
            try await third.close()
            let fourth = try await open(devices[0], "org.example.old")
            #expect(
                await transitions(fourth) == [
                    StoreTransition(
                        kind: .containerChanged, removed: StoreLocation(place: .account(alice), file: new),
                        added: StoreLocation(place: .account(alice), file: old))
                ])
            #expect(try await fourth.keys() == ["old"])
            try await fourth.close()
        }
    }

    @Test("S-057: where account and container have changed, the account's change is told, with the file in the former container")
    func both() async throws {
        try await withDevices(1) { devices, root in
            let first = try await open(devices[0], "org.example.old")
            try await first.settled()
            let old = first.file
            try await first.close()
            try devices[0].home.signIn(AccountName("bob"), containers: root)
            let second = try await open(devices[0], "org.example.new")
            let heard = await transitions(second)
            #expect(heard.map(\.kind) == [.accountAdded] && heard.first?.removed.file == old)
            try await second.close()
        }
    }

    @Test("S-057: what is saved while nobody is signed in goes along to another container, and nothing is told of it")
    func signedOut() async throws {
        try await withDevices(1) { devices, root in
            try devices[0].home.signOut()
            let first = try await open(devices[0], "org.example.old")
            try await first.insert("local")
            let file = first.file
            try await first.close()
            let second = try await open(devices[0], "org.example.new")
            #expect(await transitions(second).isEmpty)
            #expect(second.file == file)
            #expect(try await second.keys() == ["local"])
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await second.settled()
            #expect(try await second.keys() == ["local"])
            #expect(try await second.status().unpublished == 0)
            try await second.close()
            let logs = FileManager.default.enumerator(atPath: root.string)!.compactMap { $0 as? String }.filter { $0.hasSuffix(".ublog") }
            #expect(logs.count == 1 && logs.allSatisfy { $0.hasPrefix("alice/org.example.new/") }, "\(logs)")
        }
    }

    @Test("a note of an earlier version, which names no container, tells of no change")
    func noted() throws {
        let (alice, here) = (try AccountName("alice"), try ContainerIdentifier("org.example.new"))
        try FileManager.default.withNote("account alice\n") { store in
            let note = try #require(LastPlace(of: store).note)
            #expect(note == LastPlace.Note(place: .account(alice), container: nil))
            #expect(note.change(to: .account(alice), in: here) == nil)
            #expect(note.change(to: .local, in: here) == .accountRemoved)
            LastPlace(of: store).note(.fallback(alice), in: here)
            #expect(LastPlace(of: store).note == LastPlace.Note(place: .fallback(alice), container: here))
        }
    }

    @Test("a note that a loss of power has cut off counts as lost", arguments: ["", "account ali", "account alice"])
    func cutOff(text: String) throws {
        try FileManager.default.withNote(text) { store in #expect(LastPlace(of: store).note == nil) }
    }
}

extension FileManager {
    /// Runs a body with the path of a store beside which a note lies.
    fileprivate func withNote(_ text: String, _ body: (FilePath) throws -> Void) throws {
        let directory = FilePath(temporaryDirectory.path).appending("ubiquity-note-\(UUID().uuidString)")
        try createDirectory(atPath: directory.appending("CoreDataUbiquitySupport").string, withIntermediateDirectories: true)
        defer { try? removeItem(atPath: directory.string) }
        try Data(text.utf8).write(to: URL(filePath: directory.appending("CoreDataUbiquitySupport/People.sqlite-place").string))
        try body(directory.appending("People.sqlite"))
    }
}
