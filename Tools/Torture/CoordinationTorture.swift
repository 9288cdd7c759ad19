import ArgumentParser
import FileCoordination
import Foundation
import SystemPackage

/// Makes random coordinated accesses from many tasks and threads.
struct CoordinationTorture: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coordination",
        abstract: "Random reads, writes, moves, deletions and cancellations, with presenters; checked from the trace.",
        discussion: """
            The accesses run in one process, or in eight with a broker; the processes and the broker are killed and stopped randomly, in rounds of \
            ten seconds.

            Proves from the trace that no writer overlapped a conflicting access, that every presenter's messages arrived in order, and that no \
            claim was overtaken or starved; and from the files that no write was lost. Exit status 1 if anything failed.
            """)

    @Flag(help: "Run everything in this process, without a broker.")
    var inProcess = false

    @Option(help: ArgumentHelp("The number of processes.", valueName: "count"))
    var processes = 8

    @Option(help: ArgumentHelp("How long.", valueName: "minutes"))
    var minutes = 1.0

    @Option(help: ArgumentHelp("Replays the choices of a run, though not the scheduler's; random by default.", valueName: "number"))
    var seed: UInt64?

    @Option(help: ArgumentHelp("The number of tasks; a quarter of this number of threads is added.", valueName: "count"))
    var workers = 16

    @Flag(help: "Print one JSON object.")
    var json = false

    func validate() throws {
        guard minutes > 0, workers > 0, processes > 0 else {
            throw ValidationError("--minutes, --workers and --processes must be above zero.")
        }
    }

    func run() async throws {
        let seed = seed ?? .random(in: 0...9_999_999)
        guard inProcess else { return try await runProcesses(seed: seed) }
        if !json { print("seed \(seed), \(minutes) minutes, \(workers) tasks, \(max(1, workers / 4)) threads") }
        let directory = FileManager.default.temporaryDirectory.appending(path: "coordination-torture-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let checker = TraceChecker()
        let client = CoordinationClient { event, actions in if let event { checker.see(event, actions) } }
        let scene = Scene(directory: directory.resolvingSymlinksInPath(), client: client, checker: checker)
        let isOver = await run(scene, checker, seed: seed)
        checker.finish(isOver ? scene.sumOfFiles() : nil)
        try report(checker.summary, seed: seed)
    }

    /// Runs processes in rounds.
    private func runProcesses(seed: UInt64) async throws {
        if !json { say("seed \(seed), \(minutes) minutes, \(processes) processes") }
        let directory = FilePath("/tmp/coordination-torture-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        guard let program = BrokerStarter.program() else { throw ValidationError("ubiquityd is not beside this program. Build it first.") }
        var torture = ProcessTorture(processes: processes, directory: directory, program: program, seed: seed)
        var total = TraceChecker.Summary()
        let end = ContinuousClock.now + .seconds(minutes * 60)
        while ContinuousClock.now < end, total.violations.isEmpty {
            total.add(try await torture.round(min(10, max(2, (end - ContinuousClock.now) / .seconds(1)))))
            let tally = torture.tally
            guard !json, tally.rounds % 10 == 0 || !total.violations.isEmpty else { continue }
            say("round \(tally.rounds): \(total.granted) granted, \(total.increments) increments, \(total.violations.count) violations")
        }
        let tally = torture.tally
        if !json {
            say(
                "\(tally.rounds) rounds; killed \(tally.killedWorkers) processes and \(tally.killedBrokers) brokers, stopped \(tally.stops) processes"
            )
        }
        try report(total, seed: seed)
    }

    /// Prints a line at once.
    private func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

    /// Runs the workers.
    ///
    /// - Returns: whether all of them ended; when nothing has happened for half a minute, the rest are given up.
    private func run(_ scene: Scene, _ checker: TraceChecker, seed: UInt64) async -> Bool {
        let end = ContinuousClock.now + .seconds(minutes * 60)
        let count = workers
        let (done, report) = AsyncStream<Bool>.makeStream()
        let work = Task {
            await withTaskGroup(of: Void.self) { group in
                for index in 0..<count { group.addTask { await Worker(scene, seed: seed, index: index).run(until: end) } }
                for index in 0..<max(1, count / 4) { group.addTask { await Worker(scene, seed: seed, index: 1000 + index).runOnThread(until: end) } }
                await group.waitForAll()
            }
            await scene.presentersAreDone()
            report.yield(true)
        }
        let watch = Task {
            var seen = checker.eventCount
            while true {
                try await Task.sleep(for: .seconds(30))
                let now = checker.eventCount
                guard now == seen else {
                    seen = now
                    continue
                }
                for claim in scene.client.snapshot().claims {
                    scene.checker.complain("stuck: \(claim.state) \(claim.items.map(\.path)) waits for \(claim.waitsFor)")
                }
                report.yield(false)
            }
        }
        defer {
            work.cancel()
            watch.cancel()
        }
        for await isOver in done { return isOver }
        return false
    }

    private func report(_ summary: TraceChecker.Summary, seed: UInt64) throws {
        if json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            print(String(decoding: try encoder.encode(Output(seed: seed, summary: summary)), as: UTF8.self))
        } else {
            print(
                "\(summary.claims) claims: \(summary.granted) granted, \(summary.failed) not, \(summary.deadlocks) of these as deadlocks; "
                    + "\(summary.messages) messages; \(summary.moves) moves; \(summary.increments) increments; at most \(summary.mostWaiting) waited at once"
            )
            for violation in summary.violations { print("VIOLATION: \(violation)") }
            print(summary.violations.isEmpty ? "clean" : "\(summary.violations.count) violations; replay with --seed \(seed)")
        }
        if !summary.violations.isEmpty { throw ExitCode(1) }
    }

    private struct Output: Encodable {
        let seed: UInt64
        let summary: TraceChecker.Summary
    }
}
