import Foundation
import ObjectTransfer
import RcloneTransfer
import SystemPackage
import ToolProcesses
import UbiquityContainers

/// Measures the transfer agent against rclone itself, with the same clouds on this machine.
enum TransferSuite: Suite {
    private static let kinds = ["webdav", "s3", "sftp"]

    static func run(_ report: Report) async throws {
        for kind in kinds where report.wants(variant: kind) {
            if report.wants("upload_1000_small") { try await upload(report, "upload_1000_small", kind, 1000, of: 1000) }
            if report.wants("upload_100_mb") { try await upload(report, "upload_100_mb", kind, 100, of: 1 << 20) }
            if report.wants("visible_ms") || report.wants("upload_start_ms") { try await saves(report, kind) }
        }
        if report.wants("requests_per_file"), report.wants(variant: "s3") { try await requests(report, min(report.size ?? 10_000, 10_000)) }
        try await DocumentFigures.run(report)
        if report.wants("idle_cpu_percent") || report.wants("agent_rss") { try await idle(report) }
    }

    /// Measures a first upload, against `rclone copy --transfers 8` of the same files.
    private static func upload(_ report: Report, _ metric: String, _ kind: String, _ count: Int, of size: Int) async throws {
        try await CloudScene.with(kind) { scene in
            var (ours, references): ([Double], [Double]) = ([], [])
            for round in 0..<3 {
                let root = try scene.files("device\(round)", count, of: size)
                let cloud = try scene.configuration("ours\(round)")
                let (runner, store) = try await scene.runner(root, cloud)
                ours.append(try await seconds { try await runner.finish() })
                await store.close()
                let reference = try scene.configuration("reference\(round)")
                references.append(
                    try await seconds {
                        try await scene.rclone(["copy", "--transfers", "8", root.appending("bench").string, reference.remote], reference)
                    })
            }
            report.line(
                metric, variant: kind, unit: "s", ours: median(ours), reference: median(references), referenceName: "rclone copy --transfers 8")
        }
    }

    /// Counts the requests of a first upload to S3.
    private static func requests(_ report: Report, _ count: Int) async throws {
        try await CloudScene.with("s3") { scene in
            let proxy = try CountingProxy(to: scene.port)
            let root = try scene.files("device", count, of: 100)
            let (runner, store) = try await scene.runner(root, scene.configuration("ours", through: proxy.port))
            let before = proxy.requests
            try await runner.finish()
            let ours = Double(proxy.requests - before) / Double(count)
            await store.close()
            let start = proxy.requests
            let reference = try scene.configuration("reference", through: proxy.port)
            try await scene.rclone(["copy", "--transfers", "8", root.appending("bench").string, reference.remote], reference)
            report.line(
                "requests_per_file", variant: "s3, \(count) files", unit: "requests", ours: ours,
                reference: Double(proxy.requests - start) / Double(count), referenceName: "rclone copy --transfers 8")
            proxy.stop()
        }
    }

    // MARK: The agent

    private static func device(_ scene: CloudScene, _ name: String, _ cloud: CloudConfiguration) throws -> DeviceHome {
        let home = DeviceHome(scene.directory.appending("\(name)-home"))
        let root = scene.directory.appending("\(name)-root")
        try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
        try home.signIn(scene.account, containers: root)
        try HomeSettings(home).configure(["transport": "cloud", "cloud": cloud])
        return home
    }

    private static func start(_ home: DeviceHome) async throws -> RunningTool {
        let agent = try await RunningTool("ubtransfer", ["--home", home.path.string], limit: nil)
        while !TransferClient(home).hasAgent { try await Task.sleep(for: .milliseconds(10)) }
        _ = try await TransferClient(home).ask(.now)
        return agent
    }

    /// Measures from the moment when a file is in its place until its bytes are in the cloud, and until another device has it.
    private static func saves(_ report: Report, _ kind: String) async throws {
        try await CloudScene.with(kind) { scene in
            let cloud = try scene.configuration("agents")
            let (one, two) = (try device(scene, "one", cloud), try device(scene, "two", cloud))
            let agents = [try await start(one), try await start(two)]
            let peer = PeerIdentifier("bench~\(UUID().uuidString.lowercased())")!
            let content = "bench/org.example.bench/CoreData/Bench/\(peer)/1"
            let (source, target) = (
                scene.directory.appending("one-root").pushing(FilePath(content)), scene.directory.appending("two-root").pushing(FilePath(content))
            )
            try FileManager.default.createDirectory(atPath: source.string, withIntermediateDirectories: true)
            let data = scene.directory.appending("server/data")
            var (starts, arrivals): ([Double], [Double]) = ([], [])
            for round in 0..<12 {
                let name = "\(round).ublog"
                try await Task.sleep(for: .milliseconds(700))
                let begin = ContinuousClock.now
                try Data("a save".utf8).write(to: URL(filePath: source.appending(name).string), options: .atomic)
                func wait(_ isThere: () -> Bool) async throws -> Double {
                    while !isThere() { try await Task.sleep(for: .milliseconds(2)) }
                    return begin.duration(to: .now) / .milliseconds(1)
                }
                starts.append(
                    try await wait {
                        FileManager.default.enumerator(atPath: data.string)?.contains { ($0 as? String)?.hasSuffix("/1/\(name)") == true } == true
                    })
                arrivals.append(try await wait { FileManager.default.fileExists(atPath: target.appending(name).string) })
            }
            report.line("upload_start_ms", variant: "\(kind), until the bytes are there", unit: "ms", ours: median(starts))
            report.line("visible_ms", variant: "\(kind), on another device", unit: "ms", ours: median(arrivals))
            for agent in agents { _ = try await agent.stop() }
        }
    }

    /// Measures an agent that has nothing to do.
    private static func idle(_ report: Report) async throws {
        try await CloudScene.with("webdav") { scene in
            let home = try device(scene, "one", try scene.configuration("agents"))
            let agent = try await start(home)
            // The first half minute asks often.
            try await Task.sleep(for: .seconds(40))
            let processes = ([agent.identifier] + ProcessFacts(agent.identifier).children).map(ProcessFacts.init)
            let seconds = report.size.map(Double.init) ?? 120
            let before = processes.map(\.processorTime)
            try await Task.sleep(for: .seconds(seconds))
            let used = zip(processes, before).map { $0.processorTime - $1 }
            report.line("idle_cpu_percent", variant: "agent and rclone", unit: "% of a core", ours: used.reduce(0, +) / seconds * 100)
            report.line("agent_rss", variant: "agent", unit: "MB", ours: Double(processes[0].residentMemory) / 1e6)
            if processes.count > 1 {
                report.line("agent_rss", variant: "rclone", unit: "MB", ours: Double(processes[1].residentMemory) / 1e6, main: false)
            }
            _ = try await agent.stop()
        }
    }
}
