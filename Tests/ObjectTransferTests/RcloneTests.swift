import Foundation
import ObjectTransfer
import RcloneTransfer
import SystemPackage
import Testing
import ToolProcesses
import UbiquityContainers
import UbiquityStores
import UbiquityTesting
import Waiting

/// Clouds behind a real rclone, served by rclone's servers.
@Suite(.serialized)
struct RcloneTests {
    private static func with(_ kind: String, clock: Int = 0, _ body: (AgentWorld, CloudServer) async throws -> Void) async throws {
        try await AgentWorld.with { world in
            let server = try await CloudServer(kind, in: world.directory.appending("server"), clock: clock)
            do {
                try await body(world, server)
            } catch {
                try? await server.stop()
                throw error
            }
            try await server.stop()
        }
    }

    /// Two devices of a server's cloud, with their stores and running agents.
    private static func pair(
        _ world: AgentWorld, _ server: CloudServer, _ password: String? = nil
    ) async throws -> (stores: [(AgentDevice, UbiquitousStore)], agents: [RunningTool]) {
        var stores: [(AgentDevice, UbiquitousStore)] = []
        var agents: [RunningTool] = []
        for name in ["mac", "phone"] {
            let device = try world.device(name, try await server.configuration(crypt: password, named: name))
            agents.append(try await device.start())
            stores.append((device, try await device.open()))
        }
        return (stores, agents)
    }

    @Test(
        "K-01: stores of two homes that share nothing but a cloud converge, whole contents compared",
        arguments: [("webdav", nil), ("sftp", nil), ("s3", nil), ("webdav", "correct horse")] as [(String, String?)])
    func converges(_ kind: String, _ password: String?) async throws {
        try await Self.with(kind) { world, server in
            let (stores, agents) = try await Self.pair(world, server, password)
            for (device, store) in stores {
                for number in 0..<20 { try await store.insert("\(device.device.name)\(number)", String(repeating: "x", count: number * 100)) }
            }
            try await converge(stores)
            #expect(try await stores[0].1.notes.count == 40)
            let objects = FileManager.default.enumerator(atPath: server.data.string)!.compactMap { $0 as? String }
            #expect(objects.contains { $0.contains("format.json") } == (password == nil))
            for agent in agents { _ = try await agent.stop() }
            for (_, store) in stores { try await store.close() }
        }
    }

    @Test(
        "K-01, K-09: stores converge over Ceph's gateway, and a full bucket blocks uploads with the remedy until there is room",
        .enabled(if: CloudServer.hasCeph))
    func ceph() async throws {
        try await Self.with("rgw") { world, server in
            let (stores, agents) = try await Self.pair(world, server)
            let mac = stores[0].0
            for (device, store) in stores {
                for number in 0..<10 { try await store.insert("\(device.device.name)\(number)", String(repeating: "x", count: number * 100)) }
            }
            try await converge(stores)
            #expect(try await stores[0].1.notes.count == 20)
            // What is there already is more than one object.
            try await server.setQuota(objects: 1)
            try await stores[0].1.insert("beyond")
            try await stores[0].1.settled()
            try await until("the full bucket is noticed", seen: { "\(try await mac.client.status())" }) {
                let status = try await mac.transfer()
                return status.activity == .blocked && status.block == "quota"
            }
            try await mac.diagnoses("has no room for more", "free space there")
            try await server.setQuota(objects: nil)
            try await converge(stores)
            #expect(try await stores[1].1.notes.contains("beyond=text"))
            for agent in agents { _ = try await agent.stop() }
            for (_, store) in stores { try await store.close() }
        }
    }

    @Test("K-09: a clock that is two hours off keeps nothing from Ceph's gateway", .enabled(if: CloudServer.hasCephWithClock))
    func clockSkew() async throws {
        try await Self.with("rgw", clock: 7200) { world, server in
            let mac = try world.device("mac", try await server.configuration(named: "mac"))
            let store = try await mac.open()
            try await store.insert("a")
            try await store.settled()
            let agent = try await mac.start()
            try await until("everything is sent", seen: { "\(try await mac.client.status())" }) {
                let status = try await mac.transfer()
                return status.activity == .idle && status.filesInCloud > 0 && status.filesToSend == 0
            }
            _ = try await agent.stop()
            try await store.close()
        }
    }

