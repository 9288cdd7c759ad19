import Foundation
import SystemPackage
import UbiquityTesting

/// A run: operations that follow from a seed, and what they come to.
struct History: Sendable {
    let seed: UInt64
    let peers: Int
    let schema: SimulatedSchema
    /// What it does, each with its number in the whole history.
    var operations: [(number: Int, operation: Operation)]

    /// A run.
    ///
    /// - Parameters:
    ///   - seed: everything follows from it.
    ///   - peers: how many peers begin.
    ///   - count: how many operations there are.
    ///   - isWide: whether the schema follows from the seed too, clocks are badly wrong, and devices join on the way.
    init(seed: UInt64, peers: Int, count: Int, isWide: Bool = false) {
        self.seed = seed
        self.peers = peers
        let schema = isWide ? RandomSchema.make(seed: seed) : .fixed
        self.schema = schema
        var random = SeededRandom(seed: seed)
        // Every second run of the fixed schema is about records that relate, few and close together.
        let writer = RandomWrite(world: isWide ? .random : seed.isMultiple(of: 2) ? .related : .all, schema: schema)
        operations = (0..<count).map { ($0, Operation.random(peers: peers, writer, &random)) }
    }

    /// Runs it, and says what is wrong at the end; nil where nothing is.
    func failure() async throws -> String? { try await outcome().failure }

    /// Runs it.
    ///
    /// - Parameter keeps: whether the devices' files stay where something is wrong; the failure says where.
    /// - Returns: what is wrong at the end, nil where nothing is; and the names of all files that are there then.
    /// - Throws: Foundation's error where the devices' directory cannot be made or removed.
    func outcome(keeps: Bool = false) async throws -> (failure: String?, files: [String]) {
        // Memory, not disk: a run is about order, not about durability.
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

    /// What kind of failure one is: its first words, without what differs from run to run.
    private static func kind(_ failure: String) -> String { String(failure.filter(\.isLetter).prefix(32)) }

    /// The shortest history found that fails alike, by leaving out ever smaller parts.
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
