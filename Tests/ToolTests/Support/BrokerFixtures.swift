import Foundation
import Glibc
import SystemPackage
import Testing
import ToolProcesses
import Waiting

/// Processes that coordinate, with a broker of their own and some files.
final class BrokerScene: Sendable {
    let directory: FilePath
    let environment: [String: String]

    init(_ directory: FilePath, isHosted: Bool) {
        self.directory = directory
        var environment = ["XDG_RUNTIME_DIR": directory.appending("run").string, "SWIFT_BACKTRACE": "enable=no"]
        // An empty path: no program is started, so that a participant is the host.
        if isHosted { environment["UBIQUITY_BROKER"] = "" }
        self.environment = environment
    }

    var runtime: FilePath { directory.appending("run/ubiquity") }
    func path(_ name: String) -> String { directory.appending("files").appending(name).string }

    /// What a participant with a limit of watches writes to standard error.
    var errors: FilePath { directory.appending("errors") }

    /// Starts a process.
    ///
    /// - Parameters:
    ///   - environment: what it gets besides the scene's.
    ///   - watches: how many inotify watches it may have, in a user namespace of its own; nil for the system's limit.
    /// - Returns: the process, ready.
    /// - Throws: an error when it does not start.
    func participant(environment: [String: String] = [:], watches: Int? = nil) async throws -> Player {
        let pipe = directory.appending("pipe-\(UUID().uuidString.prefix(8))")
        try #require(mkfifo(pipe.string, 0o600) == 0)
        let environment = self.environment.merging(environment) { $1 }
        let tool =
            if let watches {
                try await RunningTool(
                    "/usr/bin/unshare",
                    [
                        "-Ur", "/bin/sh", "-c",
                        "echo \(watches) > /proc/sys/user/max_inotify_watches && exec \(Tool.path("ubiquity-torture")) participant \(pipe) 2> \(errors)",
                    ], environment: environment)
            } else {
                try await RunningTool("ubiquity-torture", ["participant", pipe.string], environment: environment)
            }
        let player = Player(tool, pipe)
        _ = try await player.hears("ready")
        return player
    }

    struct Status: Decodable {
        struct Broker: Decodable {
            let process: Int32
            let isResident: Bool
            let epoch: UInt64
            let claims: Int
            let presenters: Int
            let clients: [Client]
        }
        struct Client: Decodable {
            let process: Int32
            let isStopped: Bool
            let delegated: [String]
        }
        let broker: Broker?
    }

    func status() async throws -> Status.Broker? {
        let outcome = try await Tool.run("ubcontrol", ["broker", "status", "--json"], environment: environment)
        try #require(outcome.status == 0 || outcome.status == 1, "\(outcome)")
        return try JSONDecoder().decode(Status.self, from: Data(outcome.output.utf8)).broker
    }

    func broker() async throws -> Status.Broker { try #require(await status()) }

    /// Returns once the broker knows so many presenters: the call that adds one waits for the broker two seconds at most.
    func knowsPresenters(_ count: Int = 1) async throws {
        try await until("the broker knows the presenters") { try await status()?.presenters == count }
    }

    /// Returns once a claim waits: that a participant has been asked for one does not say that the broker has heard of it.
    func isQueued() async throws {
        try await until("a claim is queued") { try await control("claims", "--json").output.contains("queued") }
    }

    /// Returns once a claim waits for a presenter's answer.
    func isAsking() async throws {
        try await until("a claim waits for an answer") { try await control("claims", "--json").output.contains("asking") }
    }

    func control(_ arguments: String...) async throws -> Tool.Outcome { try await Tool.run("ubcontrol", arguments, environment: environment) }
}

/// A participant that is told what to do.
actor Player {
    nonisolated let tool: RunningTool
    private let pipe: FileDescriptor
    private let iterator: LimitedSequence<AsyncStream<String>>.AsyncIterator
    private var unheard: [String] = []

    init(_ tool: RunningTool, _ path: FilePath) {
        self.tool = tool
        // Open at both ends, so that nobody waits for the other.
        pipe = FileDescriptor(rawValue: open(path.string, O_RDWR | O_CLOEXEC))
        iterator = tool.lines.limited("a line of a participant").makeAsyncIterator()
    }

    nonisolated var process: Int32 { tool.identifier }

    /// Stops the process, and returns once it has stopped.
    nonisolated func pause() async throws {
        tool.signal(SIGSTOP)
        try await until("\(process) has stopped") { ProcessFacts(process).isStopped }
    }

    func say(_ line: String) throws { _ = try pipe.writeAll(Array((line + "\n").utf8)) }

    /// The next line that begins like this; other lines stay for later.
    @discardableResult
    func hears(_ beginning: String) async throws -> String {
        if let index = unheard.firstIndex(where: { $0.hasPrefix(beginning) }) { return unheard.remove(at: index) }
        while let line = try await iterator.next() {
            if line.hasPrefix(beginning) { return line }
            unheard.append(line)
        }
        throw Silence(description: "\(process) ended without \(beginning); it said \(unheard)")
    }

    /// What was said before the answer to a question that every participant answers.
    func saidSoFar() async throws -> [String] {
        try say("mode")
        _ = try await hears("mode")
        return unheard
    }

    func end() async {
        tool.signal(SIGCONT)
        tool.signal(SIGKILL)
        _ = try? await tool.end()
        try? pipe.close()
    }

    struct Silence: Error, CustomStringConvertible {
        let description: String
    }
}

/// Runs a body with participants, each connected in turn.
func withPlayers(
    _ count: Int, isHosted: Bool = false, environment: [String: String] = [:], _ body: (BrokerScene, [Player]) async throws -> Void
) async throws {
    let directory = FilePath("/tmp/ubiquity-broker-\(UUID().uuidString.prefix(8))")
    for name in ["run", "files"] {
        try FileManager.default.createDirectory(atPath: directory.appending(name).string, withIntermediateDirectories: true)
    }
    let scene = BrokerScene(directory, isHosted: isHosted)
    var players: [Player] = []
    do {
        for _ in 0..<count { players.append(try await scene.participant(environment: environment)) }
        try await body(scene, players)
        await tearDown(scene, players)
    } catch {
        await tearDown(scene, players)
        throw error
    }
}

private func tearDown(_ scene: BrokerScene, _ players: [Player]) async {
    for player in players { await player.end() }
    if let broker = try? await scene.status() { kill(broker.process, SIGKILL) }
    try? FileManager.default.removeItem(atPath: scene.directory.string)
}
