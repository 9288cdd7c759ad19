import FileCoordination
import Foundation
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

/// "Delete Documents & Data", on the device where it is done and on another.
struct WipedDevicesTests {
    /// Notes which deletions below it are announced.
    private final class Around: FilePresenter {
        let presentedItemURL: URL?
        let announced = Mutex<[String]>([])

        init(_ url: URL) { presentedItemURL = url }

        func accommodatePresentedSubitemDeletion(at url: URL) async throws {
            announced.withLock { $0.append(String(url.path.dropFirst(presentedItemURL!.path.count + 1))) }
        }
    }

    /// Notes each time it is asked whether its item is there.
    private final class Shown: FilePresenter {
        let presentedItemURL: URL?
        let found = Mutex<[Bool]>([])

        init(_ path: FilePath) { presentedItemURL = URL(filePath: path.string) }

        func accommodatePresentedItemDeletion() async throws {
            let isThere = presentedItemURL.map { FileManager.default.fileExists(atPath: $0.path) } ?? false
            found.withLock { $0.append(isThere) }
            // As an app does that closes what it shows.
            FileCoordinator.removeFilePresenter(self)
        }
    }

    private func write(_ names: String..., in container: UbiquityContainer) throws {
        for name in names {
            let url = URL(filePath: container.path.pushing(FilePath(name)).string)
            try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data("text".utf8).write(to: url)
        }
    }

    @Test("U-80: a wipe asks presenters, takes items out of queries on all devices, is made good by nobody, and leaves the identity")
    func everywhere() async throws {
        try await withSimulatedDevices { devices in
            let mac = try await devices.add("mac"), phone = try await devices.add("phone")
            let (first, second) = (try await mac.container(), try await phone.container())
            try write("Documents/a.txt", "Documents/Sub/b.txt", "Data/c.txt", in: first)
            try await devices.sync()
            let queries = [first, second].map { MetadataQuery($0, batchingInterval: .milliseconds(1)) { !$0.isDirectory } }
            var updates = queries.map { $0.updates.makeAsyncIterator() }
            for query in queries { query.start() }
            for index in queries.indices {
                while queries[index].isGathering || queries[index].results.count < 2 { _ = await updates[index].next() }
            }
            let tokens = try [mac, phone].map { try $0.home.ubiquityIdentityToken }
            let shown = Shown(first.documents.appending("Sub/b.txt"))
            FileCoordinator.addFilePresenter(shown)
            defer { FileCoordinator.removeFilePresenter(shown) }

            #expect(try await ContainerWipe.run(first).left == [])
            #expect(shown.found.withLock { $0 } == [true], "it is asked once, before its item is deleted")
            while !queries[0].results.isEmpty { _ = await updates[0].next() }
            try await devices.sync()
            while !queries[1].results.isEmpty { _ = await updates[1].next() }
            // Whoever looks the container up finds it as it was left.
            for device in [mac, phone] { #expect(try await device.container().attachment() == .attached) }
            try await devices.sync()
            let marks = [".ubiquity"] + [first.peer, second.peer].map { ".ubiquity/\($0)" }.sorted()
            for container in [first, second] { #expect(try tree(below: container.path).sorted() == marks) }
            #expect(try [mac, phone].map { try $0.home.ubiquityIdentityToken } == tokens)
        }
    }

    @Test("U-67: items in Documents are deleted one by one, the rest each as a whole; one that is deleted by itself detaches nothing")
    func oneByOne() async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            try home.signIn(AccountName("alice"))
            let container = try await UbiquityContainer("org.example.notes", home: home)
            try write("Documents/a.txt", "Documents/b.txt", "Documents/own.txt", "Data/c.txt", "Data/d.txt", in: container)
            try FileManager.default.removeItem(atPath: container.documents.appending("own.txt").string)
            #expect(container.attachment() == .attached && !container.isSuspended)
            let around = Around(container.url)
            FileCoordinator.addFilePresenter(around)
            defer { FileCoordinator.removeFilePresenter(around) }
            #expect(try await ContainerWipe.run(container).files == 4)
            #expect(around.announced.withLock { $0.sorted() } == ["Data", "Documents", "Documents/a.txt", "Documents/b.txt"])
            #expect(container.attachment() == .attached)
        }
    }
}
