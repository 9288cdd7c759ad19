import Foundation
import Glibc
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import Waiting

/// What it costs to list a container with 10,000 items of which few are here, by counting.
struct ManyItemsTests {
    /// A directory's transport that counts the items of which it is asked.
    private final class CountingTransport: Transport {
        let base: DirectoryTransport
        let asked = Mutex(0)
        let kind = TransportKind.directory

        init(_ container: UbiquityContainer) { base = DirectoryTransport(container) }

        func condition() async throws -> TransportCondition { try await base.condition() }
        func states(of items: [FilePath]) async throws -> [FilePath: ItemState] {
            asked.withLock { $0 += items.count }
            return try await base.states(of: items)
        }
        func elsewhere(below directory: FilePath) async throws -> [FilePath: ItemState] { try await base.elsewhere(below: directory) }
        func published(in directory: FilePath) async {}
        func changes() -> AsyncStream<TransportChange> { base.changes() }
    }

    /// Makes 100 directories with 100 documents each, of which five are here.
    private func withItems(_ body: (UbiquityContainer, [FilePath]) async throws -> Void) async throws {
        let top = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-items-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(atPath: top.string) }
        let home = DeviceHome(top.appending("home"))
        try home.signIn(AccountName("alice"))
        let container = try await UbiquityContainer("org.example.notes", home: home)
        let folders = (0..<100).map { container.documents.appending("\($0)") }
        // Links are made much faster than files, and a placeholder that was moved stands for what its own name says.
        let hash = String(repeating: "a", count: 64)
        let placeholder = Placeholder(name: "Document.txt", size: 4, sha256: hash, modified: Date(), isPackage: false, isEvicted: false)
        let (text, elsewhere) = (top.appending("text"), top.appending("elsewhere"))
        try Data("text".utf8).write(to: URL(filePath: text.string))
        try Data(placeholder.encoded).write(to: URL(filePath: elsewhere.string))
        for folder in folders {
            try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: true)
            for number in 0..<100 {
                let item = folder.appending("\(number).txt")
                let isHere = number % 20 == 0
                try #require(link((isHere ? text : elsewhere).string, (isHere ? item : Placeholder.path(of: item)).string) == 0)
            }
        }
        try await body(container, folders)
    }

    @Test("K-12: a listing of 100 of 10,000 items reads these and no others, and one of all reads no placeholder more often")
    func listings() async throws {
        try await withItems { container, folders in
            let (one, others) = (try Opens(of: [folders[7]]), try Opens(of: folders.filter { $0 != folders[7] }))
            func isProportional(_ count: Int, directories: Int) -> Bool { (directories * 95...directories * 200).contains(count) }
            let transport = CountingTransport(container)
            let few = try await ItemListing(of: [folders[7]], in: container.path, isRecursive: true, transport: transport).lines()
            #expect(few.count == 101 && few.count(where: \.isHere) == 6)
            // 95 placeholders, once to find them and once for their states.
            var count = one.count
            #expect(isProportional(count, directories: 1) && others.count == 0, "\(count)")
            #expect(transport.asked.withLock { $0 } == 101)
            // A watch of all would miss what the kernel's queue has no room for.
            let some = try Opens(of: Array(folders.prefix(20)))
            let all = try await ItemListing(of: [container.documents], in: container.path, isRecursive: true, transport: transport).lines()
            #expect(all.count == 10_101 && all.count(where: \.isHere) == 601)
            count = some.count
            #expect(isProportional(count, directories: 20), "\(count)")
            #expect(transport.asked.withLock { $0 } == 101 + 10_101)
        }
    }

    @Test("K-12, U-77: a query of 10,000 items of which few are here reads no placeholder more than twice")
    func query() async throws {
        try await withItems { container, folders in
            let opens = try Opens(of: Array(folders.prefix(20)))
            let query = MetadataQuery(container, batchingInterval: .zero) { !$0.isDirectory }
            let updates = query.updates.limited("the gathering").makeAsyncIterator()
            query.start()
            while let update = try await updates.next() {
                guard update.kind == .gatheringFinished else { continue }
                #expect(update.results.count == 10_000 && update.results.count(where: \.isHere) == 500)
                break
            }
            query.stop()
            let count = opens.count
            #expect((20 * 95...20 * 200).contains(count), "\(count)")
        }
    }
}
