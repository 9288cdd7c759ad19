import Foundation
import SystemPackage
import UbiquityTesting

/// A run: operations that a seed determines, and their result.
struct History: Sendable {
    let seed: UInt64
    let peers: Int
    let schema: SimulatedSchema
    /// The operations, each with its number in the whole history.
    var operations: [(number: Int, operation: Operation)]

    /// Makes a run.
    ///
    /// - Parameters:
    ///   - seed: determines everything.
    ///   - peers: the initial number of peers.
    ///   - count: the number of operations.
    ///   - isWide: whether the seed also determines the schema, clocks are badly wrong, and devices join during the
    ///     run.
    init(seed: UInt64, peers: Int, count: Int, isWide: Bool = false) {
        self.seed = seed
        self.peers = peers
        let schema = isWide ? RandomSchema.make(seed: seed) : .fixed
        self.schema = schema
        var random = SeededRandom(seed: seed)
        // Every second run of the fixed schema uses few related records.
        let writer = RandomWrite(world: isWide ? .random : seed.isMultiple(of: 2) ? .related : .all, schema: schema)
        operations = (0..<count).map { ($0, Operation.random(peers: peers, writer, &random)) }
    }

    /// Runs the history, and returns the failure at the end; nil if there is none.
    func failure() async throws -> String? { try await outcome().failure }

    /// Runs the history.
    ///
    /// - Parameter keeps: whether to keep the devices' files after a failure; the failure names their directory.
    /// - Returns: the failure at the end, nil if there is none, and the names of all files at that time.
    /// - Throws: Foundation's error when the devices' directory cannot be created or removed.
    func outcome(keeps: Bool = false) async throws -> (failure: String?, files: [String]) {
        // The files are in memory, because a run tests order, not durability.
        let base = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : FileManager.default.temporaryDirectory.path
        let directory = FilePath(base).appending("ubiquity-simulate-\(UUID().uuidString)")
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        let outcome = await self.outcome(in: directory)
        if keeps, let failure = outcome.failure { return ("\(failure); see \(directory)", outcome.files) }
        try FileManager.default.removeItem(atPath: directory.string)
        return outcome
    }

    private func outcome(in directory: FilePath) async -> (failure: String?, files: [String]) {
        do {
            var run = try await Run(seed: seed, peers: peers, schema: schema, directory: directory)
            for (_, operation) in operations { try await run.perform(operation) }
            try await run.heal()
            if let difference = try await run.difference() { return (difference, []) }
            let files = try run.files()
            let aftermath = try await run.aftermath()
            try await run.close()
            return (aftermath, files)
        } catch {
            return ("an operation failed: \(error)", [])
        }
    }

    /// Returns the kind of a failure: its first words, without the parts that differ between runs.
    private static func kind(_ failure: String) -> String { String(failure.filter(\.isLetter).prefix(32)) }

    /// Returns the shortest history found with an equal kind of failure, by leaving out ever smaller parts.
    func shrunk(_ failure: String) async throws -> History {
        var best = self
        let kind = Self.kind(failure)
        var size = max(1, best.operations.count / 2)
        while true {
            var start = 0
            while start < best.operations.count {
                var candidate = best
                candidate.operations.removeSubrange(start..<min(start + size, candidate.operations.count))
                if try await candidate.failure().map(Self.kind) == kind {
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
