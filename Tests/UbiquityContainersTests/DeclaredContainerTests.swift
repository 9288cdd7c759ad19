import Foundation
import SystemPackage
import Testing
import UbiquityContainers

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
