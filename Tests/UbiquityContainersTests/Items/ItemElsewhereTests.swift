import FileCoordination
import Foundation
import SystemPackage
import Testing
import UbiquityContainers
import Waiting

/// Items whose bytes are elsewhere, on a device on which nobody fetches them.
struct ItemElsewhereTests {
    private let modified = Date(timeIntervalSince1970: 1_772_366_400.25)

    /// A container with a placeholder for `Documents/Letter.txt`.
    private func withPlaceholder(_ body: (UbiquityContainer, URL) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            try home.signIn(AccountName("alice"))
            let container = try await UbiquityContainer("org.example.notes", home: home)
            try FileManager.default.createDirectory(atPath: container.documents.string, withIntermediateDirectories: true)
            let letter = container.documents.appending("Letter.txt")
            let placeholder = Placeholder(
                name: "Letter.txt", size: 4, sha256: String(repeating: "a", count: 64), modified: modified, isPackage: false, isEvicted: true)
            try Data(placeholder.encoded).write(to: URL(filePath: Placeholder.path(of: letter).string))
            try await body(container, URL(filePath: letter.string))
        }
    }

    @Test("U-71: where no cloud carries the container, eviction and download fail with an error; an item that is here needs no download")
    func withoutCloud() async throws {
        try await withPlaceholder { container, letter in
            let here = container.url.appending(path: "Documents/Here.txt")
            try Data("text".utf8).write(to: here)
            try await container.startDownloading(here)
            try await container.download(here)
            for call in [container.startDownloading, container.download] {
                await #expect { try await call(letter) } throws: { ($0 as? ContainerError)?.code == .notAvailable && "\($0)".contains(letter.path) }
            }
            await #expect { try await container.evict(here) } throws: { ($0 as? ContainerError)?.code == .notAvailable }
            #expect(try String(contentsOf: here, encoding: .utf8) == "text")
        }
    }

    @Test("U-71: where no agent runs, eviction and download fail with the command that starts it, and change nothing")
    func withoutAgent() async throws {
        try await withPlaceholder { container, letter in
            try HomeSettings(container.home).configure(["transport": "cloud"])
            let here = container.url.appending(path: "Documents/Here.txt")
            try Data("text".utf8).write(to: here)
            let before = try tree(below: container.documents)
            func fails(_ body: () async throws -> Void) async {
                await #expect { try await body() } throws: { error in
                    (error as? ContainerError)?.code == .notAvailable && "\(error)".contains("systemctl --user start ubtransfer")
                }
            }
            await fails { try await container.startDownloading(letter) }
            await fails { try await container.download(letter) }
            await fails { try await container.evict(here) }
            #expect(try tree(below: container.documents) == before)
            #expect(try String(contentsOf: here, encoding: .utf8) == "text")
        }
    }

    @Test("U-72: of an item that is elsewhere a read fails with the reason; a read of metadata and a write do not wait")
    func accesses() async throws {
        try await withPlaceholder { _, letter in
            await #expect { try await FileCoordinator().read(letter) { _ in Issue.record("there is nothing to read") } } throws: { error in
                (error as? FileCoordinationError)?.code == .downloadFailed && "\(error)".contains("no transfer agent runs")
                    && "\(error)".contains(letter.path)
            }
            let isThere = try await FileCoordinator().read(letter, options: .immediatelyAvailableMetadataOnly) { url in
                FileManager.default.fileExists(atPath: url.path)
            }
            #expect(!isThere)
            try await FileCoordinator().write(letter) { try Data("new".utf8).write(to: $0) }
            // What was written is here, and is read without anybody.
            #expect(try await FileCoordinator().read(letter) { try String(contentsOf: $0, encoding: .utf8) } == "new")
        }
    }

    @Test("U-74: only the hidden placeholder is in the item's directory, and a new file of the item's name holds only what is written to it")
    func freeName() async throws {
        try await withPlaceholder { container, letter in
            let names = try tree(below: container.documents)
            #expect(names.count == 1 && names.allSatisfy { $0.hasPrefix(".") && $0 != "Letter.txt" })
            #expect(throws: (any Error).self) { try Data(contentsOf: letter) }
            let standing = try #require(Placeholder.standing(for: FilePath(letter.path)))
            #expect(standing.name == "Letter.txt" && standing.size == 4 && standing.modified == modified)
            // It fails if anything has the name.
            try Data("mine".utf8).write(to: letter, options: .withoutOverwriting)
            #expect(Placeholder.standing(for: FilePath(letter.path)) == nil)
            #expect(try await container.resourceValues(of: letter)?.isHere == true)
        }
    }

    @Test("U-75: name, size, time and status of an item are told without fetching it, while somebody else writes it")
    func values() async throws {
        try await withPlaceholder { container, letter in
            let values = try await FileCoordinator().write(letter) { url in
                // On a task of its own, so that it is nested in nothing.
                try await within("the values") { try await Task.detached { try await container.resourceValues(of: url) }.value }
            }
            let told = try #require(values)
            #expect(told.name == "Letter.txt" && told.fileSize == 4 && told.contentModificationDate == modified && !told.isDirectory)
            #expect(told.ubiquitousItemDownloadingStatus == .notDownloaded && !told.isHere && told.isUbiquitousItem)
            #expect(!FileManager.default.fileExists(atPath: letter.path))
            #expect(try await container.resourceValues(of: container.url.appending(path: "Documents/None.txt")) == nil)
        }
    }
}
