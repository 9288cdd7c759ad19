import Foundation
import SystemPackage
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
        // Every second run is about records that relate, few and close together.
        let world: Write.World = seed.isMultiple(of: 2) ? .related : .all
        operations = (0..<count).map { _ in Operation.random(peers: peers, world, &random) }
    }

    /// Runs it, and says what is wrong at the end; nil where nothing is.
    func failure() async throws -> String? { try await outcome().failure }

    /// Runs it.
    ///
    /// - Returns: what is wrong at the end, nil where nothing is; and the names of all files that are there then.
    func outcome() async throws -> (failure: String?, files: [String]) {
        // Memory, not disk: a run is about order, not about durability.
        let base = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : FileManager.default.temporaryDirectory.path
        let directory = FilePath(base).appending("ubiquity-simulate-\(UUID().uuidString)")
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        var run = try await Run(seed: seed, peers: peers, directory: directory)
        do {
            for operation in operations { try await run.perform(operation) }
            try await run.heal()
            let difference = try await run.difference()
            try await run.close()
            return (difference, try run.files())
        } catch {
            return ("an operation failed: \(error)", [])
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
