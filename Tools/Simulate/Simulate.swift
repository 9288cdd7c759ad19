import ArgumentParser
import Foundation
import SignedSimulation
import SystemPackage
import UbiquityStores
import UbiquityTesting

/// Runs peers that write randomly with a faulty synchroniser, and proves that they converge.
@main
struct Simulate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Run peers that write randomly with a faulty synchroniser, and prove that they converge.",
        discussion: """
            Each seed is one run, and repeats exactly, as the fingerprint of its files shows. After the run everything is delivered, and each \
            peer's content is compared completely with the others' and with a model's result from the logs. A failure prints the seed and the \
            shortest failing history found; exit status 1.

            With --signed, readers of a container with accounts get signed statements, logs and baselines in any order, among attackers who hold \
            keys. All must show the same, which is what all logs mean. With --without, a run lacks a rule; the exit status is 1 if that does \
            not show.

            With --places, accounts write a public container, its owner publishes it and is interrupted, and readers poll a faulty server. \
            Decisions repeat with a seed; keys and identifiers are new in each run.

            With --transfers, devices share nothing but a faulty cloud: their agents crash, containers and indices are lost, epochs begin.
            """,
        subcommands: [Upgrade.self]
    )

    @Option(help: "The number of peers.")
    var peers = 3

    @Option(help: "The number of operations in a run.")
    var operations = 60

    @Option(help: ArgumentHelp("The seeds, such as 1..100 or 7.", valueName: "a..b"))
    var seeds = "1..20"

    @Flag(
        help:
            "Each seed makes its own schema; clocks are wrong by decades, copies replace containers, and devices join during the run."
    )
    var schemas = false

    @Flag(help: "Continue after a failing seed, without shrinking.")
    var goesOn = false

    @Option(help: ArgumentHelp("Run only these operations of one seed, as a failure prints them.", valueName: "n,n,..."))
    var only: String?

    @Flag(help: "Keep the files of a failing seed, and print their directory; nothing is shrunk.")
    var keep = false

    @Flag(help: "Instead of seeds, every history of three writes of two peers, with one unique column and one child table.")
    var exhaustive = false

    @Option(help: ArgumentHelp("With --exhaustive, run only every n-th history.", valueName: "n"))
    var every = 1

    @Flag(help: "Instead of stores, containers with signed statements: accounts, stewards and attackers, over the rules alone.")
    var signed = false

    @Option(help: ArgumentHelp("With --signed, leave out a rule, or all in turn, to see that it is needed.", valueName: "rule"))
    var without: String?

    @Flag(help: "Instead of stores, public places: a publisher, and readers that poll a faulty server.")
    var places = false

    @Flag(help: "Instead of stores, transfer agents: devices that share nothing but a faulty cloud.")
    var transfers = false

    @Flag(help: "Instead of stores, documents that devices edit, delete and evict at the same time, over the rules alone.")
    var documents = false

    @Flag(help: "With --signed, --places, --transfers or --documents, print what happens in the one seed.")
    var trace = false

    func validate() throws {
        if !signed, without != nil { throw ValidationError("--without needs --signed.") }
        if !signed, !places, !transfers, !documents, trace { throw ValidationError("--trace needs --signed, --places, --transfers or --documents.") }
        if [signed, places, transfers, documents].count(where: \.self) > 1 {
            throw ValidationError("--signed, --places, --transfers and --documents are different simulations; choose one.")
        }
        if SignedCommand.rules(without) == nil {
            throw ValidationError("“\(without ?? "")” is no rule; these are: \(SignedRule.allCases.map(\.rawValue).joined(separator: ", ")), or all.")
        }
        if trace, range?.count != 1 { throw ValidationError("--trace takes one seed, such as --seeds 7.") }
        if every < 1 { throw ValidationError("--every takes a number from 1.") }
        if peers < 2 || operations < 1 { throw ValidationError("At least two peers and one operation are needed.") }
        if let only, only.split(separator: ",").contains(where: { Int($0) == nil }) || range?.count != 1 {
            throw ValidationError("--only takes the numbers of some operations of one seed, such as --seeds 7 --only 3,12.")
        }
        if range == nil { throw ValidationError("“\(seeds)” is not a range of seeds; give one like 1..100.") }
    }

    private var range: ClosedRange<UInt64>? {
        let ends = seeds.split(separator: ".", omittingEmptySubsequences: true).map { UInt64($0) }
        guard let first = ends.first ?? nil, let last = ends.last ?? nil, ends.count <= 2, first <= last else { return nil }
        return first...last
    }

    /// The operations to run; nil for all.
    private var numbers: Set<Int>? { only.map { Set($0.split(separator: ",").compactMap { Int($0) }) } }

    func run() async throws {
        if signed {
            guard SignedCommand(seeds: range!, without: SignedCommand.rules(without)!, traces: trace).run() else { throw ExitCode(1) }
            return
        }
        if places {
            guard await PlaceCommand(seeds: range!, turns: operations, traces: trace).run() else { throw ExitCode(1) }
            return
        }
        if transfers {
            guard await TransferSeeds(seeds: range!, operations: operations, traces: trace).run() else { throw ExitCode(1) }
            return
        }
        if documents {
            guard DocumentSeeds(seeds: range!, operations: operations, traces: trace).run() else { throw ExitCode(1) }
            return
        }
        let start = ContinuousClock.now
        if exhaustive {
            let count = try await Exhaustive(every: every).run()
            return print("\(count) histories of two peers: all converged, in \((ContinuousClock.now - start).formatted(.units(allowed: [.seconds])))")
        }
        var fingerprint = ContentHash(of: [])
        var failed: [UInt64] = []
        for seed in range! {
            var history = History(seed: seed, peers: peers, count: operations, isWide: schemas)
            if let numbers { history.operations.removeAll { !numbers.contains($0.number) } }
            let (failure, files) = try await history.outcome(keeps: keep)
            fingerprint = ContentHash(of: Array((["\(fingerprint)"] + files).joined(separator: "\n").utf8))
            guard let failure else { continue }
            if goesOn || keep {
                FileHandle.standardOutput.write(Data("seed \(seed): \(failure)\n".utf8))
                failed.append(seed)
                continue
            }
            FileHandle.standardError.write(Data("seed \(seed) failed; shrinking its history\n".utf8))
            let shortest = try await history.shrunk(failure)
            print("seed \(seed): \(failure)")
            if schemas {
                for step in 1...history.schema.versions {
                    print("version \(step) of the schema:")
                    for statement in history.schema.tables.flatMap({ $0.statements(ofVersion: step) }) { print("  \(statement)") }
                }
                for table in history.schema.tables { print("  \(table.synced(version: history.schema.versions))") }
            }
            print("shrunk from \(history.operations.count) to \(shortest.operations.count) operations:")
            for (number, operation) in shortest.operations { print("  \(number): \(operation)") }
            let shown = shortest.operations.map { String($0.number) }.joined(separator: ",")
            print(
                "to repeat it: \(schemas ? "--schemas " : "")--seeds \(seed) --peers \(peers) --operations \(operations) --only \(shown)")
            if let failure = try await shortest.failure() { print("  → \(failure)") }
            throw ExitCode(1)
        }
        let duration = ContinuousClock.now - start
        guard failed.isEmpty else {
            print("\(failed.count) of \(range!.count) seeds failed: \(failed.map(String.init).joined(separator: ", "))")
            throw ExitCode(1)
        }
        print(
            "\(range!.count) seeds\(schemas ? " and schemas" : "") of \(peers) peers and \(operations) operations: all converged, in \(duration.formatted(.units(allowed: [.seconds]))); fingerprint \("\(fingerprint)".prefix(16))"
        )
    }
}