    @Test("K-06: with a wrong password an encrypted remote is blocked, and neither empty nor begun again")
    func wrongPassword() async throws {
        try await Self.with("webdav") { world, server in
            let mac = try world.device("mac", try await server.configuration(crypt: "correct horse", named: "mac"))
            let store = try await mac.open()
            try await store.insert("a")
            try await store.settled()
            let agent = try await mac.start()
            #expect(try await mac.transfer().activity == .idle)
            let before = Set(FileManager.default.enumerator(atPath: server.data.string)!.compactMap { $0 as? String })
            let phone = try world.device("phone", try await server.configuration(crypt: "battery staple", named: "phone"))
            let other = try await phone.start()
            let status = try await phone.transfer()
            #expect(status.activity == .blocked && status.block == "wrongPassword", "\(status)")
            #expect(status.reason?.contains("cannot be decrypted") == true)
            try await phone.diagnoses("cannot be decrypted", "rclone config")
            #expect(Set(FileManager.default.enumerator(atPath: server.data.string)!.compactMap { $0 as? String }) == before)
            for agent in [agent, other] { _ = try await agent.stop() }
            try await store.close()
        }
    }

    @Test("K-02: with rclone killed again and again in the middle of files, stores converge")
    func killedRclone() async throws {
        try await Self.with("webdav") { world, server in
            let (stores, agents) = try await Self.pair(world, server)
            var random = SeededRandom(seed: 1)
            for number in 0..<50 {
                for (device, store) in stores { try await store.insert("\(device.device.name)\(number)", String(repeating: "y", count: 20_000)) }
                // The moment of the kill is the test's input, and no event.
                try await Task.sleep(for: .milliseconds(Int.random(in: 0..<60, using: &random)))
                for child in ProcessFacts(agents[number % 2].identifier).children { kill(child, SIGKILL) }
            }
            try await converge(stores)
            #expect(try await stores[0].1.notes.count == 100)
            for agent in agents { _ = try await agent.stop() }
            for (_, store) in stores { try await store.close() }
        }
    }

    @Test("K-09: a server that is away is waited for, and the transfer goes on by itself when it is back")
    func away() async throws {
        try await Self.with("webdav") { world, server in
            let mac = try world.device("mac", try await server.configuration(named: "mac"))
            let store = try await mac.open()
            let agent = try await mac.start()
            #expect(try await mac.transfer().activity == .idle)
            try await server.stop()
            try await store.insert("a")
            try await store.settled()
            // The agent hears of the new log by its watch.
            try await until("it waits with a file to send", seen: { "\(try await mac.client.status())" }) {
                let status = try await mac.transfer()
                return status.activity == .waiting && status.filesToSend > 0
            }
            try await mac.diagnoses("the cloud does not answer", "check the network")
            let again = try await server.restarted()
            try await until("everything is sent", seen: { "\(try await mac.client.status())" }) {
                let status = try await mac.client.status()
                return status.activity == .idle && status.filesToSend == 0
            }
            try await again.stop()
            _ = try await agent.stop()
            try await store.close()
        }
    }

