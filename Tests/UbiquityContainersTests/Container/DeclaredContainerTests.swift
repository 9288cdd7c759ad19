import Dispatch
import Foundation
import Synchronization
import SystemPackage
import Testing
import UbiquityTesting
import Waiting

@testable import UbiquityContainers

/// Containers that are looked up by their declaration.
struct DeclaredContainerTests {
    @Test("U-67: the URL of a container is nil while signed out, where it is not declared, and where its root is gone")
    func url() async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            let root = directory.appending("root")
            try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
            try home.signIn(AccountName("alice"), containers: root)
            let configuration = home.path.appending("config.json")
            func url(_ identifier: String?) async -> String? { await home.url(forUbiquityContainerIdentifier: identifier)?.path }
            #expect(await url("org.example.declared") == nil, "it is not declared")
            try Data(#"{"format":1,"containers":["org.example.declared","org.example.second"]}"#.utf8).write(to: URL(filePath: configuration.string))
            #expect(await url("org.example.declared") == root.appending("alice/org.example.declared").string)
            #expect(await url("org.example.second") == root.appending("alice/org.example.second").string)
            #expect(await url("org.example.other") == nil)
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: root.appending("alice").string).count == 2, "none is made that is not declared")
            try home.signOut()
            #expect(await url("org.example.declared") == nil)
            try home.signIn(AccountName("alice"))
            try FileManager.default.moveItem(atPath: root.string, toPath: directory.appending("away").string)
            #expect(await url("org.example.declared") == nil)
            #expect(!FileManager.default.fileExists(atPath: root.string))
        }
    }

    @Test("U-67, S-017: an app declares several containers in code; one is chosen by its identifier, and the first where none is named")
    func declaredInCode() async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            try home.signIn(AccountName("alice"))
            // What this process has declared stays so.
            try UbiquityContainer.declare("org.example.first", "org.example.next", "org.example.first")
            let declared = try UbiquityContainer.declared(in: home).map(\.description)
            #expect(declared == ["org.example.first", "org.example.next"])
            #expect(try await UbiquityContainer(home: home).identifier.description == "org.example.first")
            #expect(await home.url(forUbiquityContainerIdentifier: nil)?.lastPathComponent == "org.example.first")
            #expect(await home.url(forUbiquityContainerIdentifier: "org.example.next")?.lastPathComponent == "org.example.next")
            #expect(throws: ContainerError.self) { try UbiquityContainer.declare("org.example.third", "a/b") }
            #expect(try UbiquityContainer.declared(in: home).count == 2)
        }
    }

    @Test("U-66: who has looked up a container, and let it go, is notified of a sign-out and of a sign-in all the same", arguments: [true, false])
    func notifiedForGood(isSignedIn: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            try UbiquityContainer.declare("org.example.first")
            if isSignedIn { try home.signIn(AccountName("alice")) }
            #expect((await home.url(forUbiquityContainerIdentifier: "org.example.first") != nil) == isSignedIn)
            let isNoticed = Mutex(false)
            let observer = NotificationCenter.default.addObserver(forName: .ubiquityIdentityDidChange, object: nil, queue: nil) { notification in
                if notification.userInfo?["home"] as? String == home.path.string { isNoticed.withLock { $0 = true } }
            }
            defer { NotificationCenter.default.removeObserver(observer) }
            var isIn = isSignedIn
            while true {
                if isIn { try home.signOut() } else { try home.signIn(AccountName("alice")) }
                isIn.toggle()
                // Other tests look up containers of so many homes that the process, which keeps the last ones, may forget this one.
                try await until("a sign-out or sign-in is noticed, or the home forgotten") {
                    isNoticed.withLock { $0 } || IdentityMonitor.existing(for: home) == nil
                }
                if isNoticed.withLock({ $0 }) { break }
                _ = await home.url(forUbiquityContainerIdentifier: "org.example.first")
            }
        }
    }

    @Test("U-67: a container that is gone has no URL until somebody begins again in it, which nothing does by itself")
    func beginsAgain() async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            try UbiquityContainer.declare("org.example.first")
            try home.signIn(AccountName("alice"))
            let container = try await UbiquityContainer("org.example.first", home: home)
            try FileManager.default.createDirectory(atPath: container.documents.string, withIntermediateDirectories: false)
            try FileManager.default.removeItem(atPath: container.path.string)
            for _ in 0..<2 { #expect(await home.url(forUbiquityContainerIdentifier: "org.example.first") == nil) }
            #expect(!FileManager.default.fileExists(atPath: container.path.string))
            try await container.beginAgain()
            #expect(container.attachment() == .attached)
            #expect(await home.url(forUbiquityContainerIdentifier: "org.example.first") == container.url)
            #expect(try tree(below: container.path) == [".ubiquity", ".ubiquity/\(container.peer)"])
            // What is there stays, and one whose mark alone is gone gets it again.
            try Data("text".utf8).write(to: URL(filePath: container.path.appending("Letter.txt").string))
            try FileManager.default.removeItem(atPath: container.markDirectory.string)
            try await container.beginAgain()
            #expect(container.attachment() == .attached)
            #expect(FileManager.default.fileExists(atPath: container.path.appending("Letter.txt").string))
            // Not for somebody who is not signed in.
            try FileManager.default.removeItem(atPath: container.path.string)
            try home.signOut()
            await #expect { try await container.beginAgain() } throws: { ($0 as? ContainerError)?.code == .signedOut }
            #expect(!FileManager.default.fileExists(atPath: container.path.string))
        }
    }

    @Test("U-67: a container in a root that is gone does not begin again, and the root is not made")
    func beginsAgainWithoutRoot() async throws {
        try await withTemporaryDirectory { directory in
            let (home, root) = (DeviceHome(directory.appending("home")), directory.appending("root"))
            try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
            try home.signIn(AccountName("alice"), containers: root)
            let container = try await UbiquityContainer("org.example.first", home: home)
            try FileManager.default.removeItem(atPath: root.string)
            await #expect { try await container.beginAgain() } throws: { ($0 as? ContainerError)?.code == .rootUnavailable }
            #expect(!FileManager.default.fileExists(atPath: root.string))
        }
    }

    @Test("U-67: a container is found, and made, off the caller's path: the main actor goes on meanwhile, and Documents is left to the app")
    func offTheCallersPath() async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            try home.signIn(AccountName("alice"))
            let layer = HeldLayer()
            let finding = Task { @MainActor in try await UbiquityContainer("org.example.first", home: home, files: layer) }
            let container = try await within("the container", limit: .seconds(300)) { try await finding.value }
            #expect(layer.wasReleased.withLock { $0 } == true, "the main actor was held up with it")
            #expect(!FileManager.default.fileExists(atPath: container.documents.string))
        }
    }

    @Test(
        "a configuration that is damaged, newer, or names what is no container is refused with its path",
        arguments: [
            ("{", "malformed"), (#"{"format":2}"#, "newerFormat"), (#"{"format":1,"containers":["../x"]}"#, "invalidName"),
        ])
    func badConfiguration(text: String, code: String) async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            try home.signIn(AccountName("alice"))
            try Data(text.utf8).write(to: URL(filePath: home.path.appending("config.json").string))
            #expect { try UbiquityContainer.declared(in: home) } throws: { ($0 as? ContainerError)?.code.description == code }
            #expect(await home.url(forUbiquityContainerIdentifier: "org.example.declared") == nil)
        }
    }
}

/// Holds up the making of the first directory until the main actor has done something else.
private final class HeldLayer: KernelFileLayer {
    private let files = LinuxFileLayer()
    /// Whether the main actor went on in time; nil before.
    let wasReleased = Mutex<Bool?>(nil)
    private let hasBegun = Atomic(false)

    func makeDirectory(_ path: FilePath) throws(Errno) {
        if !hasBegun.exchange(true, ordering: .relaxed) {
            let goesOn = DispatchSemaphore(value: 0)
            // The main thread alone runs this, so it waits for no thread that other tests keep busy.
            DispatchQueue.main.async { goesOn.signal() }
            let isInTime = goesOn.wait(timeout: .now() + 240) == .success
            wasReleased.withLock { $0 = isInTime }
        }
        try files.makeDirectory(path)
    }
}
