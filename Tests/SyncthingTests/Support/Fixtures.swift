import Foundation
import FoundationNetworking
import SyncthingStatus
import SystemPackage
import Testing
import ToolProcesses
import UbiquityContainers
import Waiting

/// How long a wait for Syncthing may take, in the time of a quiet machine: it looks, and connects, by its own clocks.
let patience = Duration.seconds(300)

#if Syncthing
    /// Whether the package was built with the trait `Syncthing`, without which nothing can ask Syncthing.
    let asksSyncthing = true
#else
    let asksSyncthing = false
#endif

extension Trait where Self == ConditionTrait {
    /// A test that asks Syncthing; it runs in every build whose warnings are errors, so that `Tools/test` skips none.
    static var asking: Self {
        .enabled(if: asksSyncthing || ProcessInfo.processInfo.environment["UBIQUITY_STRICT"] != nil, "it needs swift test --traits Syncthing")
    }
}

/// Two devices whose Syncthings share a folder; each test takes an account of its own in it.
struct SyncthingPair: Sendable {
    /// The pair of the suite.
    @TaskLocal static var current: SyncthingPair?

    let directory: FilePath
    let a: PairDevice
    let b: PairDevice

    private static let script = FilePath(#filePath).removingLastComponent().removingLastComponent().removingLastComponent().removingLastComponent()
        .appending("Tools/services/syncthing-pair")

    private struct Description: Decodable {
        var devices: [PairDevice.Description]
    }

    /// Runs a body with a pair, and stops it.
    static func with(_ options: [String] = [], _ body: (SyncthingPair) async throws -> Void) async throws {
        let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-test-\(UUID().uuidString)")
        let started = try await Tool.run(script.string, [directory.string, "--until", "\(getpid())"] + options)
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        try #require(started.status == 0, "\(started.errors)")
        let data = try Data(contentsOf: URL(filePath: directory.appending("pair.json").string))
        let devices = try JSONDecoder().decode(Description.self, from: data).devices.map(PairDevice.init)
        let result = await Result { try await body(SyncthingPair(directory: directory, a: devices[0], b: devices[1])) }
        #expect(try await Tool.run(script.string, [directory.string, "--stop"]).status == 0)
        try result.get()
    }

    /// Signs both devices in to an account that no other test uses.
    func members() async throws -> Members {
        let account = "account\(UUID().uuidString.prefix(8).lowercased())"
        let members = [a, b].map { Member(account: account, home: directory.appending("\(account)-\($0.name)"), device: $0) }
        for member in members {
            try await member.tool("ubcontrol", "sign-in", account, "--containers", member.device.folder.string)
        }
        return Members(a: members[0], b: members[1])
    }

    /// Cuts the devices off from each other, or lets them meet again.
    func pause(_ isPaused: Bool) async throws {
        try await a.post("system/\(isPaused ? "pause" : "resume")?device=\(b.identifier)")
        try await until("the devices are \(isPaused ? "apart" : "connected")", limit: patience) {
            for (one, other) in [(a, b), (b, a)] where try await one.client.connections().connected.contains(other.identifier) == isPaused {
                return false
            }
            return true
        }
    }
}

/// One Syncthing.
struct PairDevice: Sendable {
    struct Description: Decodable {
        var name, address, key, device, home, folder: String
        var process: Int32
    }

    let name: String
    let identifier: String
    let key: String
    let address: String
    /// Syncthing's own directory.
    let home: FilePath
    let folder: FilePath
    private let process: Int32

    init(_ description: Description) {
        name = description.name
        identifier = description.device
        key = description.key
        address = description.address
        home = FilePath(description.home)
        folder = FilePath(description.folder)
        process = description.process
    }

    var endpoint: SyncthingEndpoint { get throws { try SyncthingEndpoint(address, key: key) } }
    var client: SyncthingClient { get throws { SyncthingClient(try endpoint, timeout: .seconds(120)) } }

