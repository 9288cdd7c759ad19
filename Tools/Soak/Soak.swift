import ArgumentParser
import CLinux
import Foundation
import Glibc
import Synchronization
import SystemPackage
import TreeWatching
import UbiquityTesting

/// Runs random operations on a tree in four processes, and compares the watcher's knowledge with the real tree at every
/// barrier.
@main
struct Soak: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak",
        abstract: "Change a tree randomly from four processes, and compare the watcher's knowledge with the tree at every barrier.")

    @Option(help: "How long, in minutes.")
    var minutes = 10.0

    @Option(help: "The seed of the first round; each round adds one.")
    var seed: UInt64 = .random(in: 0..<1_000_000)

    @Option(help: "The directory of the tree.")
    var place = "/dev/shm"

    @Option(help: ArgumentHelp("Used by the soak itself: be one of the processes.", visibility: .hidden))
    var worker: String?

    func run() async throws {
        if let worker { return SoakWorker(root: worker, seed: seed).run() }
        let root = "\(place)/ubiquity-soak-\(getpid())"
        for directory in [root, root + "/tree", root + "/outside"] { mkdir(directory, 0o755) }
        defer { try? FileManager.default.removeItem(atPath: root) }
        var options = TreeWatcher.Options()
        options.diagnostics = { print("soak: \($0.message)") }
        let watcher = try TreeWatcher(FilePath(root + "/tree"), options: options)
        let replay = Replay(root: root + "/tree")
        watcher.tap { replay.take($0) }
        let clock = ContinuousClock()
        let end = clock.now + .seconds(minutes * 60)
        var (round, compared) = (0, 0)
        print("soak: seed \(seed), \(minutes) minutes, in \(root)")
        while clock.now < end {
            let workers = (0..<4).map { Self.start(root, seed &+ UInt64(round) &* 4 &+ UInt64($0)) }
            for worker in workers { while waitpid(worker, nil, 0) < 0, errno == EINTR {} }
            try await watcher.settled()
            let (known, told, real) = (try await watcher.entries().map(\.path.string), replay.paths, Self.paths(root + "/tree"))
            guard Set(known) == real, told == real else {
                print("soak: round \(round), seed \(seed): the watcher's knowledge differs from the tree")
                print("  known, not there: \(Set(known).subtracting(real).sorted().prefix(10))")
                print("  there, not known: \(real.subtracting(known).sorted().prefix(10))")
                print("  told, not there: \(told.subtracting(real).sorted().prefix(10))")
                print("  there, not told: \(real.subtracting(told).sorted().prefix(10))")
                throw ExitCode(1)
            }
            compared += real.count
            round += 1
        }
        print("soak: \(round) rounds, \(replay.count) changes, \(compared) entries compared, no difference")
        watcher.close()
    }

    /// Starts one of the processes.
    private static func start(_ root: String, _ seed: UInt64) -> pid_t {
        var process = pid_t()
        let words: [String] = ["soak", "--worker", root, "--seed", "\(seed)"]
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
        arguments.append(nil)
        let error = posix_spawn(&process, "/proc/self/exe", nil, nil, &arguments, Glibc.environ)
        precondition(error == 0, "posix_spawn failed with error \(error)")
        for argument in arguments { free(argument) }
        return process
    }

    private static func paths(_ root: String) -> Set<String> {
        var result: Set<String> = []
        guard let walker = FileManager.default.enumerator(atPath: root) else { return [] }
        for case let path as String in walker { result.insert(root + "/" + path) }
        return result
    }
}

/// The tree as a reader of the changes knows it.
private final class Replay: Sendable {
    private struct State {
        var paths: Set<String> = []
        var count = 0
    }

    private let state = Mutex(State())
    private let root: String

    init(root: String) { self.root = root }

    var paths: Set<String> { state.withLock { $0.paths } }
    var count: Int { state.withLock { $0.count } }

    func take(_ batch: TreeChangeBatch) {
        state.withLock { state in
            state.count += batch.count
            var position = 0
            while position < batch.count {
                let change = batch[position]
                position += 1
                let path = change.path.string
                switch change.kind {
                case .created: state.paths.insert(path)
                case .removed: state.paths.remove(path)
                case .modified where change.from != nil:
                    state.paths.remove(change.from!.string)
                    state.paths.insert(path)
                case .moved:
                    let from = change.from!.string
                    // The other half of the exchange follows.
                    if change.isExchange {
                        position += 1
                        Self.exchange(&state.paths, from, path)
                    } else {
                        Self.move(&state.paths, from, path)
                    }
                default: break
                }
            }
        }
    }

    private static func take(_ paths: inout Set<String>, below path: String) -> [String] {
        let moving = paths.filter { $0 == path || $0.hasPrefix(path + "/") }
        paths.subtract(moving)
        return moving.map { String($0.dropFirst(path.count)) }
    }

    private static func move(_ paths: inout Set<String>, _ from: String, _ to: String) {
        let moving = take(&paths, below: from)
        paths.formUnion(moving.map { to + $0 })
    }

    private static func exchange(_ paths: inout Set<String>, _ a: String, _ b: String) {
        let (first, second) = (take(&paths, below: a), take(&paths, below: b))
        paths.formUnion(first.map { b + $0 })
        paths.formUnion(second.map { a + $0 })
    }
}

/// One of the processes: some hundred random operations with names that the others use too.
private struct SoakWorker {
    let root: String
    var generator: SeededRandom

    init(root: String, seed: UInt64) {
        self.root = root
        generator = SeededRandom(seed: seed)
    }

    func run() {
        var worker = self
        for _ in 0..<300 { worker.step() }
    }

    private mutating func path(inTree: Bool = true) -> String {
        var path = root + (inTree ? "/tree" : "/outside")
        for _ in 0..<Int.random(in: 1...4, using: &generator) { path += "/" + String(["a", "b", "c", "d", "e"].randomElement(using: &generator)!) }
        return path
    }

    private mutating func step() {
        switch Int.random(in: 0..<20, using: &generator) {
        case 0..<5: mkdir(path(), 0o755)
        case 5..<9:
            let fd = open(path(), O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
            if fd >= 0 {
                Glibc.write(fd, "x", 1)
                close(fd)
            }
        case 9..<13: rename(path(), path())
        case 13: rename(path(), path(inTree: false))
        case 14: rename(path(inTree: false), path())
        case 15: _ = clinux_exchange(AT_FDCWD, path(), AT_FDCWD, path())
        case 16: unlink(path())
        case 17: rmdir(path())
        case 18: try? FileManager.default.removeItem(atPath: path())
        default:
            // All at once, as `mkdir -p` does.
            var directory = path()
            for name in ["a", "b", "c"] {
                mkdir(directory, 0o755)
                directory += "/" + name
            }
        }
    }
}
