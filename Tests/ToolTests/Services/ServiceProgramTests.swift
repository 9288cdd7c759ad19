import Foundation
import SystemPackage
import Testing
import ToolProcesses
import Waiting

/// The programs as services of a manager, for which a socket stands.
@Suite(.timeLimit(.minutes(40)))
struct ServiceProgramTests {
    /// The environment of a service with a watchdog of two seconds.
    ///
    /// The queue of a socket holds eleven notices, and what a service tells while nobody reads for longer is lost.
    private func environment(_ receiver: DatagramReceiver, _ more: [String: String] = [:]) -> [String: String] {
        // A real manager of the machine that tests run on is not meant.
        ["NOTIFY_SOCKET": receiver.address, "WATCHDOG_USEC": "2000000", "WATCHDOG_PID": ""].merging(more) { $1 }
    }

    /// Checks the whole life of a service: ready first, then what it does, signs of life, and the end last.
    private func check(_ lines: [String]) {
        #expect(lines.first == "READY=1" && lines.last == "STOPPING=1", "\(lines)")
        #expect(lines.dropFirst().first?.hasPrefix("STATUS=") == true && lines.contains("WATCHDOG=1"), "\(lines)")
        #expect(lines.filter { $0 == "READY=1" || $0 == "STOPPING=1" }.count == 2, "\(lines)")
    }

