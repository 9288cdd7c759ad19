import CLinux
import FileCoordination
import Foundation
import Glibc
import SystemPackage

/// Measures coordination between processes, with a separate broker.
struct BrokerFigures {
    private let directory: FilePath
    /// The directory of brokers: in memory, as usual.
    private let places: FilePath
    private let program: FilePath

    init() throws {
        let name = "broker-bench-\(UUID().uuidString.prefix(8))"
        directory = FilePath("/tmp").appending(name)
        places = FilePath("/dev/shm").appending(name)
        guard let program = BrokerStarter.program() else { throw Errno.noSuchFileOrDirectory }
        self.program = program
        try FileManager.default.createDirectory(atPath: directory.appending("a/b/c").string, withIntermediateDirectories: true)
        try FileManager.default.createDirectory(atPath: places.string, withIntermediateDirectories: true)
    }

    func remove() {
        _ = try? BrokerControl(place: place()).stop()
        for tree in [directory, places] { try? FileManager.default.removeItem(atPath: tree.string) }
    }

    private func place(_ name: String = "run") -> BrokerPlace { BrokerPlace(directory: places.appending(name)) }
    private func client(_ name: String = "run") -> CoordinationClient {
        CoordinationClient(place: place(name), program: program, watchesFiles: false)
    }

    private func file(_ name: String) throws -> URL {
        let url = URL(fileURLWithPath: directory.appending("a/b/c").appending(name).string)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data().write(to: url)
        return url
    }

    // MARK: One claim

    /// Measures a claim that the process itself decides, because the tree is delegated to it.
    func delegated(_ report: Report) async throws {
        let client = client()
        let url = try file("delegated.txt")
        let coordinator = FileCoordinator(client: client)
        while !client.isDelegated { try await coordinator.write(url) { _ in } }
        let path = FilePath(url.path)
        for isBlocking in [false, true] {
            try await compare(
                report, "claim_delegated", variant: isBlocking ? "write, blocking form" : "write", "open, flock, unlock, close", rounds: 5_000
            ) { rounds in
                try await claim(coordinator, url, rounds, isBlocking)
            } reference: { rounds in
                try CoordinationSuite.lock(path, rounds)
            }
        }
        guard client.isDelegated else { throw Errno.badAddress }
        client.disconnect()
    }

    /// Measures a claim that the broker decides, because another process holds a claim on the same file.
    func throughBroker(_ report: Report) async throws {
        let (client, neighbour) = (client(), client())
        let url = try file("brokered.txt")
        let coordinator = FileCoordinator(client: client)
        let echo = try Echo()
        try await FileCoordinator(client: neighbour).read(url) { _ in
            for isBlocking in [true, false] {
                try await compare(
                    report, "claim_through_broker", variant: isBlocking ? "read beside a reader, blocking form" : "read beside a reader",
                    "a Unix-socket round trip", rounds: 3_000
                ) { rounds in
                    try await claim(coordinator, url, rounds, isBlocking, isRead: true)
                } reference: { rounds in
                    try echo.roundTrips(rounds)
                }
            }
        }
        guard !client.isDelegated else { throw Errno.badAddress }
        client.disconnect()
        neighbour.disconnect()
    }

    /// Measures a claim on a file whose directory another process uses too.
    func besideNeighbour(_ report: Report) async throws {
        let (client, neighbour) = (client(), client())
        let url = try file("mine.txt")
        let path = FilePath(url.path)
        let coordinator = FileCoordinator(client: client)
        try await FileCoordinator(client: neighbour).write(file("held.txt")) { _ in
            for isBlocking in [true, false] {
                try await compare(
                    report, "claim_beside_neighbour", variant: isBlocking ? "write, blocking form" : "write", "open, flock, unlock, close",
                    rounds: 3_000
                ) { rounds in
                    try await claim(coordinator, url, rounds, isBlocking)
                } reference: { rounds in
                    try CoordinationSuite.lock(path, rounds)
                }
            }
        }
        client.disconnect()
        neighbour.disconnect()
    }

