import Foundation
import SystemPackage
import Testing
import UbiquityContainers

/// The list of stores in the device home.
struct KnownStoreTests {
    private func withHome(_ body: (DeviceHome, FilePath) throws -> Void) throws {
        let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-test-\(UUID().uuidString)")
        let home = directory.appending("home")
        try FileManager.default.createDirectory(atPath: home.string, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        try body(DeviceHome(home), home.appending("stores"))
    }

    private func store(_ name: String) throws -> KnownStore {
        KnownStore(path: FilePath("/home/ann/\(name).sqlite"), content: name, container: try ContainerIdentifier("org.example.\(name)"))
    }

    @Test("a store that is noted is known from then on, and is written only where no file says the same")
    func noted() throws {
        try withHome { home, directory in
            #expect(home.knownStores.isEmpty)
            try home.note(store("notes"))
            try home.note(store("people"))
            #expect(home.knownStores == [try store("notes"), try store("people")])
            func inodes() throws -> [String: Int?] {
                let names = try FileManager.default.contentsOfDirectory(atPath: directory.string)
                return try Dictionary(
                    uniqueKeysWithValues: names.map {
                        ($0, try FileManager.default.attributesOfItem(atPath: directory.appending($0).string)[.systemFileNumber] as? Int)
                    })
            }
            let before = try inodes()
            try home.note(store("notes"))
            #expect(try inodes() == before && before.count == 2)
        }
    }

    @Test("a content name stands for each store of that name; a path, and a name that nothing has, stand for themselves")
    func names() throws {
        try withHome { home, _ in
            let other = KnownStore(path: "/home/ann/copy.sqlite", content: "notes", container: try ContainerIdentifier("org.example.copy"))
            try home.note(store("notes"))
            #expect(KnownStore.paths(named: "notes", in: home) == ["/home/ann/notes.sqlite"])
            home.note(other)
            #expect(KnownStore.paths(named: "notes", in: home) == ["/home/ann/copy.sqlite", "/home/ann/notes.sqlite"])
            for text in ["./notes", "nothing", "Notes", ""] { #expect(KnownStore.paths(named: text, in: home) == [FilePath(text)]) }
            #expect(KnownStore.paths(named: "notes", in: nil) == ["notes"])
        }
    }

    @Test("what a crash or somebody else has left in the list is passed over, and a damaged entry is written anew")
    func damaged() throws {
        try withHome { home, directory in
            try home.note(store("notes"))
            let file = directory.appending(try #require(try FileManager.default.contentsOfDirectory(atPath: directory.string).first))
            try Data("{".utf8).write(to: URL(filePath: file.string))
            try Data("{".utf8).write(to: URL(filePath: directory.appending(".draft.json").string))
            #expect(home.knownStores.isEmpty)
            try home.note(store("notes"))
            #expect(home.knownStores == [try store("notes")])
        }
    }

    @Test("a device home that is not there is not made for a store, and one that cannot be written is no obstacle")
    func absent() throws {
        try withHome { home, directory in
            try Data().write(to: URL(filePath: directory.string))
            try home.note(store("notes"))
            let other = DeviceHome(home.path.appending("none"))
            try other.note(store("notes"))
            #expect(other.knownStores.isEmpty && !FileManager.default.fileExists(atPath: other.path.string))
        }
    }
}
