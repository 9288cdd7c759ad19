import Foundation
import Glibc
import SystemPackage

/// Measures the tools for people: on a container of 50 peers, 100,000 logs and 10,000 items, and how they start.
enum ToolsSuite: Suite {
    static func run(_ report: Report) async throws {
        if ["ubwatch_status_ms", "ubwatch_idle_cpu_percent"].contains(where: { report.wants($0) }) { try terminal(report) }
        if StartFigures.metrics.contains(where: { report.wants($0) }) { try await StartFigures.run(report) }
        if SizeFigures.metrics.contains(where: { report.wants($0) }) { try SizeFigures.run(report) }
        if PaneFigures.metrics.contains(where: { report.wants($0) }) { try await PaneFigures.run(report) }
    }

    private static func terminal(_ report: Report) throws {
        let scene = try ContainerScene(peers: 50, logsPerPeer: 2000, items: 10_000)
        defer { scene.remove() }
        if report.wants("ubwatch_status_ms") { try status(report, scene) }
        if report.wants("ubwatch_idle_cpu_percent") { try idling(report, scene) }
    }

    /// Measures one inspection of the container against find(1) over its tree: without and with the sizes that the
    /// inspection also reports.
    private static func status(_ report: Report, _ scene: ContainerScene) throws {
        let ubwatch = [WatchingTool.beside("ubwatch"), "status", "--home", scene.home.string, scene.container.string]
        let find = ["/usr/bin/find", scene.container.string]
        var (ours, json, plain, sized): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
        for round in 0..<8 {
            let times = try [ubwatch, ubwatch + ["--json"], find, find + ["-printf", "%s %p\\n"]].map { try milliseconds(of: $0) }
            // The first round fills caches.
            guard round > 0 else { continue }
            ours.append(times[0])
            json.append(times[1])
            plain.append(times[2])
            sized.append(times[3])
        }
        let metric = "ubwatch_status_ms"
        report.line(metric, unit: "ms", ours: median(ours), reference: median(plain), referenceName: "find")
        report.line(metric, variant: "--json", unit: "ms", ours: median(json), reference: median(plain), referenceName: "find")
        report.line(metric, variant: "sizes", unit: "ms", ours: median(ours), reference: median(sized), referenceName: "find -printf %s", main: false)
    }

    /// Returns the time from the start of a command to its end.
    static func milliseconds(of command: [String]) throws -> Double {
        let process = Process()
        process.executableURL = URL(filePath: command[0])
        process.arguments = Array(command.dropFirst())
        process.standardOutput = FileHandle(forWritingAtPath: "/dev/null")
        let start = monotonic()
        try process.run()
        process.waitUntilExit()
        let time = Double(monotonic() - start) / 1e6
        guard process.terminationStatus == 0 else {
            throw Failure(description: "\(command.joined(separator: " ")): status \(process.terminationStatus)")
        }
        return time
    }

    /// Measures the processor time of the live view over 20 idle seconds, in percent of one processor.
    private static func idling(_ report: Report, _ scene: ContainerScene) throws {
        let process = Process()
        process.executableURL = URL(filePath: WatchingTool.beside("ubwatch"))
        process.arguments = [scene.container.string, "--plain", "--home", scene.home.string]
        process.standardOutput = FileHandle(forWritingAtPath: "/dev/null")
        try process.run()
        defer {
            if process.isRunning { process.terminate() }
            process.waitUntilExit()
        }
        // Wait until it has read and watches everything.
        usleep(10_000_000)
        guard process.isRunning, let before = ticks(of: process.processIdentifier) else {
            throw Failure(description: "ubwatch CONTAINER --plain ended by itself with status \(process.terminationStatus)")
        }
        let start = monotonic()
        usleep(20_000_000)
        guard let after = ticks(of: process.processIdentifier) else { throw Failure(description: "ubwatch ended while it was watched") }
        let seconds = Double(monotonic() - start) / 1e9
        report.line("ubwatch_idle_cpu_percent", unit: "%", ours: Double(after - before) / Double(sysconf(Int32(_SC_CLK_TCK))) / seconds * 100)
    }

    /// Returns the user and system time of a process in clock ticks: fields 14 and 15 of proc_pid_stat(5).
    private static func ticks(of process: Int32) -> Int? {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8), let end = text.lastIndex(of: ")") else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 12, let user = Int(fields[11]), let system = Int(fields[12]) else { return nil }
        return user + system
    }

    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }
}
