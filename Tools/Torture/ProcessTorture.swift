import CLinux
import FileCoordination
import Foundation
import Glibc
import SystemPackage
import UbiquityTesting

/// Rounds of several processes that access shared files, while they and their broker are killed and stopped.
struct ProcessTorture {
    let processes: Int
    let directory: FilePath
    /// The path of `ubiquityd`.
    let program: FilePath
    private var random: SeededRandom

    /// One process, from its start to its end.
    private struct Incarnation {
        let process: Int32
        let trace: FilePath
        /// The time at which it was killed.
        var killed: UInt64?
        var isStopped = false
    }

    /// The number of kills and stops.
    struct Tally {
        var rounds = 0
        var killedWorkers = 0
        var killedBrokers = 0
        var stops = 0
    }

    private(set) var tally = Tally()

    init(processes: Int, directory: FilePath, program: FilePath, seed: UInt64) {
        self.processes = processes
        self.directory = directory
        self.program = program
        random = SeededRandom(seed: seed)
    }

    /// Runs one round.
    ///
    /// - Parameter seconds: how long the processes work.
    /// - Returns: the checker's summary.
    /// - Throws: an error when the round cannot be set up.
    mutating func round(_ seconds: Double) async throws -> TraceChecker.Summary {
        let place = directory.appending("round\(tally.rounds)")
        for name in ["files", "run", "traces"] {
            try FileManager.default.createDirectory(
                atPath: place.appending(name).string, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        defer { try? FileManager.default.removeItem(atPath: place.string) }
        // Every third round has no resident broker, every second one stops processes.
        let hasProgram = tally.rounds % 3 != 2
        let stops = tally.rounds % 2 == 1
        tally.rounds += 1
        let end = ContinuousClock.now + .seconds(seconds)
        var living: [Incarnation] = []
        var ended: [Incarnation] = []
        func left() -> Double { (end - ContinuousClock.now) / .seconds(1) }
        for _ in 0..<processes { living.append(try start(place, hasProgram, left())) }
        let control = BrokerControl(place: BrokerPlace(directory: place.appending("run")))
        while left() > 1 {
            try await Task.sleep(for: .milliseconds(Int.random(in: 20..<300, using: &random)))
            let index = Int.random(in: 0..<living.count, using: &random)
            switch Int.random(in: 0..<100, using: &random) {
            case ..<45:
                living[index].killed = TraceLog.now
                kill(living[index].process, SIGKILL)
                waitpid(living[index].process, nil, 0)
                ended.append(living[index])
                living[index] = try start(place, hasProgram, left())
                tally.killedWorkers += 1
            case ..<80:
                guard let broker = try? control.status()?.process else { break }
                // A hosted broker dies with a worker.
                if let host = living.firstIndex(where: { $0.process == broker }) {
                    living[host].killed = TraceLog.now
                    kill(broker, SIGKILL)
                    waitpid(broker, nil, 0)
                    ended.append(living[host])
                    living[host] = try start(place, hasProgram, left())
                } else {
                    kill(broker, SIGKILL)
                }
                tally.killedBrokers += 1
            default:
                guard stops else { break }
                kill(living[index].process, SIGSTOP)
                try await Task.sleep(for: .milliseconds(Int.random(in: 20..<200, using: &random)))
                kill(living[index].process, SIGCONT)
                tally.stops += 1
            }
        }
        let complaints = await finish(&living, control)
        if let broker = try? control.status()?.process { kill(broker, SIGKILL) }
        return try check(ended + living, place, lenient: stops, complaints)
    }

    /// Starts a worker; see posix_spawn(3).
    private mutating func start(_ place: FilePath, _ hasProgram: Bool, _ seconds: Double) throws -> Incarnation {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let trace = place.appending("traces/\(UUID().uuidString)")
        let words = [
            own, "worker", "--runtime", place.appending("run").string, "--program", hasProgram ? program.string : "", "--directory",
            place.appending("files").string, "--trace", trace.string, "--seed", "\(random.next())", "--seconds", "\(max(0.2, seconds))", "--tasks",
            "2",
        ]
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process: pid_t = 0
        let error = posix_spawn(&process, own, nil, nil, &arguments, clinux_environment())
        guard error == 0 else { throw Errno(rawValue: error) }
        return Incarnation(process: process, trace: trace)
    }

    /// Waits until all processes have ended.
    ///
    /// - Returns: complaints about those that have not.
    private func finish(_ living: inout [Incarnation], _ control: BrokerControl) async -> [String] {
        var complaints: [String] = []
        let limit = ContinuousClock.now + .seconds(60)
        for index in living.indices {
            kill(living[index].process, SIGCONT)
            var status: CInt = 0
            while waitpid(living[index].process, &status, WNOHANG) == 0 {
                guard ContinuousClock.now < limit else {
                    complaints.append("process \(living[index].process) does not come to its end")
                    for claim in (try? control.listing())?.claims ?? [] {
                        complaints.append("\(claim.state) \(claim.items.map(\.path)) of \(claim.process) waits for \(claim.waitsFor)")
                    }
                    living[index].killed = TraceLog.now
                    kill(living[index].process, SIGKILL)
                    waitpid(living[index].process, &status, 0)
                    break
                }
                try? await Task.sleep(for: .milliseconds(5))
            }
            if living[index].killed == nil, status != 0 { complaints.append("process \(living[index].process) ended with status \(status)") }
        }
        return complaints
    }

    // MARK: Checking

    /// Merges the traces of all processes by time, and checks them.
    private func check(_ incarnations: [Incarnation], _ place: FilePath, lenient: Bool, _ complaints: [String]) throws -> TraceChecker.Summary {
        let checker = TraceChecker(leniency: lenient ? .stoppedProcesses : .processes)
        for complaint in complaints { checker.complain(complaint) }
        var all: [(time: UInt64, process: Int32, record: TraceRecord?, client: ClientID?)] = []
        var killed: Set<ClientID> = []
        for incarnation in incarnations {
            let bytes = (try? [UInt8](Data(contentsOf: URL(fileURLWithPath: incarnation.trace.string)))) ?? []
            let records = TraceRecord.read(bytes)
            all += records.map { ($0.time, incarnation.process, $0.record, nil) }
            // It died some time after the kill, and after all its writes.
            let end = max(incarnation.killed ?? 0, records.last?.time ?? 0)
            if let client = records.lazy.compactMap(\.record.client).first { all.append((end, incarnation.process, nil, client)) }
            if incarnation.killed != nil, let client = all.last?.client { killed.insert(client) }
            checker.allowForEnd(of: records.map(\.record))
        }
        // The sort is stable, because the records of one process are in order.
        let order = all.indices.sorted { (all[$0].time, $0) < (all[$1].time, $1) }
        for index in order {
            switch all[index].record {
            case .event(let event)?: checker.see(event, [])
            case .action(let action)?: checker.see(nil, [action])
            case .note(let kind, let number, let text)?: checker.take(kind, number, text)
            case nil: if let client = all[index].client { checker.leave(client, isKilled: killed.contains(client)) }
            }
        }
        let files = place.appending("files").string
        let names = FileManager.default.enumerator(atPath: files)?.compactMap { $0 as? String } ?? []
        let numbers = names.compactMap { name -> Int? in
            guard let text = try? String(contentsOfFile: "\(files)/\(name)", encoding: .utf8) else { return nil }
            return text.isEmpty ? 0 : Int(text)
        }
        checker.finish(numbers.reduce(0, +))
        var summary = checker.summary
        if !summary.violations.isEmpty {
            let story = directory.removingLastComponent().appending("\(directory.lastComponent?.string ?? "torture").trace")
            let lines = order.map { "\(all[$0].time) \(all[$0].process) \(all[$0].record.map { "\($0)" } ?? "gone")" }
            try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: story.string))
            summary.violations.append("all that happened is in \(story)")
        }
        return summary
    }
}

extension TraceRecord {
    /// The client of the record, if it is known.
    fileprivate var client: ClientID? {
        switch self {
        case .event(.request(let request)): request.id.client
        case .event(.addPresenter(let id, _, _)): id.client
        default: nil
        }
    }
}
