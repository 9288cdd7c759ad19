import Foundation
import GRDB
import Glibc
import ObjectTransfer
import SystemPackage
import ToolProcesses
import UbiquityContainers
import UbiquityStores
import UbiquityTesting
import Waiting

/// Devices with homes, stores and agents of their own, which share nothing but a cloud.
struct AgentWorld {
    let directory: FilePath

    static func with(_ body: (AgentWorld) async throws -> Void) async throws {
        let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("agents-\(UUID().uuidString)")
        try FileManager.default.createDirectory(atPath: directory.appending("cloud").string, withIntermediateDirectories: true)
        defer {
            end(processesNaming: directory.string)
            try? FileManager.default.removeItem(atPath: directory.string)
        }
        try await body(AgentWorld(directory: directory))
    }

    /// Ends the agents and servers that a test which has failed leaves behind: their arguments name its directory.
    private static func end(processesNaming directory: String) {
        for process in processes(naming: directory) { kill(process, SIGKILL) }
    }

    private static func processes(naming directory: String) -> [Int32] {
        ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap { Int32($0) }.filter { process in
            guard process != getpid(), let arguments = FileManager.default.contents(atPath: "/proc/\(process)/cmdline") else { return false }
            return String(decoding: arguments, as: UTF8.self).contains(directory)
        }
    }

    /// Ends the agents of this world, and waits until none is left.
    func endAgents() async throws {
        try await until("the agents have ended") {
            Self.end(processesNaming: directory.string)
            return Self.processes(naming: directory.string).isEmpty
        }
    }

    /// A directory that serves as a cloud.
    var cloud: FilePath { directory.appending("cloud") }

    /// Makes a device whose containers a cloud carries.
    ///
    /// - Parameters:
    ///   - name: its name.
    ///   - cloud: the cloud; nil for the directory.
    /// - Returns: the device, signed in.
    /// - Throws: `ContainerError`.
    func device(_ name: String, _ cloud: CloudConfiguration? = nil) throws -> AgentDevice {
        let device = try SimulatedDevice(name, in: directory)
        let cloud = cloud ?? CloudConfiguration(remote: self.cloud.string)
        try HomeSettings(device.home).configure(["transport": "cloud", "cloud": cloud])
        return AgentDevice(device: device)
    }
}

/// A device with an agent.
struct AgentDevice {
    let device: SimulatedDevice
    var client: TransferClient { TransferClient(device.home) }

    private static let schema = SyncedSchema(
        migrator: {
            var migrator = DatabaseMigrator()
            migrator.registerMigration("v1") { db in try db.execute(sql: "CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, text TEXT)") }
            return migrator
        }()
    ) { SyncedTable("note") }

    func open() async throws -> UbiquitousStore { try await device.openStore(contentName: "Notes", schema: Self.schema) }

    /// Opens a store of a device that tools have set up.
    static func openStore(_ home: DeviceHome, in directory: FilePath) async throws -> UbiquitousStore {
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        let container = try await UbiquityContainer("org.example.simulated", home: home)
        return try await UbiquitousStore.open(
            at: directory.appending("Notes.sqlite"), options: .init(contentName: "Notes"), in: container, schema: schema)
    }

    /// Starts the agent, and waits until it answers.
    func start(_ environment: [String: String] = [:]) async throws -> RunningTool {
        let agent = try await RunningTool("ubtransfer", ["--home", device.home.path.string], environment: environment)
        try await until("the agent of \(device.name) answers") { client.hasAgent }
        return agent
    }

    /// Transfers what can be transferred.
    @discardableResult
    func transfer() async throws -> TransferStatus {
        guard case .status(let status) = try await client.ask(.now) else { throw TransferClient.NoAgent() }
        return status
    }

    /// What `ubcontrol doctor` says of the cloud, a line each.
    var diagnosis: [String] {
        get async throws {
            try await Tool.run("ubcontrol", ["doctor", "--home", device.home.path.string]).output.split(separator: "\n").map(String.init)
        }
    }

    /// Waits until a line of ``diagnosis`` has all of these texts: while the agent tries again, the doctor does not say what
    /// is in the way.
    func diagnoses(_ texts: String..., file: String = #fileID, line: Int = #line) async throws {
        var said: [String] = []
        try await until("the doctor says \(texts)", seen: { said.joined(separator: "\n") }, file: file, line: line) {
            said = try await diagnosis
            return said.contains { line in texts.allSatisfy { line.contains($0) } }
        }
    }
}

extension UbiquitousStore {
    func insert(_ id: String, _ text: String = "text") async throws {
        try await write { db in try db.execute(sql: "INSERT INTO note VALUES (?, ?)", arguments: [id, text]) }
    }

    /// All notes, one text each.
    var notes: [String] {
        get async throws { try await read { db in try String.fetchAll(db, sql: "SELECT id || '=' || text FROM note ORDER BY id") } }
    }
}

/// Lets stores and agents of devices exchange until all stores show the same, whole contents.
func converge(_ devices: [(AgentDevice, UbiquitousStore)], limit: Duration = .seconds(120)) async throws {
    try await until(
        "all stores show the same", limit: limit,
        seen: {
            var seen: [String] = []
            for (device, store) in devices {
                let status = try? await device.client.status()
                seen.append("\(device.device.name): \(try await store.notes.count) notes; \(status.map { "\($0)" } ?? "no agent")")
            }
            return seen.joined(separator: "\n")
        }
    ) {
        for (_, store) in devices { try await store.settled() }
        for (device, _) in devices { try await device.transfer() }
        for (_, store) in devices { try await store.settled() }
        let contents = try await devices.asyncMap { try await $0.1.notes }
        return contents.allSatisfy { $0 == contents[0] }
    }
}

extension Sequence {
    fileprivate func asyncMap<Result>(_ body: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await body(element)) }
        return results
    }
}