    /// Ends this Syncthing and waits until it has let go of its database.
    func shutDown() async throws {
        try await post("system/shutdown")
        // Of a process that nobody has waited for, the command line is empty.
        try await until("it has ended", limit: patience) { (try? Data(contentsOf: URL(filePath: "/proc/\(process)/cmdline")))?.isEmpty ?? true }
    }

    func post(_ path: String) async throws { try await send("POST", path, "") }

    /// Changes a part of the configuration, such as `config/folders/ubiquity`.
    func patch(_ path: String, _ json: String) async throws { try await send("PATCH", path, json) }

    private func send(_ method: String, _ path: String, _ body: String) async throws {
        var request = URLRequest(url: URL(string: "\(address)/rest/\(path)")!)
        request.httpMethod = method
        request.httpBody = Data(body.utf8)
        request.setValue(key, forHTTPHeaderField: "X-API-Key")
        let (_, response) = try await URLSession.shared.data(for: request)
        try #require((response as? HTTPURLResponse)?.statusCode == 200, "\(method) \(path)")
    }
}

/// An account on one of the two devices, with a device home of its own.
struct Member: Sendable {
    let account: String
    let home: FilePath
    let device: PairDevice

    var container: FilePath { device.folder.appending(account).appending("org.example.notes") }
    var source: SyncthingTransport { get throws { SyncthingTransport(container, endpoint: try device.endpoint) } }

    /// A note as `notes list --json` prints it.
    struct Note: Decodable, Hashable {
        var id: String
        var title: String
    }

    /// Runs one of the package's programs, which has to succeed.
    @discardableResult
    func tool(_ name: String, _ arguments: String...) async throws -> Tool.Outcome {
        let outcome = try await Tool.run(name, arguments + ["--home", home.string])
        try #require(outcome.status == 0, "\(name) \(arguments): \(outcome.errors)")
        return outcome
    }

    /// Adds a note, and returns its identifier.
    @discardableResult
    func add(_ title: String) async throws -> String {
        try await tool("notes", "add", title).output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    func titles() async throws -> [String] {
        let output = try await tool("notes", "list", "--json").output
        return try JSONDecoder().decode([Note].self, from: Data(output.utf8)).map(\.title).sorted()
    }

    /// Writes a file, which comes to its place as a whole: Syncthing may look between its making and its last byte.
    func write(_ text: String, to path: String) throws {
        let file = URL(filePath: container.appending(path).string)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        // Outside of the folder, on the same file system.
        let draft = home.appending("draft").string
        try Data(text.utf8).write(to: URL(filePath: draft))
        guard rename(draft, file.path) == 0 else { throw Errno(rawValue: errno) }
    }

    func read(_ path: String) -> String? {
        (try? Data(contentsOf: URL(filePath: container.appending(path).string))).map { String(decoding: $0, as: UTF8.self) }
    }

    func status(_ path: String) async throws -> ItemStatus { try await source.state(of: container.appending(path)).status }
}

/// The two members of an account.
struct Members: Sendable {
    let a: Member
    let b: Member

    /// Whether `notes list` shows these titles on both, and no others.
    func hold(_ titles: [String]) async throws -> Bool {
        for member in [a, b] where try await member.titles() != titles.sorted() { return false }
        return true
    }

    /// Whether items stand alike on both.
    func are(_ status: ItemStatus, _ paths: String...) async throws -> Bool {
        for member in [a, b] {
            for path in paths where try await member.status(path) != status { return false }
        }
        return true
    }
}

/// Starts a pair for a suite, and stops it behind the last test.
struct PairTrait: SuiteTrait, TestScoping {
    func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        try await SyncthingPair.with { pair in
            try await SyncthingPair.$current.withValue(pair) { try await function() }
        }
    }
}

extension Trait where Self == PairTrait {
    static var pair: Self { PairTrait() }
}

extension Result where Failure == any Error {
    init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
