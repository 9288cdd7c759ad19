import Foundation
import Glibc
import ObjectTransfer
import SystemPackage
import Testing
import ToolProcesses
import UbiquityContainers
import UbiquityStores
import UbiquityTesting
import Waiting

/// The agent as a process, with real stores and a directory as the cloud.
struct TransferAgentTests {
    @Test("K-01: stores of two homes that share nothing but a directory converge, without being asked")
    func converges() async throws {
        try await AgentWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            let agents = [try await mac.start(), try await phone.start()]
            let (first, second) = (try await mac.open(), try await phone.open())
            try await first.insert("a")
            try await second.insert("b")
            for store in [first, second] {
                try await until("a note arrives by itself", seen: { "\(try await store.notes)" }) {
                    // Only the stores are asked, which do not exchange by themselves here.
                    for store in [first, second] { try await store.settled() }
                    return try await store.notes == ["a=text", "b=text"]
                }
            }
            let status = try await mac.client.status()
            #expect(status.account == "alice" && status.remote == world.cloud.string && status.others.count == 1)
            for agent in agents { #expect(try await agent.stop().status == 0) }
            #expect(!mac.client.hasAgent)
            for store in [first, second] { try await store.close() }
        }
    }

    @Test("K-20: of two agents of one home, one serves and the other says so")
    func twoAgents() async throws {
        try await AgentWorld.with { world in
            let mac = try world.device("mac")
            let agent = try await mac.start()
            let other = try await Tool.run("ubtransfer", ["--home", mac.device.home.path.string])
            #expect(other.status == 69 && other.errors.contains("Another transfer agent serves \(mac.device.home.path)"))
            #expect(mac.client.hasAgent)
            _ = try await agent.stop()
            // The next one takes over what a killed one has left.
            let killed = try await mac.start()
            killed.signal(SIGKILL)
            _ = try await killed.end()
            let next = try await mac.start()
            _ = try await mac.transfer()
            _ = try await next.stop()
        }
    }

