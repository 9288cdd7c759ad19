import Foundation
import ObjectTransfer
import SystemPackage
import Testing
import ToolProcesses
import UbiquityContainers
import UbiquityStores
import UbiquityTesting
import Waiting

/// The tools by which people set up a cloud, see it and control it.
struct CloudToolTests {
    /// Runs `ubcontrol`, and returns its exit status and all that it has said.
    private static func ubcontrol(_ arguments: String..., home: FilePath, status: Int32 = 0) async throws -> String {
        let outcome = try await Tool.run("ubcontrol", arguments + ["--home", home.string])
        #expect(outcome.status == status, "\(arguments): \(outcome.output)\(outcome.errors)")
        return outcome.output + outcome.errors
    }

    @Test("One command on each device sets up a cloud and starts its agent, a second run changes nothing, and undo stops the transfer")
    func setup() async throws {
        try await AgentWorld.with { world in
            var homes: [FilePath] = []
            for name in ["mac", "phone"] {
                let home = world.directory.appending("\(name)-home")
                let said = try await Self.ubcontrol(
                    "setup", "cloud", world.cloud.string, "--account", "ann", "--containers", world.directory.appending("\(name)-root").string,
                    "--name", name, "--yes", home: home)
                #expect(said.contains("Signed in to ann") && said.contains("Started the transfer agent") && said.contains("undo: "), "\(said)")
                homes.append(home)
            }
            let again = try await Self.ubcontrol("setup", "cloud", world.cloud.string, "--yes", "--json", home: homes[0])
            #expect(!again.contains("\"step\""), "\(again)")
            let stores = try await withThrowingTaskGroup(of: UbiquitousStore.self) { group in
                for home in homes { group.addTask { try await AgentDevice.openStore(DeviceHome(home), in: home.appending("store")) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            try await stores[0].insert("a", "from one device to the other")
            try await until("the note is there") {
                for store in stores { try await store.settled() }
                return try await stores[1].notes == ["a=from one device to the other"]
            }
            #expect(try await Self.ubcontrol("transfer", home: homes[0]).contains("ann ↔ \(world.cloud): "))
            _ = try await Self.ubcontrol("setup", "undo", "--yes", home: homes[0])
            try await until("the agent has nothing to carry") {
                try await TransferClient(DeviceHome(homes[0])).status().activity == .off
            }
            for store in stores { try await store.close() }
        }
    }

    @Test("What cannot be a cloud is refused in one line with the remedy, and nothing is set up")
    func refusals() async throws {
        try await AgentWorld.with { world in
            let home = world.directory.appending("home")
            let cases: [(String, String, Int32)] = [
                (world.directory.appending("away").string, "mount its file system, or make the directory", 1),
                ("nowhere", "names no remote of rclone", 64),
                ("nowhere:Ubiquity", "knows no remote nowhere:", 64),
            ]
            for (remote, remedy, status) in cases {
                let said = try await Self.ubcontrol(
                    "setup", "cloud", remote, "--account", "ann", "--containers", world.directory.appending("root").string, "--yes", "--rclone",
                    CloudServer.rclone.string, home: home, status: status)
                #expect(said.contains(remedy) && said.split(separator: "\n").count == 1, "\(said)")
                #expect(!FileManager.default.fileExists(atPath: home.appending("config.json").string))
                #expect(!FileManager.default.fileExists(atPath: world.directory.appending("root").string))
            }
        }
    }

    @Test("A device that gets another cloud is told what the former one keeps, and how the new one is filled")
    func otherCloud() async throws {
        try await AgentWorld.with { world in
            let mac = try world.device("mac")
            let store = try await mac.open()
            try await store.insert("a")
            try await store.settled()
            let agent = try await mac.start()
            #expect(try await mac.transfer().filesInCloud > 0)
            let other = world.directory.appending("other")
            try FileManager.default.createDirectory(atPath: other.string, withIntermediateDirectories: true)
            let said = try await Self.ubcontrol("setup", "cloud", other.string, "--yes", home: mac.device.home.path)
            #expect(said.contains("\(world.cloud) keeps what it has") && said.contains("ubcontrol transfer republish"))
            try await until("the other cloud is found empty", seen: { "\(try await mac.client.status())" }) {
                try await mac.transfer().block == "remoteReplaced"
            }
            try await mac.diagnoses("ubcontrol transfer republish")
            _ = try await Self.ubcontrol("transfer", "republish", "--yes", home: mac.device.home.path)
            let phone = try world.device("phone", CloudConfiguration(remote: other.string))
            let second = try await phone.open()
            let helper = try await phone.start()
            try await converge([(mac, store), (phone, second)])
            #expect(try await second.notes == ["a=text"])
            for agent in [agent, helper] { _ = try await agent.stop() }
            for store in [store, second] { try await store.close() }
        }
    }

    @Test("The transfer is paused, limited, said to be metered and verified by commands, whose exit status says how it is")
    func control() async throws {
        try await AgentWorld.with { world in
            let mac = try world.device("mac")
            let home = mac.device.home.path
            let missing = try await Self.ubcontrol("transfer", "now", home: home, status: 69)
            #expect(missing.contains("ubtransfer"))
            #expect(try await mac.diagnosis.contains { $0.contains("ubtransfer") })
            let store = try await mac.open()
            let agent = try await mac.start()
            #expect(try await Self.ubcontrol("transfer", "pause", home: home).contains("paused; go on with: ubcontrol transfer resume"))
            #expect(try await mac.diagnosis.contains { $0.contains("run: ubcontrol transfer resume") })
            try await store.insert("a")
            try await store.settled()
            #expect(try await mac.transfer().activity == .paused)
            #expect(FileManager.default.enumerator(atPath: world.cloud.string)?.contains { "\($0)".hasSuffix(".ublog") } == false)
            let resumed = try await Self.ubcontrol("transfer", "resume", "--json", home: home)
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .iso8601
            let status = try decoder.decode(TransferStatus.self, from: Data(resumed.utf8))
            #expect(status.activity == .idle && status.filesToSend == 0 && status.filesInCloud > 0)
            #expect(try await Self.ubcontrol("transfer", "limit", "500k", home: home).contains("limited to 500"))
            #expect(try await Self.ubcontrol("transfer", "limit", "off", home: home).contains("limited") == false)
            #expect(try await Self.ubcontrol("transfer", "limit", "fast", home: home, status: 64).contains("fast is no rate"))
            #expect(try await Self.ubcontrol("transfer", "metered", "on", home: home).contains("metered"))
            #expect(try mac.device.home.cloud?.metered == true)
            #expect(try await Self.ubcontrol("transfer", "verify", home: home).contains("0 of them are missing"))
            let log = try #require(
                FileManager.default.enumerator(atPath: world.cloud.string)?.compactMap { $0 as? String }.first { $0.hasSuffix(".ublog") })
            try FileManager.default.removeItem(atPath: world.cloud.appending(log).string)
            #expect(
                try await Self.ubcontrol("transfer", "verify", home: home, status: 1).contains("1 of them are missing or cut off, 1 are sent again"))
            try await until("it is sent again") {
                try await mac.transfer()
                return FileManager.default.fileExists(atPath: world.cloud.appending(log).string)
            }
            #expect(
                try await Self.ubcontrol("transfer", "allow-removals", "org.example.simulated", "--yes", home: home, status: 1).contains(
                    "No removal waits"))
            _ = try await agent.stop()
            try await store.close()
        }
    }

