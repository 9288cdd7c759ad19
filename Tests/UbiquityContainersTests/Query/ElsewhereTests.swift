import Foundation
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting
import Waiting

/// Items that only a transport knows.
@Suite(.timeLimit(.minutes(40)))
struct ElsewhereTests {
    /// A transport whose knowledge a test sets.
    private final class FakeTransport: Transport {
        let kind = TransportKind.syncthing
        let items = Mutex<[FilePath: ItemState]>([:])
        private let (stream, continuation) = AsyncStream.makeStream(of: TransportChange.self)

        func condition() async throws -> TransportCondition { TransportCondition(.syncthing) }
        func states(of asked: [FilePath]) async throws -> [FilePath: ItemState] {
            items.withLock { items in Dictionary(asked.map { ($0, items[$0] ?? ItemState(.current)) }) { $1 } }
        }
        func elsewhere(below directory: FilePath) async throws -> [FilePath: ItemState] {
            items.withLock { $0.filter { $0.key.starts(with: directory) } }
        }
        func published(in directory: FilePath) async {}
        func changes() -> AsyncStream<TransportChange> { stream }
        func tell(_ change: TransportChange) { continuation.yield(change) }
    }

    private func withContainer(_ body: (UbiquityContainer, FakeTransport) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            try home.signIn(AccountName("alice"))
            let container = try await UbiquityContainer("org.example.notes", home: home)
            try FileManager.default.createDirectory(atPath: container.documents.string, withIntermediateDirectories: true)
            try await body(container, FakeTransport())
        }
    }

    @Test("U-77: a query finds items that are only elsewhere, with their size; an item that arrives is the same result, and is here")
    func query() async throws {
        try await withContainer { container, transport in
            try Data("text".utf8).write(to: URL(filePath: container.documents.appending("Here.txt").string))
            let film = container.documents.appending("Films/Film.mp4")
            transport.items.withLock {
                $0[container.documents.appending("Films")] = ItemState(.notDownloaded, isDirectory: true)
                $0[film] = ItemState(.notDownloaded, size: 200_000_000)
                $0[container.path.appending("CoreData/Notes/x")] = ItemState(.notDownloaded, size: 1)
                $0[container.documents.appending(".hidden")] = ItemState(.notDownloaded, size: 1)
            }
            let query = MetadataQuery(container, batchingInterval: .zero, transport: { _ in transport }) { !$0.isDirectory }
            let updates = query.updates.limited("an update").makeAsyncIterator()
            query.start()
            transport.tell(.below(container.path))
            func results(_ isMeant: ([MetadataItem]) -> Bool) async throws -> [MetadataItem] {
                while let update = try await updates.next() { if isMeant(update.results) { return update.results } }
                throw CancellationError()
            }
            let found = try await results { $0.count == 2 && $0.allSatisfy { $0.state != nil } }
            #expect(found.map(\.path) == [film, container.documents.appending("Here.txt")])
            #expect(found.map(\.isHere) == [false, true] && found[0].size == 200_000_000)
            #expect(found.map(\.status) == [.notDownloaded, .current])

            transport.items.withLock { $0[film] = ItemState(.downloading, size: 200_000_000, progress: .init(done: 50_000_000, total: 200_000_000)) }
            transport.tell(.item(film))
            let moving = try await results { $0.first?.status == .downloading }
            #expect(moving[0].state?.progress?.fraction == 0.25 && !moving[0].isHere)

            // It arrives, and the transport forgets that it was missing.
            transport.items.withLock { $0 = [:] }
            try FileManager.default.createDirectory(atPath: container.documents.appending("Films").string, withIntermediateDirectories: true)
            try Data("film".utf8).write(to: URL(filePath: film.string))
            transport.tell(.item(film))
            let here = try await results { $0.first?.isHere == true && $0.first?.status == .current && $0.first?.size == 4 }
            #expect(here.map(\.path) == [film, container.documents.appending("Here.txt")] && here[0].size == 4)

            // What is removed on this device is gone, and not elsewhere.
            try FileManager.default.removeItem(atPath: film.string)
            _ = try await results { $0.map(\.path) == [container.documents.appending("Here.txt")] }
        }
    }

    @Test("U-77: an item that another device removes before it has arrived leaves the results")
    func removedElsewhere() async throws {
        try await withContainer { container, transport in
            let letter = container.documents.appending("Letter.txt")
            transport.items.withLock { $0[letter] = ItemState(.notDownloaded, size: 3) }
            let query = MetadataQuery(container, batchingInterval: .zero, transport: { _ in transport }) { _ in true }
            let updates = query.updates.limited("an update").makeAsyncIterator()
            query.start()
            transport.tell(.below(container.path))
            while let update = try await updates.next() { if update.results.map(\.path) == [letter] { break } }
            transport.items.withLock { $0 = [:] }
            transport.tell(.below(container.path))
            while let update = try await updates.next() { if update.results.isEmpty { break } }
        }
    }

    @Test("S-130: a listing has every item as current, elsewhere or waiting, on request with the files of stores and the hidden ones")
    func listing() async throws {
        try await withContainer { container, transport in
            let names = ["Documents/Here.txt", "Documents/.hidden", "CoreData/Notes/a.ublog"]
            for name in names {
                let path = container.path.pushing(FilePath(name))
                try FileManager.default.createDirectory(atPath: path.removingLastComponent().string, withIntermediateDirectories: true)
                try Data("text".utf8).write(to: URL(filePath: path.string))
            }
            transport.items.withLock {
                $0[container.path.appending("CoreData/Notes/a.ublog")] = ItemState(.waitingToUpload, size: 4)
                $0[container.path.appending("CoreData/Notes/b.ublog")] = ItemState(.notDownloaded, size: 9)
                $0[container.documents.appending("Film.mp4")] = ItemState(.notDownloaded, size: 7)
            }
            func lines(_ includesStores: Bool) async throws -> [String] {
                let listing = ItemListing(
                    of: [container.path], in: container.path, isRecursive: true, includesStores: includesStores, transport: transport)
                return try await listing.lines().filter { !$0.path.contains("/.ubiquity") && PathFacts(at: FilePath($0.path)).kind != .directory }.map
                {
                    "\($0.path.dropFirst(container.path.string.count + 1)) \($0.status) \($0.isHere)"
                }
            }
            let documents = ["Documents/.hidden current true", "Documents/Film.mp4 notDownloaded false", "Documents/Here.txt current true"]
            #expect(try await lines(false) == documents)
            #expect(
                try await lines(true) == ["CoreData/Notes/a.ublog waitingToUpload true", "CoreData/Notes/b.ublog notDownloaded false"] + documents)
        }
    }
}