    @Test("K-17: the agent's socket and its index are private, and another user is refused")
    func privacy() async throws {
        try await AgentWorld.with { world in
            let mac = try world.device("mac")
            let agent = try await mac.start()
            let place = TransferHome(mac.device.home)
            var status = stat()
            #expect(stat(place.directory.string, &status) == 0 && status.st_mode & 0o077 == 0)
            #expect(stat(place.socket.string, &status) == 0 && status.st_mode & 0o077 == 0)
            // A user who could reach the socket, because its directory was opened, gets no answer.
            for path in [mac.device.home.path, place.directory] { chmod(path.string, 0o755) }
            chmod(place.socket.string, 0o777)
            let script = """
                import socket, sys
                s = socket.socket(socket.AF_UNIX)
                try:
                    s.connect(sys.argv[1]); s.sendall(b'{"status":{}}\\n'); print(len(s.recv(10)))
                except OSError as error: print(type(error).__name__)
                """
            let path = world.directory.appending("s")
            try FileManager.default.createSymbolicLink(atPath: path.string, withDestinationPath: place.socket.string)
            func ask(_ program: [String]) async throws -> String {
                try await Tool.run(program[0], Array(program.dropFirst()) + ["/usr/bin/python3", "-c", script, path.string]).output
            }
            let own = try await Tool.run("/usr/bin/env", ["/usr/bin/python3", "-c", script, path.string]).output
            #expect(own == "10\n")
            let other = try await ask(["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])
            #expect(other == "0\n" || other.contains("Error"), "\(other)")
            _ = try await agent.stop()
        }
    }

    @Test("K-03: an agent that is killed between any two steps, and started again, loses and repeats nothing", arguments: TransferSteps.all)
    func killed(_ step: String) async throws {
        try await AgentWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            let (first, second) = (try await mac.open(), try await phone.open())
            for number in 0..<3 { try await first.insert("m\(number)") }
            for number in 0..<3 { try await second.insert("p\(number)") }
            for store in [first, second] { try await store.settled() }
            let other = try await phone.start()
            try await phone.transfer()
            let doomed = try await RunningTool("ubtransfer", ["--home", mac.device.home.path.string], environment: ["UBIQUITY_KILL_AT": step])
            let outcome = try await within("the agent is killed at \(step)") { try await doomed.end() }
            #expect(outcome.signal == SIGKILL)
            let agent = try await mac.start()
            try await converge([(mac, first), (phone, second)])
            #expect(try await first.notes == ["m0=text", "m1=text", "m2=text", "p0=text", "p1=text", "p2=text"])
            let status = try await mac.client.status()
            #expect(status.faults.isEmpty && status.quarantine.isEmpty, "\(status)")
            // A file has one object, and a bulletin one name.
            let news = try FileManager.default.contentsOfDirectory(atPath: world.cloud.appending("alice/news").string).compactMap(BulletinName.init)
            #expect(Set(news.map { "\($0.device) \($0.number)" }).count == news.count)
            for agent in [agent, other] { _ = try await agent.stop() }
            for store in [first, second] { try await store.close() }
        }
    }

    @Test("The agent follows sign-out and sign-in, and a pause lasts over a restart")
    func accountAndPause() async throws {
        try await AgentWorld.with { world in
            let mac = try world.device("mac")
            let agent = try await mac.start()
            try await mac.transfer()
            try mac.device.home.signOut()
            try await until("the agent is off", seen: { "\(try await mac.client.status())" }) { try await mac.client.status().activity == .off }
            try mac.device.home.signIn(AccountName("alice"))
            try await until("the agent is on", seen: { "\(try await mac.client.status())" }) { try await mac.client.status().activity == .idle }
            _ = try await mac.client.ask(.pause)
            #expect(try await mac.client.status().activity == .paused)
            _ = try await agent.stop()
            let next = try await mac.start()
            #expect(try await mac.transfer().activity == .paused)
            guard case .status(let status) = try await mac.client.ask(.resume) else { return }
            #expect(status.activity == .idle)
            _ = try await next.stop()
        }
    }

    @Test("What an agent says reaches the library: where a file is, what the cloud has, and whether it works")
    func transport() async throws {
        try await AgentWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            let store = try await mac.open()
            try await store.insert("a")
            try await store.settled()
            let container = try await UbiquityContainer(simulatedContainer, home: mac.device.home)
            let transport = try #require(try CloudTransport(configuredFor: container))
            #expect(try await transport.condition().failure?.contains("No transfer agent runs") == true)
            let agent = try await mac.start()
            try await mac.transfer()
            #expect(try await transport.condition().failure == nil)
            let logs = FileManager.default.enumerator(atPath: container.path.string)!.compactMap { $0 as? String }.filter { $0.hasSuffix(".ublog") }
            let items = logs.map { container.path.pushing(FilePath($0)) }
            #expect(!items.isEmpty)
            let states = try await transport.states(of: items)
            #expect(items.allSatisfy { states[$0]?.status == .current })
            // On the other device, whose agent may fetch nothing because it is paused.
            let other = try await phone.start()
            _ = try await phone.client.ask(.pause)
            _ = try await agent.stop()
            _ = try await other.stop()
            try await store.close()
        }
    }
}

private let simulatedContainer = "org.example.simulated"

/// The points between two steps of an agent that the first transfer of two devices passes.
enum TransferSteps {
    static let all = [
        "transfer.connected", "transfer.bulletin-fetched", "transfer.bulletin-taken", "transfer.intended", "transfer.sent", "transfer.sent:3",
        "transfer.uploaded", "transfer.uploaded:2", "transfer.drafted", "transfer.published", "transfer.recorded", "transfer.fetched",
        "transfer.fetched:2", "transfer.placed", "transfer.placed:2", "transfer.found",
    ]
}
