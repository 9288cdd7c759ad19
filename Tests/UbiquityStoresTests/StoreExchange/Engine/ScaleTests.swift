import Foundation
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreExchange
@testable import StoreRecords
@testable import UbiquityStores

/// What an exchange asks of the file system, however many peers and logs there are.
struct ScaleTests {
    @Test("as many logs cost as many reads from many peers as from one, and an exchange with nothing to do reads none", arguments: [1, 20])
    func manyPeers(peers: Int) async throws {
        try await withTemporaryDirectory { directory in
            let root = directory.appending("root")
            try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
            // Of half a megabyte each, so that they take several transactions.
            let logs = 40
            for peer in 0..<peers {
                let device = try TestDevice("writer\(peer)", in: directory, root: root)
                let store = try await device.open()
                for row in 0..<logs / peers {
                    try await store.execute("INSERT INTO person (id, age) VALUES ('\(peer)-\(row)', zeroblob(500000))")
                }
                try await store.publish()
                try await store.close()
            }
            let device = try TestDevice("reader", in: directory, root: root)
            let files = CountingFileLayer()
            let store = try await UbiquitousStore.open(
                at: device.directory.appending("People.sqlite"), options: .init(contentName: "People", exchangesAutomatically: false),
                in: UbiquityContainer("org.example.test", home: device.home, files: files), schema: personSchema)
            files.reset()
            try await store.settled()
            #expect(try await store.rows().count == logs)
            // Each batch may read one log that does not fit in it.
            #expect(files.reads <= logs + 6)
            // The content, of each peer its logs, baselines and receipts, and this store's own places; and once, how large the logs are.
            #expect(files.listings <= 4 * peers + 12)
            files.reset()
            try await store.settled()
            #expect(files.reads <= 1)
            #expect(files.listings <= 3 * peers + 12)
            try await store.close()
        }
    }
}

extension ScaleTests {
    /// What one save's exchange asks, in a store that has written some logs and read as many.
    private func cost(logs: Int) async throws -> [Int] {
        try await withTemporaryDirectory { directory in
            let root = directory.appending("root")
            try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
            let (writer, device) = (try TestDevice("writer", in: directory, root: root), try TestDevice("reader", in: directory, root: root))
            let files = CountingFileLayer()
            let store = try await UbiquitousStore.open(
                at: device.directory.appending("People.sqlite"), options: .init(contentName: "People", exchangesAutomatically: false),
                in: UbiquityContainer("org.example.test", home: device.home, files: files), schema: personSchema)
            let other = try await writer.open()
            for (index, store) in [store, other].enumerated() {
                for row in 0..<logs { try await store.execute("INSERT INTO person (id) VALUES ('\(index)-\(row)')") }
            }
            for store in [store, other, store, other, store] { try await store.settled() }
            files.reset()
            try await store.execute("INSERT INTO person (id) VALUES ('last')")
            // As it does by itself after a save.
            #expect(await store.current.runner.exchangeInBackground())
            let cost = [files.listings, files.names, files.reads, files.looks]
            #expect(try await store.status().unpublished == 0)
            return cost
        }
    }

    @Test("a save's exchange asks as much of the file system beside hundreds of logs as beside a few, and looks at none of them")
    func manyLogs() async throws {
        let few = try await cost(logs: 3)
        #expect(try await cost(logs: 120) == few)
        #expect(few[1] <= 20)
    }
}

/// The kernel's files, counted.
private final class CountingFileLayer: KernelFileLayer {
    private struct Counts {
        var listings = 0
        var names = 0
        var reads = 0
        var looks = 0
    }

    private let counts = Mutex(Counts())
    private let files = LinuxFileLayer()

    var listings: Int { counts.withLock { $0.listings } }
    var names: Int { counts.withLock { $0.names } }
    var reads: Int { counts.withLock { $0.reads } }
    /// How often it was asked what a file is, or how large.
    var looks: Int { counts.withLock { $0.looks } }
    func reset() { counts.withLock { $0 = Counts() } }

    func names(in directory: FilePath) throws(Errno) -> [String] {
        let names = try files.names(in: directory)
        counts.withLock {
            $0.listings += 1
            $0.names += names.count
        }
        return names
    }

    func read(_ file: FilePath, limit: Int) throws(Errno) -> [UInt8] {
        counts.withLock { $0.reads += 1 }
        return try files.read(file, limit: limit)
    }

    func size(of file: FilePath) throws(Errno) -> Int64 {
        counts.withLock { $0.looks += 1 }
        return try files.size(of: file)
    }

    func kind(of path: FilePath) throws(Errno) -> FileKind? {
        counts.withLock { $0.looks += 1 }
        return try files.kind(of: path)
    }
}