    private func claim(_ coordinator: FileCoordinator, _ url: URL, _ rounds: Int, _ isBlocking: Bool, isRead: Bool = false) async throws {
        if isBlocking {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                Thread {
                    continuation.resume(
                        with: Result {
                            for _ in 0..<rounds {
                                if isRead {
                                    try coordinator.coordinate(readingItemAt: url) { _ in }
                                } else {
                                    try coordinator.coordinate(writingItemAt: url) { _ in }
                                }
                            }
                        })
                }.start()
            }
        } else {
            // The task is detached, because it is not part of the surrounding access, which belongs to another client.
            try await Task.detached {
                for _ in 0..<rounds {
                    if isRead { try await coordinator.read(url) { _ in } } else { try await coordinator.write(url) { _ in } }
                }
            }.value
        }
    }

    private func compare(
        _ report: Report, _ metric: String, variant: String, _ referenceName: String, rounds: Int, ours body: (Int) async throws -> Void,
        reference: (Int) async throws -> Void
    ) async throws {
        var ours: [Double] = []
        var others: [Double] = []
        for run in 0..<9 {
            let mine = try await seconds { try await body(rounds) }
            let other = try await seconds { try await reference(rounds) }
            // The first run fills caches.
            guard run > 0 else { continue }
            ours.append(mine / Double(rounds) * 1e6)
            others.append(other / Double(rounds) * 1e6)
        }
        report.line(metric, variant: variant, unit: "µs", ours: median(ours), reference: median(others), referenceName: referenceName)
    }

    // MARK: Many processes

    /// Measures how many claims several processes get in a second, each in its own tree, or all on one file.
    func perSecond(_ report: Report) async throws {
        for count in [1, 4, 8] {
            for isShared in count == 1 ? [false] : [false, true] {
                let paths = try (0..<count).map { try file(isShared ? "shared.txt" : "tree\($0)/file.txt").path }
                var ours: [Double] = []
                var others: [Double] = []
                for _ in 0..<3 {
                    ours.append(try await claimers(paths, isLock: false))
                    others.append(try await claimers(paths, isLock: true))
                }
                report.line(
                    "claims_per_second", variant: "\(count) process\(count == 1 ? "" : "es"), \(isShared ? "one file" : "separate trees")",
                    unit: "1/s", ours: median(ours), reference: median(others), referenceName: "open, flock, unlock, close in as many processes")
            }
        }
    }

    /// Returns the sum of the processes' reports.
    private func claimers(_ paths: [String], isLock: Bool) async throws -> Double {
        let tool = FilePath(CommandLine.arguments[0]).removingLastComponent().appending("ubiquity-torture").string
        let processes = try paths.map { path in
            var arguments = ["claimer", "--runtime", place().directory.string, "--program", program.string, "--path", path, "--seconds", "0.7"]
            if isLock { arguments.append("--lock") }
            return try Child(tool, arguments)
        }
        for process in processes { _ = process.readLine() }
        for process in processes { process.writeLine() }
        return processes.reduce(0) { $0 + (Double($1.readLine() ?? "") ?? 0) }
    }

    // MARK: Takeover

    /// Measures the time from the death of a broker, with a claim held, to the next grant by its successor.
    func takeover(_ report: Report) async throws {
        let (client, neighbour) = (client(), client())
        let url = try file("next.txt")
        let coordinator = FileCoordinator(client: client)
        var ours: [Double] = []
        var others: [Double] = []
        try await FileCoordinator(client: neighbour).write(file("kept.txt")) { _ in
            try await claim(coordinator, url, 1, false)
            for run in 0..<9 {
                guard let broker = try BrokerControl(place: place()).status() else { throw Errno.noSuchProcess }
                let mine = try await seconds {
                    kill(broker.process, SIGKILL)
                    try await claim(coordinator, url, 1, false)
                    // A claim granted by the dead broker's last frame would prove nothing.
                    while try BrokerControl(place: place()).status()?.process == broker.process {}
                }
                let other = try await spawn(run)
                guard run > 0 else { continue }
                ours.append(mine * 1e3)
                others.append(other * 1e3)
            }
        }
        client.disconnect()
        neighbour.disconnect()
        report.line(
            "broker_takeover_ms", unit: "ms", ours: median(ours), reference: median(others), referenceName: "spawning the broker and connecting")
    }

    /// Measures the first claim at a place without a broker.
    private func spawn(_ run: Int) async throws -> Double {
        let client = client("spawn\(run)")
        let url = try file("spawn.txt")
        let time = try await seconds { try await claim(FileCoordinator(client: client), url, 1, false) }
        client.disconnect()
        _ = try BrokerControl(place: place("spawn\(run)")).stop()
        return time
    }
}

/// A forked process that returns all bytes it receives; it only calls read(2) and write(2).
private final class Echo: Sendable {
    private let socket: CInt
    private let process: CInt

    init() throws {
        var ends: [CInt] = [0, 0]
        guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0 else { throw Errno(rawValue: errno) }
        let (mine, other) = (ends[0], ends[1])
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: 256, alignment: 8)
        let child = clinux_fork()
        if child == 0 {
            close(mine)
            while true {
                let count = read(other, buffer, 256)
                if count <= 0 || write(other, buffer, count) != count { _exit(0) }
            }
        }
        buffer.deallocate()
        close(other)
        (socket, process) = (mine, child)
    }

    deinit {
        close(socket)
        waitpid(process, nil, 0)
    }

    /// Sends 64 bytes there and back, a number of times.
    func roundTrips(_ count: Int) throws {
        var bytes = [UInt8](repeating: 1, count: 64)
        for _ in 0..<count {
            guard write(socket, bytes, 64) == 64, read(socket, &bytes, 64) == 64 else { throw Errno(rawValue: errno) }
        }
    }
}

/// A process with pipes; see posix_spawn(3).
private final class Child {
    private let input: CInt
    private let output: CInt
    private let process: pid_t

    init(_ program: String, _ words: [String]) throws {
        var (toChild, fromChild): ([CInt], [CInt]) = ([0, 0], [0, 0])
        guard clinux_pipe(&toChild) == 0, clinux_pipe(&fromChild) == 0 else { throw Errno(rawValue: errno) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, toChild[0], 0)
        posix_spawn_file_actions_adddup2(&actions, fromChild[1], 1)
        var arguments = ([program] + words).map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process: pid_t = 0
        let error = posix_spawn(&process, program, &actions, nil, &arguments, clinux_environment())
        close(toChild[0])
        close(fromChild[1])
        guard error == 0 else { throw Errno(rawValue: error) }
        (self.process, input, output) = (process, toChild[1], fromChild[0])
    }

    deinit {
        close(input)
        close(output)
        waitpid(process, nil, 0)
    }

    func writeLine() { _ = write(input, "\n", 1) }

    func readLine() -> String? {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(output, &byte, 1) == 1 {
            if byte == 10 { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
        return nil
    }
}
