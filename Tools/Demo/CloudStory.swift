import Foundation
import Glibc
import SystemPackage
import ToolProcesses

/// Two devices that share nothing but an encrypted directory on a WebDAV server.
struct CloudStory {
    private let directory: FilePath
    private let first: Device
    private let second: Device
    private var server: RunningTool?
    private var agents: [RunningTool] = []

    init(directory: FilePath) {
        self.directory = directory
        first = Device(name: "desk", home: directory.appending("desk"))
        second = Device(name: "phone", home: directory.appending("phone"))
    }

    private static let checkout = FilePath(#filePath).removingLastComponent().removingLastComponent().removingLastComponent()
    private static let rclone = checkout.appending(".build/tools/rclone-1.75.2/rclone")
    private static let account = "alice@example.org"
    private var data: FilePath { directory.appending("server/data") }
    private var config: FilePath { directory.appending("rclone.conf") }

    private func root(_ device: Device) -> FilePath { directory.appending("\(device.name)-root") }
    private func container(_ device: Device) -> FilePath { root(device).appending(Self.account).appending("org.example.notes") }

    mutating func tell(_ checks: inout Checks) async throws {
        try await serve(&checks)
        try await setUp(&checks)
        try await importRows(&checks)
        try await killInTheMiddle(&checks)
        try await wipeContainer(&checks)
        try await emptyCloud(&checks)
    }

    func end() async {
        await first.stop()
        await second.stop()
        for agent in agents { _ = try? await agent.stop() }
        _ = try? await server?.stop()
    }

    /// What a status of the transfer says, as far as the demo reads it.
    private struct Status: Decodable {
        var activity: String
        var block: String?
        var reason: String?
        var filesInCloud: Int
        var filesToSend: Int
        var filesToFetch: Int
    }

    private func status(_ device: Device, _ command: String = "status") async throws -> Status {
        let outcome = try await Tool.run("ubcontrol", ["transfer", command, "--json", "--home", device.home])
        return try JSONDecoder().decode(Status.self, from: Data(outcome.output.utf8))
    }

    // MARK: The story

    private mutating func serve(_ checks: inout Checks) async throws {
        struct Facts: Decodable { var config: String, root: String, port: Int }
        let server = try await RunningTool(
            Self.checkout.appending("Tools/services/cloud").string, ["webdav", directory.appending("server").string], limit: nil)
        self.server = server
        var line = ""
        for await first in server.lines {
            line = first
            break
        }
        let facts = try JSONDecoder().decode(Facts.self, from: Data(line.utf8))
        let obscured = try await Tool.run(Self.rclone.string, ["obscure", "correct horse battery staple"]).output
        let text = try String(contentsOfFile: facts.config, encoding: .utf8)
        try Data(
            "\(text)\n[secret]\ntype = crypt\nremote = cloud:Ubiquity\npassword = \(obscured.trimmingCharacters(in: .whitespacesAndNewlines))\n".utf8
        ).write(to: URL(filePath: config.string))
        chmod(config.string, 0o600)
        checks.check("a WebDAV server runs, and rclone encrypts what goes there", !line.isEmpty, "port \(facts.port) of this machine")
    }

    private mutating func setUp(_ checks: inout Checks) async throws {
        for device in [first, second] {
            try FileManager.default.createDirectory(atPath: root(device).string, withIntermediateDirectories: true)
            try await device.run(
                "ubcontrol",
                [
                    "setup", "cloud", "secret:", "--account", Self.account, "--name", device.name, "--containers", root(device).string, "--rclone",
                    Self.rclone.string, "--rclone-config", config.string, "--no-start", "--yes",
                ])
            agents.append(try await RunningTool("ubtransfer", ["--home", device.home], limit: nil))
        }
        try await until("both agents answer") { device in (try? await status(device)) != nil }
        for device in [first, second] { try await device.start() }
        let states = try await (status(first, "now"), status(second, "now"))
        checks.check(
            "two devices share nothing but the server", states.0.activity == "idle" && states.1.activity == "idle",
            "each has its own directory and its own agent; both say: up to date")
    }

    private func importRows(_ checks: inout Checks) async throws {
        let count = 4000
        let file = directory.appending("notes.csv")
        try CSVRows.text(count: count).write(toFile: file.string, atomically: true, encoding: .utf8)
        let start = ContinuousClock.now
        try await first.run("notes", ["import", file.string])
        try await second.wait(for: "the import") { $0.reduce(0) { $0 + ($1.inserted ?? 0) } >= count }
        let time = start.duration(to: .now).formatted(.units(allowed: [.seconds, .milliseconds], maximumUnitCount: 1))
        let (left, right) = try await (first.list(), second.list())
        checks.check(
            "an import of \(count) rows on \(first.name) arrives on \(second.name) by itself", left.count == count && left == right,
            "all of it on \(second.name) after \(time)")
        let objects = try FileManager.default.subpathsOfDirectory(atPath: data.string)
        checks.check(
            "the server holds neither names nor contents that can be read",
            !objects.isEmpty && !objects.contains { $0.contains("notes") || $0.contains("ublog") || $0.contains("alice") },
            "for example \(objects.last { $0.contains("/") }?.split(separator: "/").last.map(String.init) ?? "–")")
    }

    /// Kills an agent and its rclone while they send.
    private mutating func killInTheMiddle(_ checks: inout Checks) async throws {
        for number in 0..<20 { try await first.run("notes", ["add", "Note \(number), written while the agent is killed"]) }
        for child in ProcessFacts(agents[0].identifier).children { kill(child, SIGKILL) }
        agents[0].signal(SIGKILL)
        _ = try? await agents[0].end()
        try await first.run("notes", ["add", "Written while no agent runs"])
        agents[0] = try await RunningTool("ubtransfer", ["--home", first.home], limit: nil)
        let wanted = try await first.list()
        try await until("everything arrives") { [second] _ in try await second.list() == wanted }
        checks.check(
            "an agent and its rclone that are killed in the middle lose nothing", true, "\(wanted.count) notes on both, every column of each compared"
        )
    }

    private func wipeContainer(_ checks: inout Checks) async throws {
        let before = try await second.list()
        try FileManager.default.removeItem(atPath: container(second).string)
        let mark = container(second).appending(".ubiquity").string
        try await until("the container is back") { _ in (try? FileManager.default.contentsOfDirectory(atPath: mark).count) == 2 }
        let (left, right) = try await (first.list(), second.list())
        checks.check(
            "a container that is deleted on one device comes back from the cloud", left == before && right == before,
            "absence proves nothing: \(right.count) notes on both, and the other device never missed a file")
    }

    private func emptyCloud(_ checks: inout Checks) async throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: data.string) {
            try FileManager.default.removeItem(atPath: data.appending(name).string)
        }
        let blocked = try await (status(first, "now"), status(second, "now"))
        let lists = try await (first.list().count, second.list().count)
        checks.check(
            "an emptied cloud removes nothing, and both devices say so",
            blocked.0.block == "remoteReplaced" && blocked.1.block == "remoteReplaced" && lists.0 == lists.1 && lists.0 > 4000,
            blocked.0.reason ?? "–")
        for device in [first, second] { try await device.run("ubcontrol", ["transfer", "republish", "--yes"]) }
        try await first.run("notes", ["add", "After the cloud was filled again"])
        let wanted = try await first.list()
        try await until("the cloud works again") { [second] _ in try await second.list() == wanted }
        let states = try await (status(first, "now"), status(second, "now"))
        checks.check(
            "a person's word fills it again from the devices", states.0.activity == "idle" && states.1.activity == "idle",
            "\(states.0.filesInCloud) files in the cloud, \(wanted.count) notes on both")
    }

    // MARK: Waiting

    private func until(_ what: String, _ condition: (Device) async throws -> Bool) async throws {
        for device in [first, second] {
            let deadline = ContinuousClock.now + .seconds(90)
            while try await !condition(device) {
                guard ContinuousClock.now < deadline else { throw Device.Failure(description: "90 s were not enough until \(what)") }
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }
}