    @Test("K-09: an expired password is blocked with its remedy")
    func expired() async throws {
        try await Self.with("webdav") { world, server in
            let cloud = try await server.configuration(named: "mac")
            let text = try String(contentsOfFile: cloud.rcloneConfig!, encoding: .utf8)
            let wrong = try await Tool.run(CloudServer.rclone.string, ["obscure", "expired"]).output.trimmingCharacters(in: .whitespacesAndNewlines)
            let lines = text.split(separator: "\n").map { $0.hasPrefix("pass = ") ? "pass = \(wrong)" : String($0) }
            try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: cloud.rcloneConfig!))
            let mac = try world.device("mac", cloud)
            let agent = try await mac.start()
            let status = try await mac.transfer()
            #expect(status.activity == .blocked && status.block == "authorization", "\(status)")
            #expect(status.reason?.contains("rclone config reconnect cloud:") == true)
            try await mac.diagnoses("rclone config reconnect cloud:")
            _ = try await agent.stop()
        }
    }

    @Test("K-19: what a poll of an idle agent costs is under 0.2 % of a core at a poll a minute, and its memory and rclone's stay small")
    func idle() async throws {
        try await Self.with("webdav") { world, server in
            let mac = try world.device("mac", try await server.configuration(named: "mac"))
            let store = try await mac.open()
            try await store.insert("a")
            try await store.settled()
            let agent = try await mac.start()
            for _ in 0..<20 { try await mac.transfer() }
            let own = ProcessFacts(agent.identifier)
            let rclone = ProcessFacts(try #require(own.children.first))
            let before = own.processorTime + rclone.processorTime
            let polls = 200
            for _ in 0..<polls { #expect(try await mac.transfer().activity == .idle) }
            let cost = (own.processorTime + rclone.processorTime - before) / Double(polls)
            #expect(own.children == [rclone.identifier] && cost > 0 && rclone.residentMemory > 0, "rclone was started again")
            #expect(cost / 60 < 0.002, "a poll costs \(cost) s of processor time")
            #expect(own.residentMemory < 60 << 20 && rclone.residentMemory < 200 << 20, "\(own.residentMemory) and \(rclone.residentMemory) bytes")
            _ = try await agent.stop()
            try await store.close()
        }
    }

    @Test("K-17: no password is in the device home, the agent's arguments, its environment, its log or its status")
    func secrets() async throws {
        try await Self.with("webdav") { world, server in
            let cloud = try await server.configuration(crypt: "correct horse", named: "mac")
            let mac = try world.device("mac", cloud)
            let store = try await mac.open()
            try await store.insert("a")
            try await store.settled()
            let agent = try await mac.start()
            try await mac.transfer()
            let config = try String(contentsOfFile: cloud.rcloneConfig!, encoding: .utf8)
            var secrets =
                config.split(separator: "\n").filter { $0.hasPrefix("pass") }.map { String($0.split(separator: " ").last!) } + ["correct horse"]
            secrets.append(try #require(Self.plain(server)))
            #expect(secrets.count == 4)
            var texts = ["\(try await mac.client.status())"]
            for process in [agent.identifier] + ProcessFacts(agent.identifier).children {
                for name in ["cmdline", "environ"] {
                    texts.append(String(decoding: try Data(contentsOf: URL(filePath: "/proc/\(process)/\(name)")), as: UTF8.self))
                }
            }
            // A remote that refuses says why.
            try await server.stop()
            texts.append("\(try await mac.transfer())")
            let outcome = try await agent.stop()
            texts += [outcome.errors, outcome.output]
            for case let name as String in FileManager.default.enumerator(atPath: mac.device.home.path.string)! {
                if let bytes = FileManager.default.contents(atPath: mac.device.home.path.pushing(FilePath(name)).string) {
                    texts.append(String(decoding: bytes, as: UTF8.self))
                }
            }
            for secret in secrets { for text in texts { #expect(!text.contains(secret)) } }
            try await store.close()
            _ = try await server.restarted().stop()
        }
    }

    /// The server's password, as it is.
    private static func plain(_ server: CloudServer) -> String? {
        struct Settings: Decodable { var password: String }
        let file = server.data.removingLastComponent().appending("server.json")
        return (try? JSONDecoder().decode(Settings.self, from: Data(contentsOf: URL(filePath: file.string))))?.password
    }

    @Test("K-10, K-11: a limited upload tells its bytes, speed and rest in the library and in the tool, and the limit lasts over restarts")
    func progress() async throws {
        try await Self.with("webdav") { world, server in
            let mac = try world.device("mac", try await server.configuration(named: "mac"))
            let store = try await mac.open()
            try await store.settled()
            let agent = try await mac.start()
            _ = try await mac.client.ask(.limit(bytesPerSecond: 400_000))
            #expect(try mac.device.home.cloud?.bytesPerSecond == 400_000)
            // A large value, in the place of a peer of this device. At the limit it takes half a minute.
            let size: Int64 = 12_000_000
            let container = try await UbiquityContainer("org.example.simulated", home: mac.device.home)
            let marks = try FileManager.default.contentsOfDirectory(atPath: container.path.appending(".ubiquity").string)
            let value = container.path.pushing(FilePath("CoreData/Notes/\(try #require(marks.first))/1/values/large"))
            try FileManager.default.createDirectory(atPath: value.removingLastComponent().string, withIntermediateDirectories: true)
            // It comes whole, as stores write it; a part of it would be sent as a value of its own.
            let draft = world.directory.appending("large")
            try Data(count: Int(size)).write(to: URL(filePath: draft.string))
            try FileManager.default.moveItem(atPath: draft.string, toPath: value.string)
            let transport = try #require(try CloudTransport(configuredFor: container))
            try await until("the upload tells its progress", seen: { "\(try await mac.client.status())" }) {
                try await mac.client.status().transfers.contains { $0.done > 0 && $0.total == size && $0.direction == .upload }
            }
            let state = try await transport.state(of: value)
            let progress = try #require(state.progress, "\(state)")
            #expect(state.status == .uploading && progress.total == size && progress.rate ?? 0 > 0 && progress.remaining != nil)
            let shown = try await Tool.run("ubcontrol", ["transfer", "status", "--home", mac.device.home.path.string]).output
            #expect(shown.contains(" % of ") && shown.contains("/s, ") && shown.contains(" left  ") && shown.contains("limited to"), "\(shown)")
            let items = try await Tool.run("ubwatch", ["items", container.path.string, "--all", "--json", "--home", mac.device.home.path.string])
                .output
            #expect(
                items.split(separator: "\n").contains { $0.contains("values/large") && $0.contains("\"uploading\"") && $0.contains("\"rate\"") },
                "\(items)")
            // An rclone that is started again keeps the limit.
            for child in ProcessFacts(agent.identifier).children { kill(child, SIGKILL) }
            try await until("rclone runs again with the limit") {
                ProcessFacts(agent.identifier).children.contains { child in
                    let arguments = FileManager.default.contents(atPath: "/proc/\(child)/cmdline") ?? Data()
                    return String(decoding: arguments, as: UTF8.self).contains("--bwlimit\u{0}400000B")
                }
            }
            guard case .status(let free) = try await mac.client.ask(.limit(bytesPerSecond: nil)) else { return }
            #expect(free.bytesPerSecond == nil)
            try await until("it is sent", seen: { "\(try await mac.client.status())" }) { try await transport.state(of: value).status == .current }
            _ = try await agent.stop()
            try await store.close()
        }
    }

    @Test("An rclone that is too old is refused, with where newer ones are", arguments: ["v1.60.1-DEV", "v1.73.4", "v0.9"])
    func tooOld(_ version: String) async throws {
        try await AgentWorld.with { world in
            let program = world.directory.appending("rclone")
            try Data("#!/bin/sh\necho rclone \(version)\n".utf8).write(to: URL(filePath: program.string))
            chmod(program.string, 0o755)
            let error = await #expect(throws: ObjectStoreError.self) { try await RcloneProgram(program).checkedVersion() }
            #expect(error?.kind == .unusable && error!.reason.contains("https://rclone.org/downloads/"))
        }
    }

    @Test("Versions compare by their numbers")
    func versions() {
        #expect(RcloneVersion(output: "rclone v1.75.2\n- os/version: debian")! > RcloneProgram.leastVersion)
        #expect(RcloneVersion(output: "rclone v1.73.5")! == RcloneProgram.leastVersion)
        #expect(RcloneVersion(output: "rclone v1.100.0-beta.1")! > RcloneVersion(output: "rclone v1.75.2")!)
        #expect(RcloneVersion(output: "hello") == nil)
    }

    @Test("The words of back ends mean what follows for a transfer, and lose what may be a secret")
    func errors() {
        let cases: [(String, Int?, ObjectStoreError.Kind)] = [
            ("object not found", 404, .notFound), ("directory not found", 500, .notFound),
            ("Insufficient Storage: 507 Insufficient Storage", 500, .quota), ("write /x: no space left on device", 500, .quota),
            ("Unauthorized: 401 Unauthorized", 500, .authorization), ("couldn't fetch token: invalid_grant", 500, .authorization),
            ("dial tcp 127.0.0.1:1: connect: connection refused", 500, .unreachable), ("dial tcp: lookup x: no such host", 500, .unreachable),
            ("didn't find section in config file", 500, .unusable), ("something else", 500, .other),
            ("api error RequestTimeTooSkewed: UnknownError", 403, .authorization),
            ("dial tcp 127.0.0.1:1: connect: connection refused failed to get rate limit token, retry quota exceeded", 500, .unreachable),
        ]
        for (text, status, kind) in cases { #expect(ObjectStoreError.rclone(text, status: status).kind == kind, "\(text)") }
        #expect(ObjectStoreError.rclone("api error RequestTimeTooSkewed", status: 403).reason.contains("set this device's clock"))
        let text = ObjectStoreError.rclone("Put \"https://ann:secret@example.org/x?X-Amz-Signature=abc\": EOF", status: 500).reason
        #expect(!text.contains("secret") && !text.contains("Signature") && text.contains("example.org"))
    }
}
