import Foundation
import GRDB
import SystemPackage
import UbiquityContainers
import UbiquityStores
import UbiquityTesting

/// A run: operations that follow from a seed, and what they come to.
struct History: Sendable {
    let seed: UInt64
    let peers: Int
    var operations: [Operation]

    init(seed: UInt64, peers: Int, count: Int) {
        self.seed = seed
        self.peers = peers
        var random = SeededRandom(seed: seed)
        operations = (0..<count).map { _ in Operation.random(peers: peers, &random) }
    }

    /// Runs it, and says what is wrong at the end; nil where nothing is.
    func failure() async throws -> String? {
        // Memory, not disk: a run is about order, not about durability.
        let base = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : FileManager.default.temporaryDirectory.path
        let directory = FilePath(base).appending("ubiquity-simulate-\(UUID().uuidString)")
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        var run = try await Run(history: self, directory: directory)
        do {
            for operation in operations { try await run.perform(operation) }
            try await run.heal()
            return try await run.difference()
        } catch {
            return "an operation failed: \(error)"
        }
    }

    /// The shortest history found that fails too, by leaving out ever smaller parts.
    func shrunk() async throws -> History {
        var best = self
        var size = max(1, best.operations.count / 2)
        while true {
            var start = 0
            while start < best.operations.count {
                var candidate = best
                candidate.operations.removeSubrange(start..<min(start + size, candidate.operations.count))
                if try await candidate.failure() != nil {
                    best = candidate
                } else {
                    start += size
                }
            }
            if size == 1 { return best }
            size /= 2
        }
    }
}

/// The devices of a run and their stores.
private struct Run {
    private let devices: [SimulatedDevice]
    private var stores: [UbiquitousStore]
    private var synchroniser: FaultySynchroniser
    private let schema: SyncedSchema

    init(history: History, directory: FilePath) async throws {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in try db.execute(sql: Statements.create) }
        schema = SyncedSchema(migrator: migrator) { SyncedTable("item") }
        devices = try (0..<history.peers).map { try SimulatedDevice("device\($0)", in: directory) }
        stores = []
        for device in devices { stores.append(try await device.openStore(schema: schema)) }
        synchroniser = FaultySynchroniser(devices, seed: history.seed)
    }

    mutating func perform(_ operation: Operation) async throws {
        switch operation {
        case .save(let peer, let writes):
            try await stores[peer].write { db in for write in writes { try db.execute(sql: write.sql) } }
        case .foreignWrite(let peer, let writes):
            let other = try DatabaseQueue(path: stores[peer].file.string)
            try await other.write { db in for write in writes { try db.execute(sql: write.sql) } }
            try other.close()
        case .settle(let peer): try await stores[peer].settled()
        case .publish(let peer): try await stores[peer].publish()
        case .deliver(let source, let target, let count): try synchroniser.deliver(from: source, to: target, count: count)
        case .advance(let peer, let seconds): devices[peer].clock.advance(by: Double(seconds))
        case .reopen(let peer):
            try await stores[peer].close()
            stores[peer] = try await devices[peer].openStore(schema: schema)
        case .loseFile(let peer):
            // What was not published is lost with the file, and nobody can bring it back.
            try await stores[peer].publish()
            try await stores[peer].close()
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: stores[peer].file.string + suffix) }
            stores[peer] = try await devices[peer].openStore(schema: schema)
        }
    }

    /// Delivers everything, until each peer has read all.
    mutating func heal() async throws {
        for _ in 0..<3 {
            for store in stores { try await store.settled() }
            try synchroniser.deliverAll()
        }
        for store in stores { try await store.settled() }
    }

    /// What differs between peers, or from the model; nil where nothing does.
    func difference() async throws -> String? {
        var contents: [[String]] = []
        for (peer, store) in stores.enumerated() {
            let status = try await store.status()
            guard status.waiting.isEmpty, status.quarantined.isEmpty, status.unpublished == 0 else {
                return "peer \(peer) is not done: \(status.waiting) \(status.quarantined) \(status.unpublished)"
            }
            contents.append(
                try await store.read { db in
                    try String.fetchAll(
                        db, sql: "SELECT quote(id) || ': ' || quote(a) || ', ' || quote(b) || ', ' || quote(c) FROM item ORDER BY id")
                })
        }
        let expected = try LogModel(container: await devices[0].container().path, contentName: "Store").rows(columns: Statements.columns)
        for (peer, content) in contents.enumerated() where content != expected {
            return "peer \(peer) shows \(content), the logs say \(expected)"
        }
        return nil
    }
}