    @Test("An agent whose device home is removed ends by itself")
    func removedHome() async throws {
        try await AgentWorld.with { world in
            let mac = try world.device("mac")
            let agent = try await mac.start()
            try await mac.transfer()
            try await removeInUse(mac.device.home.path.string)
            let outcome = try await within("the agent ends", limit: .seconds(180)) { try await agent.end() }
            #expect(outcome.status == 0 && outcome.errors.contains("so this agent ends"), "\(outcome)")
        }
    }

    @Test("K-09: with less than 512 MB free nothing is fetched and the doctor says so, and it goes on when there is room")
    func fullDisk() async throws {
        try await AgentWorld.with { world in
            let (mac, phone) = (try world.device("mac"), try world.device("phone"))
            let store = try await mac.open()
            try await store.insert("a")
            try await store.settled()
            let sender = try await mac.start()
            try await mac.transfer()
            let root = try #require(try phone.device.home.signedIn.map { phone.device.home.root(of: $0.record) })
            // A file system of its own is mounted over the containers root, for the agent alone.
            let mounting = "mount -t tmpfs -o size=300m none \"$1\" && exec \"$2\" --home \"$3\""
            let agent = try await RunningTool(
                "/usr/bin/unshare",
                ["-Urm", "/bin/sh", "-c", mounting, "sh", root.string, Tool.path("ubtransfer").string, phone.device.home.path.string])
            try await until("the agent answers") { phone.client.hasAgent }
            let status = try await phone.transfer()
            #expect(status.activity == .blocked && status.block == "diskFull" && status.filesToFetch > 0, "\(status)")
            try await phone.diagnoses("MB are free here", "512 MB")
            let grown = try await Tool.run(
                "/usr/bin/nsenter",
                ["-t", "\(agent.identifier)", "-U", "-m", "--preserve-credentials", "mount", "-o", "remount,size=2g", root.string])
            #expect(grown.status == 0, "\(grown.errors)")
            let after = try await phone.transfer()
            #expect(after.activity == .idle && after.filesToFetch == 0 && after.received > 0, "\(after)")
            for agent in [sender, agent] { _ = try await agent.stop() }
            try await store.close()
        }
    }
}
