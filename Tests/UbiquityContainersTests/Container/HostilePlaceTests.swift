import Foundation
import SystemPackage
import Testing

@testable import UbiquityContainers

@Suite("Containers in hostile places", .timeLimit(.minutes(40)))
struct HostilePlaceTests {
    private func withHome(_ body: (_ home: DeviceHome, _ root: FilePath, _ outside: FilePath) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            let root = directory.appending("root")
            let outside = directory.appending("outside")
            for path in [root, outside] { try FileManager.default.createDirectory(atPath: path.string, withIntermediateDirectories: true) }
            try home.signIn(AccountName("alice"), containers: root)
            try await body(home, root, outside)
        }
    }

    @Test("A link in the place of a container's directories is not followed: nothing is made or taken for ours behind it", arguments: 0..<3)
    func links(which: Int) async throws {
        try await withHome { home, root, outside in
            let container = root.appending("alice/org.example.notes")
            let place = [root.appending("alice"), container, container.appending(".ubiquity")][which]
            try FileManager.default.createDirectory(
                atPath: place.removingLastComponent().string, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(atPath: place.string, withDestinationPath: outside.string)
            await #expect {
                try await UbiquityContainer("org.example.notes", home: home)
            } throws: { error in
                let error = error as? ContainerError
                return error?.code == .fileSystem && error?.path == place && error?.cause as? Errno == .fileExists
            }
            #expect(try tree(below: outside).isEmpty)
        }
    }

    @Test("A container that was attached and is a link now is not used, though a mark lies behind the link")
    func replacedByLink() async throws {
        try await withHome { home, _, outside in
            let container = try await UbiquityContainer("org.example.notes", home: home)
            let moved = outside.appending("moved")
            try FileManager.default.moveItem(atPath: container.path.string, toPath: moved.string)
            try FileManager.default.createSymbolicLink(atPath: container.path.string, withDestinationPath: moved.string)
            #expect(container.attachment() == .detached(.unreadable(.notDirectory)))
            try FileManager.default.removeItem(atPath: container.path.string)
            try FileManager.default.moveItem(atPath: moved.string, toPath: container.path.string)
            #expect(container.attachment() == .attached)
            // The same of the marks' directory.
            let marks = outside.appending("marks")
            try FileManager.default.moveItem(atPath: container.markDirectory.string, toPath: marks.string)
            try FileManager.default.createSymbolicLink(atPath: container.markDirectory.string, withDestinationPath: marks.string)
            #expect(container.attachment() == .detached(.markGone))
        }
    }

    @Test("A containers root that has become a file is a clear error, and the file stays as it is")
    func fileAsRoot() async throws {
        try await withHome { home, root, _ in
            let container = try await UbiquityContainer("org.example.notes", home: home)
            try FileManager.default.removeItem(atPath: root.string)
            try Data("mine".utf8).write(to: URL(filePath: root.string))
            await #expect { try await UbiquityContainer("org.example.notes", home: home) } throws: { error in
                (error as? ContainerError)?.code == .rootUnavailable && "\(error)".contains("is not a directory")
            }
            #expect(container.attachment() == .detached(.rootGone))
            #expect(try String(contentsOfFile: root.string, encoding: .utf8) == "mine")
        }
    }

    @Test(
        "A mark that holds garbage, or comes from a newer version, is a mark still: that it is there is all that counts",
        arguments: ["", "{\"format\":99}", "\u{0}x"])
    func garbageMark(content: String) async throws {
        try await withHome { home, _, _ in
            let container = try await UbiquityContainer("org.example.notes", home: home)
            let mark = container.markDirectory.appending(container.peer.description)
            try Data(content.utf8).write(to: URL(filePath: mark.string))
            #expect(container.attachment() == .attached)
            let again = try await UbiquityContainer("org.example.notes", home: home)
            #expect(again.peer == container.peer)
            #expect(try Data(contentsOf: URL(filePath: mark.string)) == Data(content.utf8))
        }
    }
}
