import Foundation
import SystemPackage
import Testing
import ToolProcesses
import Waiting

/// What a running program has open, as proc(5) tells.
@Suite(.timeLimit(.minutes(40)))
struct DescriptorTests {
    private struct Descriptor {
        var target: String
        var isClosedOnExec: Bool
    }

    private func descriptors(of process: Int32) throws -> [Int: Descriptor] {
        var found: [Int: Descriptor] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd") {
            // One may be closed meanwhile.
            guard let number = Int(name), let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/fd/\(name)"),
                let facts = try? String(contentsOfFile: "/proc/\(process)/fdinfo/\(name)", encoding: .utf8),
                let flags = facts.split(separator: "\n").first(where: { $0.hasPrefix("flags:") })?.split(separator: "\t").last
            else { continue }
            found[number] = Descriptor(target: target, isClosedOnExec: try #require(Int(flags, radix: 8)) & 0o2_000_000 != 0)
        }
        return found
    }

    /// Starts a program with two descriptors that are not its own, beside those of any program.
    private func start(_ command: String, in directory: FilePath) async throws -> RunningTool {
        try await RunningTool("/bin/sh", ["-c", "exec 7<>\(directory)/given-7 9<>\(directory)/given-9 && exec \(command)"])
    }

    /// The descriptors that a program has opened, after a look at those that it was given.
    private func own(_ tool: RunningTool, in directory: FilePath) throws -> [Int: Descriptor] {
        let all = try descriptors(of: tool.identifier)
        for number in [7, 9] { #expect(all[number]?.target == "\(directory)/given-\(number)" && all[number]?.isClosedOnExec == false) }
        let own = all.filter { $0.key > 2 && ![7, 9].contains($0.key) }
        #expect(own.values.allSatisfy { $0.isClosedOnExec }, "\(own)")
        return own
    }

    @Test(
        "S-123, W-17: a program that follows its account through all changes opens only what exec closes, one inotify instance among it, and closes nothing that it was given"
    )
    func store() async throws {
        try await withDevices(2) { devices in
            let (device, directory) = (devices[0], devices[0].root.removingLastComponent())
            let tool = try await start("\(Tool.path("people")) run --home \(device.home)", in: directory)
            let lines = tool.lines.limited("lines of people run").makeAsyncIterator()
            func hears(_ what: String) async throws {
                while let line = try await lines.next(), !line.hasPrefix(what) {}
            }
            func look() throws -> [Int: Descriptor] {
                let own = try own(tool, in: directory)
                // However many directories it watches: 128 instances are the limit of a user.
                #expect(own.values.count { $0.target.hasPrefix("anon_inode:inotify") } == 1, "\(own)")
                return own
            }
            try await hears("did change: initialImportCompleted")
            #expect(try look().values.contains { $0.target.hasSuffix("/store/People.sqlite") })
            let added = try await devices[1].run("people", "add", "Ann", "--email", "ann@example.org", "--state", "VT")
            #expect(added.status == 0, "\(added)")
            try await hears("imported 1")
            for _ in 0..<2 {
                #expect(try await device.run("ubcontrol", "sign-out").status == 0)
                try await hears("did change: accountRemoved")
                _ = try look()
                #expect(try await device.run("ubcontrol", "sign-in", "alice", "--containers", device.root.string).status == 0)
                try await hears("did change: accountAdded")
            }
            _ = try look()
            #expect(try await tool.stop().status == 0)
        }
    }

    @Test("S-123: the broker opens only what exec closes, and closes nothing that it was given")
    func broker() async throws {
        try await withPlayers(0) { scene, _ in
            let tool = try await start("\(Tool.path("ubiquityd")) --directory \(scene.runtime)", in: scene.directory)
            try await until("the broker listens") { FileManager.default.fileExists(atPath: scene.runtime.appending("broker.socket").string) }
            let player = try await scene.participant()
            try await player.say("write a \(scene.path("f"))")
            try await player.hears("granted a")
            #expect(try await scene.broker().process == tool.identifier)
            let own = try own(tool, in: scene.directory)
            #expect(own.values.contains { $0.target.hasPrefix("socket:") }, "\(own)")
            await player.end()
            try await tool.stop()
        }
    }
}