    @Test("ubtransfer tells its manager that it is ready, what it does after each change, that it lives, and that it ends")
    func agent() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            let cloud = device.root.removingLastComponent().appending("cloud")
            try FileManager.default.createDirectory(atPath: cloud.string, withIntermediateDirectories: true)
            let receiver = try DatagramReceiver()
            var notices = NoticeReader(receiver)
            let agent = try await RunningTool("ubtransfer", ["--home", device.home.string], environment: environment(receiver))
            try await notices.hears("READY=1")
            try await notices.hears("STATUS=no account with a cloud is signed in")
            // It answers before it says that it is ready.
            #expect(try await device.run("ubcontrol", "transfer", "status", "--json").status == 0)
            let setup = try await device.run("ubcontrol", "setup", "cloud", cloud.string, "--yes")
            #expect(setup.status == 0, "\(setup)")
            try await notices.hears("STATUS=alice: up to date")
            #expect(try await device.run("ubcontrol", "transfer", "pause").status == 0)
            try await notices.hears("STATUS=alice: paused")
            try await notices.hears("WATCHDOG=1")
            let outcome = try await agent.stop()
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome)")
            check(try await notices.all())
        }
    }

    @Test("An agent that no longer answers on its socket is silent, while another one goes on telling that it lives")
    func unreachable() async throws {
        try await withDevices(2) { devices in
            let receivers = try devices.map { _ in try DatagramReceiver() }
            var notices = receivers.map(NoticeReader.init)
            var agents: [RunningTool] = []
            for (device, receiver) in zip(devices, receivers) {
                // Many signs of life are waited for.
                let quick = environment(receiver, ["WATCHDOG_USEC": "200000"])
                agents.append(try await RunningTool("ubtransfer", ["--home", device.home.string], environment: quick))
            }
            for index in notices.indices { try await notices[index].hears("WATCHDOG=1") }
            try FileManager.default.removeItem(atPath: devices[0].home.appending("transfer/agent.sock").string)
            for _ in 0..<3 { try await notices[1].hears("WATCHDOG=1") }
            let before = try await lines(until: receivers[0], &notices[0])
            for _ in 0..<10 { try await notices[1].hears("WATCHDOG=1") }
            for agent in agents { _ = try await agent.stop() }
            let all = try await notices[0].all()
            // A proof that has begun before may still be told, and it is the only one.
            #expect(all.dropFirst(before).count { $0 == "WATCHDOG=1" } <= 1, "\(all)")
            #expect(all.last == "STOPPING=1")
            check(try await notices[1].all())
        }
    }

    /// Reads all that has arrived so far, and returns how many lines that is.
    private func lines(until receiver: DatagramReceiver, _ reader: inout NoticeReader) async throws -> Int {
        receiver.mark("so far")
        try await reader.hears("so far")
        return reader.lines.count
    }

    @Test("ubiquityd tells its manager how many clients it has, that it lives, and that it leaves; started by a client, it tells nothing")
    func broker() async throws {
        try await withPlayers(0) { scene, _ in
            let receiver = try DatagramReceiver()
            var notices = NoticeReader(receiver)
            let broker = try await RunningTool(
                "ubiquityd", ["--directory", scene.runtime.string, "--idle", "0"], environment: environment(receiver, scene.environment))
            try await notices.hears("READY=1")
            try await notices.hears("STATUS=0 clients")
            let player = try await scene.participant()
            try await player.say("write a \(scene.path("f"))")
            try await player.hears("granted a")
            try await notices.hears("STATUS=1 client")
            await player.end()
            try await notices.hears("STATUS=0 clients")
            try await notices.hears("WATCHDOG=1")
            let outcome = try await broker.stop()
            #expect(outcome.status == 0, "\(outcome)")
            check(try await notices.all())

            // A participant that is a service starts a broker, whose manager is not the participant's.
            let strange = try DatagramReceiver()
            let other = try await scene.participant(environment: environment(strange))
            try await other.say("write a \(scene.path("f"))")
            try await other.hears("granted a")
            #expect(try await scene.broker().isResident)
            var silence = NoticeReader(strange)
            await other.end()
            #expect(try await silence.all() == [])
        }
    }

    @Test("A watchdog that is meant for another process gets nothing, although it is due at once")
    func otherProcess() async throws {
        try await withPlayers(0) { scene, _ in
            let receiver = try DatagramReceiver()
            var notices = NoticeReader(receiver)
            let broker = try await RunningTool(
                "ubiquityd", ["--directory", scene.runtime.string, "--idle", "0"],
                environment: environment(receiver, scene.environment.merging(["WATCHDOG_PID": "1", "WATCHDOG_USEC": "2000"]) { $1 }))
            try await notices.hears("STATUS=0 clients")
            try await broker.stop()
            #expect(try await notices.all() == ["READY=1", "STATUS=0 clients", "STOPPING=1"])
        }
    }

    @Test("ubwatch serve tells its manager where the page is, that it lives, and that it ends")
    func page() async throws {
        try await withDevices(1) { devices in
            let receiver = try DatagramReceiver()
            var notices = NoticeReader(receiver)
            let server = try await RunningTool(
                "ubwatch", ["serve", "--port", "0", "--json", "--home", devices[0].home.string], environment: environment(receiver))
            struct Listening: Decodable { var port: Int }
            let line = try #require(try await server.lines.limited("the server's address").makeAsyncIterator().next())
            let port = try JSONDecoder().decode(Listening.self, from: Data(line.utf8)).port
            try await notices.hears("STATUS=the page is on port \(port)")
            try await notices.hears("WATCHDOG=1")
            let outcome = try await server.stop()
            #expect(outcome.status == 0, "\(outcome)")
            check(try await notices.all())
        }
    }

    @Test("A manager that is gone, or an address that is none, costs a service a line on standard error and nothing else")
    func noManager() async throws {
        try await withPlayers(0) { scene, _ in
            for address in ["/tmp/ubiquity-no-manager", "notify"] {
                let broker = try await RunningTool(
                    "ubiquityd", ["--directory", scene.runtime.string, "--idle", "0"],
                    environment: scene.environment.merging(["NOTIFY_SOCKET": address]) { $1 })
                try await until("the broker serves") { try await scene.status()?.process == broker.identifier }
                let outcome = try await broker.stop()
                #expect(outcome.status == 0 && outcome.errors.components(separatedBy: address).count == 2, "\(outcome)")
            }
        }
    }
}
