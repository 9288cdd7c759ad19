import Foundation
import Glibc
import SyncthingStatus
import SystemPackage
import Testing
import ToolProcesses
import UbiquityContainers
import Waiting

/// Two devices that have nothing, and are connected by `ubcontrol setup`.
@Suite("setup with Syncthing", .serialized, .asking)
struct SetupTests {
    /// Sets up one device and lets another one join; returns what both printed.
    private func connect(_ a: BareDevice, _ b: BareDevice) async throws -> (a: [SetupLine], b: [SetupLine]) {
        let first = try await a.start(a.setUpArguments([]))
        var (lines, code) = ([SetupLine](), String?.none)
        let reading = first.lines.limited("lines of the first device", limit: patience).makeAsyncIterator()
        while code == nil, let text = try await reading.next() {
            let line = try SetupLine.one(text)
            lines.append(line)
            code = line.code
        }
        let joined = try await b.control(b.joinArguments(try #require(code), ["--at", a.address]))
        try #require(joined.status == 0, "\(joined)")
        while let text = try await reading.next() { lines.append(try SetupLine.one(text)) }
        let outcome = try await first.end()
        try #require(outcome.status == 0, "\(outcome)")
        return (lines, try SetupLine.all(in: joined.output))
    }

    @Test("T-40: from nothing to a note that is seen on the other device takes two commands on each, and a second run of both changes nothing")
    func fromNothing() async throws {
        try await withBareDevices(2) { devices in
            let (a, b) = (devices[0], devices[1])
            let lines = try await connect(a, b)
            let (first, second) = (try await a.status(), try await b.status())
            #expect(lines.a.last?.kind == "joined" && lines.a.last?.device == second.syncthing?.device, "\(lines.a)")
            #expect(lines.b.last?.kind == "joined" && lines.b.last?.device == first.syncthing?.device, "\(lines.b)")
            try await a.add("Milk")
            try await until("the note is seen on the other device", limit: patience) { try await b.titles() == ["Milk"] }
            try await b.add("Bread")
            try await until("both hold both notes", limit: patience) { try await a.titles() == ["Bread", "Milk"] }

            for (status, other) in [(first, second), (second, first)] {
                #expect(status.isReady && status.account == "alice" && status.transport == "syncthing" && !status.hasOpenCode, "\(status)")
                #expect(status.devices.map(\.device) == [other.syncthing?.device] && status.devices.allSatisfy { $0.isConnected && $0.sees })
                // The proof has been put away, and the devices know each other's names.
                #expect(status.devices.allSatisfy { $0.name == HomeSettings.hostName }, "\(status)")
            }
            for device in devices {
                let folder = try #require(try await device.client.folders().first { $0.id == "ubiquity-alice" })
                #expect(
                    folder.type == "sendreceive" && folder.maxConflicts == -1 && folder.isWatched && folder.label == "Ubiquity alice", "\(folder)")
                #expect(try String(contentsOfFile: device.root.appending(".stignore").string, encoding: .utf8) == "*.nosync\n")
                let doctor = try await device.control(["doctor", "--home", device.home.string])
                #expect(doctor.status == 0 && doctor.output.contains("0 faults, 0 warnings"), "\(doctor)")
            }

            // Once more: the first shows a code for another device, the second has nothing to do.
            let before = try (a.state(), b.state())
            let code = try await a.setUp()
            #expect(try await a.setUp() == code, "an open code is shown again")
            let again = try await b.control(b.joinArguments(code))
            let said = try SetupLine.all(in: again.output).map(\.kind)
            #expect(again.status == 0 && said == ["joined"], "\(again)")
            #expect(try b.state() == before.1)
            #expect(try a.state().filter { !$0.key.hasSuffix("setup.json") } == before.0.filter { !$0.key.hasSuffix("setup.json") })
            #expect(try await a.titles() == ["Bread", "Milk"])
        }
    }

    @Test("T-42: each step says what it did and the command that undoes it; these commands, the last first, leave no trace but the notes")
    func undoing() async throws {
        try await withBareDevices(2) { devices in
            let (a, b) = (devices[0], devices[1])
            let lines = try await connect(a, b)
            try await a.add("Milk")
            try await until("the note is seen on the other device", limit: patience) { try await b.titles() == ["Milk"] }
            for (device, lines) in [(a, lines.a), (b, lines.b)] {
                let steps = lines.filter { $0.kind == "step" }
                #expect(steps.count >= 8 && steps.allSatisfy { $0.what?.isEmpty == false && $0.undo?.isEmpty == false }, "\(steps)")
                #expect(device.processes.isEmpty == false)
                for step in steps.reversed() {
                    let words = try #require(step.undo).replacing("ubcontrol setup undo", with: "ubcontrol setup undo --yes")
                    let path = Tool.path("ubcontrol").removingLastComponent().string
                    let outcome = try await Tool.run("/bin/bash", ["-euc", words], environment: ["PATH": "\(path):/usr/bin:/bin"])
                    #expect(outcome.status == 0, "\(words): \(outcome)")
                    if words.contains("setup undo") {
                        try await until("Syncthing has ended", limit: patience) { device.processes.isEmpty }
                    }
                }
                #expect(try String(contentsOfFile: device.configuration.string, encoding: .utf8) == "{\n  \"format\" : 1\n}\n")
                #expect(!FileManager.default.fileExists(atPath: device.home.appending("setup.json").string))
                #expect(!FileManager.default.fileExists(atPath: device.syncthing.string))
                let account = try await device.control(["account", "--home", device.home.string])
                #expect(account.status == 1, "\(account)")
                // No file of the account's was deleted, here or on the other device.
                #expect(try FileManager.default.contentsOfDirectory(atPath: device.root.string).filter { !$0.hasPrefix(".") } == ["alice"])
            }
            for device in devices {
                let signedIn = try await device.control(["sign-in", "alice", "--containers", device.root.string, "--home", device.home.string])
                #expect(signedIn.status == 0)
                #expect(try await device.titles() == ["Milk"])
            }
        }
    }

    @Test("T-41: a setup that is killed behind any of its steps, on either device, is completed by running it again", arguments: [0, 1])
    func killed(turn: Int) async throws {
        try await withBareDevices(2) { devices in
            let (a, b) = (devices[0], devices[1])
            /// Runs a command again and again, and kills it behind its next step, or behind the one after that.
            func persist(_ device: BareDevice, _ arguments: [String]) async throws -> String? {
                for round in 0..<40 {
                    let running = try await device.start(arguments)
                    var code: String?
                    var steps = 0
                    for try await text in running.lines.limited("lines", limit: patience) {
                        let line = try SetupLine.one(text)
                        code = line.code ?? code
                        guard line.kind == "step" else { continue }
                        steps += 1
                        if steps > (round + turn) % 2 { running.signal(SIGKILL) }
                    }
                    let outcome = try await running.end()
                    guard outcome.status != nil else { continue }
                    #expect(outcome.status == 0, "\(outcome)")
                    return code
                }
                throw SetupError("40 runs were not enough")
            }
            let code = try #require(try await persist(a, a.setUpArguments(["--no-wait"])))
            // The device that joins gets as far as it can without the other one.
            _ = try await persist(b, b.joinArguments(code, ["--at", a.address, "--no-wait"]))
            // Both sides are killed while they pair, too.
            let waiting = try await a.start(a.setUpArguments([]))
            for try await text in waiting.lines.limited("lines", limit: patience) {
                let line = try SetupLine.one(text)
                if line.kind == "step" || line.kind == "joined" {
                    waiting.signal(SIGKILL)
                    break
                }
            }
            _ = try await waiting.end()
            // Where it was killed too late, nothing is left to do.
            async let first = try await a.status().hasOpenCode ? a.control(a.setUpArguments([])) : nil
            let second = try await b.control(b.joinArguments(code, ["--at", a.address]))
            #expect(second.status == 0, "\(second)")
            if let outcome = try await first { #expect(outcome.status == 0, "\(outcome)") }
            let states = [try await a.status(), try await b.status()]
            #expect(states.allSatisfy { $0.devices.count == 1 && $0.devices.allSatisfy(\.sees) }, "\(states)")
            try await a.add("Milk")
            try await until("the note is seen on the other device", limit: patience) { try await b.titles() == ["Milk"] }
            for device in devices { #expect(try await device.client.folders().count == 1) }
        }
    }
}
