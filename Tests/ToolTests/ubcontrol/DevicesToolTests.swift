import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// `ubcontrol devices`, with programs that run on them.
@Suite(.timeLimit(.minutes(40)))
struct DevicesToolTests {
    private struct Device: Decodable {
        var name: String
        var account: String
        var home: String
        var containers: String

        func run(_ tool: String, _ arguments: String...) async throws -> String {
            let outcome = try await Tool.run(tool, arguments, environment: ["UBIQUITY_HOME": home])
            try #require(outcome.status == 0, "\(outcome)")
            return outcome.output
        }

        var directory: FilePath { FilePath(home).removingLastComponent().removingLastComponent() }
    }

    /// Starts devices, and reads what they are.
    private func start(_ count: Int, _ arguments: String...) async throws -> (RunningTool, [Device]) {
        let running = try await RunningTool("ubcontrol", ["devices", "\(count)", "--json"] + arguments)
        var devices: [Device] = []
        for await line in running.lines {
            devices.append(try JSONDecoder().decode(Device.self, from: Data(line.utf8)))
            if devices.count == count { return (running, devices) }
        }
        let outcome = try await running.end()
        try #require(Bool(false), "they do not start: \(outcome)")
        return (running, [])
    }

    private func end(_ running: RunningTool) async throws {
        running.signal(SIGINT)
        let outcome = try await running.end()
        #expect(outcome.status == 0, "\(outcome)")
    }

    @Test(
        "S-133: one command starts devices with the same account and others; what is saved on one comes to the account's other by itself, and to nobody else"
    )
    func start() async throws {
        let (running, devices) = try await start(3, "--accounts", "alice,bob")
        #expect(devices.map(\.account) == ["alice", "bob", "alice"])
        let (first, bob, second) = (devices[0], devices[1], devices[2])
        let following = try await RunningTool("people", ["run"], environment: ["UBIQUITY_HOME": second.home])
        _ = try await first.run("people", "add", "Ann", "--email", "ann@x")
        // Each line tells of something that has happened there: what has come is looked for then.
        for await _ in following.lines where try await second.run("people", "list") == "Ann <ann@x>\n" { break }
        try await following.stop()
        #expect(try await second.run("people", "list") == "Ann <ann@x>\n")
        #expect(try await bob.run("people", "list") == "")
        try await end(running)
        #expect(!FileManager.default.fileExists(atPath: first.directory.string))
    }

    @Test("Devices that are kept go on with what they held")
    func keep() async throws {
        let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-test-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        let (running, devices) = try await start(1, "--directory", directory.string, "--keep")
        _ = try await devices[0].run("people", "add", "Ann", "--email", "ann@x")
        try await end(running)
        let (again, others) = try await start(2, "--directory", directory.string)
        let following = try await RunningTool("people", ["run"], environment: ["UBIQUITY_HOME": others[1].home])
        for await _ in following.lines where try await others[1].run("people", "list") == "Ann <ann@x>\n" { break }
        try await following.stop()
        #expect(try await others[1].run("people", "list") == "Ann <ann@x>\n")
        try await end(again)
        // It was there before.
        #expect(FileManager.default.fileExists(atPath: directory.string))
    }

    @Test(
        "No devices, and accounts that are none, are refused",
        arguments: [["0"], ["101"], ["2", "--accounts", "a,,b"], ["2", "--accounts", "local"]])
    func refuses(_ arguments: [String]) async throws {
        #expect(try await Tool.run("ubcontrol", ["devices"] + arguments).status == 64)
    }
}
