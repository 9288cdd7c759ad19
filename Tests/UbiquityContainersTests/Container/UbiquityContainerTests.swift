import Foundation
import SystemPackage
import Testing
import UbiquityContainers

struct UbiquityContainerTests {
    private func withHome(_ body: (DeviceHome, FilePath) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let root = directory.appending("root")
            try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
            let home = DeviceHome(directory.appending("home"))
            try home.signIn(AccountName("alice"), containers: root)
            try await body(home, root)
        }
    }

    @Test("a container lies at root, account, identifier, and holds this peer's mark and nothing else")
    func layout() async throws {
        try await withHome { home, root in
            let container = try await UbiquityContainer("org.example.notes", home: home)
            #expect(container.path == root.appending("alice/org.example.notes"))
            #expect(container.peer.description.hasPrefix("alice~"))
            #expect(try tree(below: container.path) == [".ubiquity", ".ubiquity/\(container.peer)"])
            #expect(container.attachment() == .attached)
            let again = try await UbiquityContainer("org.example.notes", home: home)
            #expect(again.peer == container.peer)
        }
    }

    @Test("an identifier stands for the signed-in account's container; a path, and an identifier that it has not, stand for themselves")
    func names() async throws {
        try await withHome { home, root in
            let container = try await UbiquityContainer("org.example.notes", home: home)
            #expect(KnownContainer.path(named: "org.example.notes", in: home) == container.path)
            for text in ["org.example.none", "./org.example.notes", ""] {
                #expect(KnownContainer.path(named: text, in: home) == FilePath(text))
            }
            try home.signOut()
            #expect(KnownContainer.path(named: "org.example.notes", in: home) == "org.example.notes")
        }
    }

    @Test("looking up a container while signed out says how to sign in")
    func signedOut() async throws {
        try await withTemporaryDirectory { directory in
            await #expect {
                try await UbiquityContainer("org.example.notes", home: DeviceHome(directory))
            } throws: { error in
                (error as? ContainerError)?.code == .signedOut && String(describing: error).contains("ubcontrol sign-in")
            }
        }
    }

    @Test("a container that is gone is never made again by the peer that was attached to it")
    func neverRecreated() async throws {
        try await withHome { home, root in
            let container = try await UbiquityContainer("org.example.notes", home: home)
            try FileManager.default.removeItem(atPath: container.path.string)
            #expect(container.attachment() == .detached(.containerGone))
            let again = try await UbiquityContainer("org.example.notes", home: home)
            #expect(again.attachment() == .detached(.containerGone))
            #expect(!FileManager.default.fileExists(atPath: container.path.string))
            try FileManager.default.createDirectory(atPath: container.path.string, withIntermediateDirectories: true)
            #expect(again.attachment() == .detached(.markGone))
            try FileManager.default.removeItem(atPath: root.string)
            #expect(again.attachment() == .detached(.rootGone))
        }
    }

    @Test("a container that was left below another root is asked for by name, and found again once it is moved")
    func movedRoot() async throws {
        try await withHome { home, root in
            let container = try await UbiquityContainer("org.example.notes", home: home)
            let other = root.removingLastComponent().appending("other")
            try FileManager.default.createDirectory(atPath: other.appending("alice").string, withIntermediateDirectories: true)
            try home.signIn(AccountName("alice"), containers: other)
            await #expect {
                try await UbiquityContainer("org.example.notes", home: home)
            } throws: { String(describing: $0).contains("move it to \(other)") }
            let place = other.appending("alice/org.example.notes")
            try FileManager.default.moveItem(atPath: container.path.string, toPath: place.string)
            let moved = try await UbiquityContainer("org.example.notes", home: home)
            #expect(moved.path == place && moved.attachment() == .attached && moved.peer == container.peer)
        }
    }

    @Test("a missing containers root is an error with its path, and is not made")
    func missingRoot() async throws {
        try await withHome { home, root in
            try FileManager.default.removeItem(atPath: root.string)
            await #expect {
                try await UbiquityContainer("org.example.notes", home: home)
            } throws: { error in
                (error as? ContainerError)?.code == .rootUnavailable && (error as? ContainerError)?.path == root
            }
            #expect(!FileManager.default.fileExists(atPath: root.string))
        }
    }

    @Test("a container identifier that cannot stand in a path is refused", arguments: ["", "..", "a/b", ".x", "ü", "a b", "x.nosync"])
    func hostileIdentifiers(identifier: String) {
        #expect { try ContainerIdentifier(identifier) } throws: { ($0 as? ContainerError)?.code == .invalidName }
    }

    @Test(
        "a peer's name is read in its one spelling only",
        arguments: [
            ("alice~0785bf93-b82f-4b53-9fa1-b45b2ee096c3", true), ("a~b~0785bf93-b82f-4b53-9fa1-b45b2ee096c3", true),
            ("alice~0785BF93-b82f-4b53-9fa1-b45b2ee096c3", false), ("~0785bf93-b82f-4b53-9fa1-b45b2ee096c3", false), ("alice~", false),
            ("alice~0785bf93-b82f-4b53-9fa1-b45b2ee096c3.sync-conflict-20261121-070000-ABCDEFG", false),
        ])
    func peerNames(name: String, isPeer: Bool) {
        #expect((PeerIdentifier(name)?.description == name) == isPeer)
    }

    @Test(
        "other programs' files are known by their names",
        arguments: [
            (".syncthing.x.ublog.tmp", true), ("~syncthing~x.tmp", true), (".stfolder", true), ("a.sync-conflict-20261121-070000-ABCDEFG.txt", true),
            (".nfs0001", true), (".x.ublog.aB3dE6", true), ("000000000001.ab.ublog", false), (".ubiquity", false), ("Notes", false),
        ])
    func foreignNames(name: String, isForeign: Bool) {
        #expect(ForeignNames.matches(name) == isForeign)
    }
}
