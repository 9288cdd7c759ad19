import FileCoordination
import Foundation
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers

/// Items that are moved into a container, and out of it.
struct SetUbiquitousTests {
    private final class Presenter: FilePresenter {
        private let url: Mutex<URL?>
        init(_ url: URL) { self.url = Mutex(url) }
        var presentedItemURL: URL? { url.withLock { $0 } }
        func presentedItemDidMove(to newURL: URL) async { url.withLock { $0 = newURL } }
    }

    private func withContainer(_ body: (UbiquityContainer, FilePath) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            try home.signIn(AccountName("alice"))
            let container = try await UbiquityContainer("org.example.test", home: home)
            try FileManager.default.createDirectory(atPath: container.documents.string, withIntermediateDirectories: false)
            try await body(container, directory)
        }
    }

    @Test("U-69: an item is moved into a container and out again, and its presenter follows; nothing is made on the way, and nothing replaced")
    func moves() async throws {
        try await withContainer { container, directory in
            let local = URL(filePath: directory.appending("Letter.txt").string)
            let inside = container.url.appending(path: "Documents/Letter.txt")
            try Data("text".utf8).write(to: local)
            let presenter = Presenter(local)
            FileCoordinator.addFilePresenter(presenter)
            defer { FileCoordinator.removeFilePresenter(presenter) }

            await #expect {
                try await container.setUbiquitous(true, itemAt: local, destinationURL: container.url.appending(path: "No/Letter.txt"))
            } throws: {
                ($0 as? ContainerError)?.code == .fileSystem
            }
            #expect(!FileManager.default.fileExists(atPath: container.path.appending("No").string))
            try await container.setUbiquitous(true, itemAt: local, destinationURL: inside)
            #expect(try String(contentsOf: inside, encoding: .utf8) == "text")
            #expect(!FileManager.default.fileExists(atPath: local.path))
            #expect(container.isUbiquitousItem(at: inside) && !container.isUbiquitousItem(at: local))

            try Data("other".utf8).write(to: local)
            await #expect { try await container.setUbiquitous(false, itemAt: inside, destinationURL: local) } throws: {
                guard case CocoaError.fileWriteFileExists = $0 else { return false }
                return ($0 as? CocoaError)?.errorCode == 516 && ($0 as? CocoaError)?.filePath == local.path
            }
            await #expect(throws: CocoaError.self) { try await container.setUbiquitous(true, itemAt: local, destinationURL: inside) }
            #expect(try String(contentsOf: local, encoding: .utf8) == "other")
            try FileManager.default.removeItem(at: local)
            try await container.setUbiquitous(false, itemAt: inside, destinationURL: local)
            #expect(try String(contentsOf: local, encoding: .utf8) == "text")
            // The last message has been delivered once another access of the item is granted.
            try await FileCoordinator().read(local) { _ in }
            #expect(presenter.presentedItemURL?.path == local.path)
        }
    }

    @Test("U-69: a move waits for readers of the item and of its new place, into the container and out of it", arguments: [true, false])
    func waits(isUbiquitous: Bool) async throws {
        try await withContainer { container, directory in
            let outside = URL(filePath: directory.appending("Letter.txt").string)
            let inside = container.url.appending(path: "Documents/Letter.txt")
            let (source, target) = isUbiquitous ? (outside, inside) : (inside, outside)
            try Data("text".utf8).write(to: source)
            for url in [source, target] {
                try await FileCoordinator().read(url) { _ in
                    // On a task of its own, so that it is nested in nothing.
                    let move = Task.detached {
                        try await container.setUbiquitous(isUbiquitous, itemAt: source, destinationURL: target, deadline: .after(.milliseconds(1)))
                    }
                    await #expect { try await move.value } throws: { ($0 as? FileCoordinationError)?.code == .deadlineExceeded }
                }
                #expect(FileManager.default.fileExists(atPath: source.path) && !FileManager.default.fileExists(atPath: target.path))
            }
            try await container.setUbiquitous(isUbiquitous, itemAt: source, destinationURL: target)
            #expect(try String(contentsOf: target, encoding: .utf8) == "text")
            #expect(!FileManager.default.fileExists(atPath: source.path))
        }
    }

    @Test("U-69: what is not in the container cannot be taken out of it, and what is cannot be put in")
    func wrongPlaces() async throws {
        try await withContainer { container, directory in
            let (one, two) = (URL(filePath: directory.appending("a").string), URL(filePath: directory.appending("b").string))
            let inside = container.url.appending(path: "Documents/a")
            for (flag, from, to) in [
                (true, one, two), (false, one, inside), (true, inside, inside), (true, one, container.url.appending(path: "../x")),
            ] {
                await #expect { try await container.setUbiquitous(flag, itemAt: from, destinationURL: to) } throws: {
                    ($0 as? ContainerError)?.code == .invalidName
                }
            }
        }
    }

    @Test("U-69: between two file systems a directory arrives whole, and leaves no draft")
    func otherFileSystem() async throws {
        let shared = FilePath("/dev/shm/ubiquity-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(atPath: shared.string, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: shared.string) }
        try await withContainer { container, _ in
            let source = shared.appending("Folder")
            try FileManager.default.createDirectory(atPath: source.appending("deep").string, withIntermediateDirectories: true)
            try Data("text".utf8).write(to: URL(filePath: source.appending("deep/file").string))
            try await container.setUbiquitous(
                true, itemAt: URL(filePath: source.string), destinationURL: container.url.appending(path: "Documents/Folder"))
            #expect(try tree(below: container.documents) == ["Folder", "Folder/deep", "Folder/deep/file"])
            #expect(!FileManager.default.fileExists(atPath: source.string))
        }
    }

    @Test("U-70: an item is ubiquitous where it is meant for other devices, whether it has got there or not")
    func isUbiquitous() async throws {
        try await withContainer { container, directory in
            let expected = [
                "Documents/a": true, "Documents/x.nosync/a": false, "cache.nosync": false, "Data/a": true, ".ubiquity/a": false, "CoreData/a": false,
            ]
            for (name, isUbiquitous) in expected {
                #expect(container.isUbiquitousItem(at: container.url.appending(path: name)) == isUbiquitous, "\(name)")
            }
            #expect(!container.isUbiquitousItem(at: URL(filePath: directory.string)))
            #expect(!container.isUbiquitousItem(at: container.url))
        }
    }
}
