import Foundation
import ObjectTransfer
import SystemPackage
import Testing
import ToolProcesses
import UbiquityContainers
import UbiquityTesting
import Waiting

/// `ubcontrol setup cloud` and the user's systemd, for which a program named systemctl stands.
struct ServiceSetupTests {
    /// A user whose systemd notes what it is asked.
    private struct User {
        let world: AgentWorld
        let home: FilePath

        /// - Parameters:
        ///   - world: where the user lives.
        ///   - starting: what starting the unit does, as a line of a shell; by default it starts the agent. An empty
        ///     line means that there is no unit.
        /// - Throws: what writing the program throws.
        init(_ world: AgentWorld, starting: String? = nil) throws {
            self.world = world
            home = world.directory.appending("user/.local/share/ubiquity")
            let agent = "\(Tool.path("ubtransfer")) --home \(home) > /dev/null 2>&1 < /dev/null"
            let starting = starting ?? "setsid --fork sh -c 'echo $$ > \(world.directory)/pid; exec \(agent)'"
            let script = """
                #!/bin/sh
                echo "$@" >> \(world.directory)/calls
                case "$2" in
                cat) exit \(starting.isEmpty ? 1 : 0) ;;
                enable) \(starting.isEmpty ? "exit 1" : starting) ;;
                disable) kill $(cat \(world.directory)/pid) ;;
                is-failed) test -e \(world.directory)/failed ;;
                esac

                """
            let program = world.directory.appending("bin/systemctl").string
            for directory in ["bin", "user"] {
                try FileManager.default.createDirectory(atPath: world.directory.appending(directory).string, withIntermediateDirectories: true)
            }
            try Data(script.utf8).write(to: URL(filePath: program))
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        }

        /// What systemd was asked so far, without the questions.
        var orders: [String] {
            let calls = (try? String(contentsOfFile: world.directory.appending("calls").string, encoding: .utf8)) ?? ""
            return calls.split(separator: "\n").map(String.init).filter { $0.contains("able") }
        }

        func ubcontrol(_ arguments: [String], status: Int32 = 0) async throws -> String {
            let outcome = try await Tool.run(
                "ubcontrol", arguments,
                environment: [
                    "PATH": "\(world.directory)/bin:/usr/bin:/bin", "HOME": world.directory.appending("user").string, "UBIQUITY_HOME": "",
                    "XDG_DATA_HOME": "",
                ])
            #expect(outcome.status == status, "\(arguments): \(outcome)")
            return outcome.output + outcome.errors
        }

        func setUp(_ more: [String] = [], status: Int32 = 0) async throws -> String {
            let words = ["setup", "cloud", world.cloud.string, "--account", "ann", "--name", "mac", "--yes"] + more
            return try await ubcontrol(words, status: status)
        }
    }

    @Test("If the user's systemd knows the agent, setup lets it start the agent now and at each login, and undo lets it stop")
    func unit() async throws {
        try await AgentWorld.with { world in
            let user = try User(world)
            let said = try await user.setUp()
            #expect(
                said.contains("Started the transfer agent with systemd, now and at each login.") && said.contains("undo: ubcontrol setup undo"),
                "\(said)")
            #expect(user.orders == ["--user enable --now ubtransfer.service"])
            // An agent that runs goes on.
            #expect(try await !user.setUp(["--json"]).contains("\"step\""))
            #expect(user.orders.count == 1)
            let undone = try await user.ubcontrol(["setup", "undo", "--yes"])
            #expect(undone.contains("Stopped the transfer agent, ubtransfer.service"), "\(undone)")
            #expect(user.orders.last == "--user disable --now ubtransfer.service" && user.orders.count == 2)
            try await until("the agent has ended") { !TransferClient(DeviceHome(user.home)).hasAgent }
        }
    }

    @Test("Without the unit, with --no-service, and for another home than the usual one, setup starts the agent itself")
    func alone() async throws {
        try await AgentWorld.with { world in
            let other = world.directory.appending("other")
            for (starting, more) in [("", []), (nil, ["--no-service"]), (nil, ["--home", other.string])] as [(String?, [String])] {
                let user = try User(world, starting: starting)
                let said = try await user.setUp(more)
                #expect(said.contains("Started the transfer agent, which runs until this device is switched off"), "\(more): \(said)")
                #expect(user.orders == [])
                try await world.endAgents()
                // A process has no name any more some time before its locks end.
                try await until("the agent has left the home") { !TransferClient(DeviceHome(user.home)).hasAgent }
            }
        }
    }

    @Test("A unit that cannot start is told with systemd's reason, and later commands say that it has failed and how it is started again")
    func failure() async throws {
        try await AgentWorld.with { world in
            let user = try User(world, starting: "touch \(world.directory)/failed; echo Job for ubtransfer.service failed.; exit 1")
            let said = try await user.setUp(status: 1)
            #expect(said.contains("Job for ubtransfer.service failed.") && said.contains("systemctl --user status ubtransfer.service"), "\(said)")
            for (words, status) in [(["transfer"], 69), (["doctor"], 1)] as [([String], Int32)] {
                let said = try await user.ubcontrol(words, status: status)
                #expect(said.contains("has failed") && said.contains("journalctl --user -u ubtransfer"), "\(said)")
                #expect(said.contains("systemctl --user restart ubtransfer"), "\(said)")
            }
            try FileManager.default.removeItem(atPath: world.directory.appending("failed").string)
            #expect(try await user.ubcontrol(["transfer"], status: 69).contains("start it with: systemctl --user start ubtransfer"))
        }
    }
}
