import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// A store that follows the account, in real processes that are killed on the way from file to file.
struct AccountKillTests {
    /// Each point of a join, the first time (from this device's file to the fallback file) and the second (from there to the account's).
    private static let points = ["life.joined", "life.synced", "life.swapped", "life.emptied", "life.done"].flatMap { ["\($0):1", "\($0):2"] }

    private func names(_ device: ToolDevice) async throws -> [String] {
        let outcome = try await device.run("people", "list")
        try #require(outcome.status == 0, "\(outcome)")
        return outcome.output.split(separator: "\n").map(String.init)
    }

    private func signIn(_ account: String, _ device: ToolDevice) async throws {
        #expect(try await device.run("ubcontrol", "sign-in", account, "--containers", device.root.string).status == 0)
    }

    /// Enters people while nobody is signed in, signs in, and is killed on the way to the account's file.
    private func killed(at point: String, _ device: ToolDevice) async throws {
        #expect(try await device.run("ubcontrol", "sign-out").status == 0)
        for name in ["a", "b", "c"] { #expect(try await device.run("people", "add", name, "--email", "\(name)@x").status == 0) }
        try await signIn("alice", device)
        let killed = try await device.run("people", "list", environment: ["UBIQUITY_KILL_AT": point])
        #expect(killed.signal == SIGKILL, "\(killed)")
    }

    @Test("A kill at any point of a sign-in's join loses nothing, joins nothing twice, and leaves nothing behind", arguments: ["life.given"] + points)
    func survives(point: String) async throws {
        try await withDevices(2) { devices in
            let expected = ["a <a@x>", "b <b@x>", "c <c@x>"]
            try await killed(at: point, devices[0])
            #expect(try await names(devices[0]) == expected)
            #expect(try await names(devices[1]) == expected)
            // Each save is a log, and none is there twice.
            let logs = FilePath("alice/org.example.people")
            let files = try FileManager.default.subpathsOfDirectory(atPath: devices[0].root.pushing(logs).string)
            #expect(files.count { $0.hasSuffix(".ublog") } == 3)
            #expect(try await devices[0].run("people", "duplicates").output == "")
            #expect(try await devices[0].run("ubcontrol", "sign-out").status == 0)
            #expect(try await names(devices[0]) == [])
        }
    }

    @Test("What was given to one account and left half way by a kill goes to no other that signs in instead", arguments: ["life.given"] + points)
    func staysGiven(point: String) async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            try await killed(at: point, device)
            try await signIn("bob", device)
            #expect(try await names(device) == [])
            #expect(try await device.run("people", "add", "d", "--email", "d@x").status == 0)
            try await signIn("alice", device)
            #expect(try await names(device) == ["a <a@x>", "b <b@x>", "c <c@x>"])
            try await signIn("bob", device)
            #expect(try await names(device) == ["d <d@x>"])
        }
    }

    @Test(
        "S-056: accounts by turns while other processes save all the time: each save that was acknowledged is in one account, and none in two")
    func turns() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            let saved = try await withThrowingTaskGroup(of: [String].self) { group in
                let turning = Task {
                    for turn in 0..<12 {
                        switch turn % 3 {
                        case 0: try await signIn("bob", device)
                        case 1: #expect(try await device.run("ubcontrol", "sign-out").status == 0)
                        default: try await signIn("alice", device)
                        }
                        // A store that stays open follows as well.
                        _ = try await device.run("people", "where")
                    }
                }
                let running = try await RunningTool("people", ["run", "--home", device.home.string])
                for writer in 0..<2 {
                    group.addTask {
                        var saved: [String] = []
                        for number in 0..<15 {
                            let name = "w\(writer)n\(number)"
                            let outcome = try await device.run("people", "add", name, "--email", "\(name)@x")
                            #expect(outcome.status == 0, "\(outcome)")
                            saved.append("\(name) <\(name)@x>")
                        }
                        return saved
                    }
                }
                var all: [String] = []
                for try await saved in group { all += saved }
                try await turning.value
                _ = try await running.stop()
                return all
            }
            try await signIn("bob", device)
            let bob = try await names(device)
            try await signIn("alice", device)
            let alice = try await names(device)
            #expect(Set(alice).isDisjoint(with: bob))
            #expect((alice + bob).sorted() == saved.sorted())
        }
    }
}
