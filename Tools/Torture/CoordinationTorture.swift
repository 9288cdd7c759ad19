import ArgumentParser
import FileCoordination
import Foundation

/// Random coordinated accesses from many tasks and threads.
struct CoordinationTorture: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coordination",
        abstract: "Random reads, writes, moves, deletions and cancellations, with presenters; checked from the trace.",
        discussion: """
            Proves from the trace that no writer overlapped anyone it must not, that every presenter's messages came in their order, and that \
            nobody was overtaken or starved; and from the files that no write was lost. Exit status 1 if anything failed.
            """)

    @Flag(help: "Everything in this process. Required: a broker between processes is not there yet.")
    var inProcess = false

    @Option(help: ArgumentHelp("How long.", valueName: "minutes"))
    var minutes = 1.0

    @Option(help: ArgumentHelp("Replays the choices of a run, though not the scheduler's; random by default.", valueName: "number"))
    var seed: UInt64?

    @Option(help: ArgumentHelp("How many tasks, and as many threads over four.", valueName: "count"))
    var workers = 16

    @Flag(help: "Print one JSON object.")
    var json = false

    func validate() throws {
        guard inProcess else {
            throw ValidationError("Coordination between processes is not built yet; give --in-process.")
        }
        guard minutes > 0, workers > 0 else { throw ValidationError("--minutes and --workers must be above zero.") }
    }

    func run() async throws {
        let seed = seed ?? .random(in: 0...9_999_999)
        if !json { print("seed \(seed), \(minutes) minutes, \(workers) tasks, \(max(1, workers / 4)) threads") }
        let directory = FileManager.default.temporaryDirectory.appending(path: "coordination-torture-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let checker = TraceChecker()
        let client = CoordinationClient { event, actions in checker.see(event, actions) }
        let scene = Scene(directory: directory.resolvingSymlinksInPath(), client: client, checker: checker)
        let isOver = await run(scene, seed: seed)
        checker.finish(isOver ? scene.sumOfFiles() : nil)
        try report(checker.summary, seed: seed)
    }

    /// Lets the workers loose.
    ///
    /// - Returns: whether all came to their end; when nothing has happened for half a minute the rest are given up.
    private func run(_ scene: Scene, seed: UInt64) async -> Bool {
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
            var seen = scene.checker.eventCount
            while true {
                try await Task.sleep(for: .seconds(30))
                let now = scene.checker.eventCount
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
