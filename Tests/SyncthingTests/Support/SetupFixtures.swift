import Foundation
import Glibc
import SyncthingStatus
import SystemPackage
import Testing
import ToolProcesses
import UbiquityContainers
import Waiting

/// A device on which nothing is set up yet: no Syncthing, no account.
struct BareDevice: Sendable {
    let directory: FilePath
    /// The port at which its Syncthing will listen, and that of the web interface.
    let port: Int
    let interface: Int

    var home: FilePath { directory.appending("home") }
    var root: FilePath { directory.appending("root") }
    var syncthing: FilePath { directory.appending("syncthing") }
    var configuration: FilePath { home.appending("config.json") }
    var address: String { "tcp://127.0.0.1:\(port)" }

    /// The options that keep a Syncthing on this machine.
    private var isolating: [String] {
        [
            "--containers", root.string, "--syncthing-home", syncthing.string, "--listen", address, "--gui-address", "127.0.0.1:\(interface)",
            "--local-only",
        ]
    }

    private var environment: [String: String] { ["HOME": directory.string, "STNOUPGRADE": "1", "GOMAXPROCS": "1"] }

    /// The arguments that set up this device.
    func setUpArguments(_ rest: [String]) -> [String] {
        ["setup", "syncthing", "--account", "alice"] + isolating + rest + ["--yes", "--home", home.string, "--json"]
    }

    /// The arguments that join another device.
    func joinArguments(_ code: String, _ rest: [String] = []) -> [String] {
        ["setup", "join", code] + isolating + rest + ["--yes", "--home", home.string, "--json"]
    }

    /// Runs `ubcontrol`.
    func control(_ arguments: [String]) async throws -> Tool.Outcome { try await Tool.run("ubcontrol", arguments, environment: environment) }

    /// Starts `ubcontrol`, which stays while it waits.
    func start(_ arguments: [String]) async throws -> RunningTool { try await RunningTool("ubcontrol", arguments, environment: environment) }

    /// Sets this device up without waiting for another one, and returns the code.
    @discardableResult
    func setUp(_ rest: String...) async throws -> String {
        let outcome = try await control(setUpArguments(rest + ["--no-wait"]))
        try #require(outcome.status == 0, "\(outcome)")
        return try #require(SetupLine.all(in: outcome.output).first { $0.kind == "code" }?.code)
    }

    /// Reads what Syncthing has been told, and its key.
    var endpoint: SyncthingConfiguration {
        get throws { try #require(try SyncthingHome(syncthing, isNamed: true).interface()) }
    }

    var client: SyncthingClient { get throws { SyncthingClient(try SyncthingEndpoint(endpoint), timeout: .seconds(120)) } }

    func status() async throws -> SetupState {
        let outcome = try await control(["setup", "status", "--json", "--home", home.string])
        return try JSONDecoder().decode(SetupState.self, from: Data(outcome.output.utf8))
    }

    func titles() async throws -> [String] {
        struct Note: Decodable { var title: String }
        let outcome = try await Tool.run("notes", ["list", "--json", "--home", home.string], environment: environment)
        try #require(outcome.status == 0, "\(outcome.errors)")
        return try JSONDecoder().decode([Note].self, from: Data(outcome.output.utf8)).map(\.title).sorted()
    }

    func add(_ title: String) async throws {
        let outcome = try await Tool.run("notes", ["add", title, "--home", home.string], environment: environment)
        try #require(outcome.status == 0, "\(outcome.errors)")
    }

    /// The bytes of everything that setup could change: the home's files, Syncthing's configuration, and the names in the root.
    func state() throws -> [String: Data] {
        var state: [String: Data] = [:]
        for file in [configuration, home.appending("account.json"), home.appending("setup.json"), syncthing.appending("config.xml")] {
            state[file.string] = try? Data(contentsOf: URL(filePath: file.string))
        }
        state["root"] = Data(((try? FileManager.default.contentsOfDirectory(atPath: root.string)) ?? []).sorted().joined(separator: "\n").utf8)
        return state
    }

    /// The Syncthings of this device that run.
    var processes: [Int32] {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return all.compactMap { Int32($0) }.filter { process in
            let line = (try? Data(contentsOf: URL(filePath: "/proc/\(process)/cmdline"))) ?? Data()
            let words = String(decoding: line, as: UTF8.self)
            return words.contains("serve\0") && words.contains("=\(syncthing)\0")
        }
    }
}

/// A line of `ubcontrol setup … --json`.
struct SetupLine: Decodable {
    var kind: String
    var what: String?
    var undo: String?
    var code: String?
    var device: String?
    var name: String?

    static func all(in output: String) throws -> [SetupLine] { try output.split(separator: "\n").map { try one(String($0)) } }

    static func one(_ line: String) throws -> SetupLine { try JSONDecoder().decode(SetupLine.self, from: Data(line.utf8)) }
}

/// The answer of `ubcontrol setup status --json`.
struct SetupState: Decodable {
    struct Syncthing: Decodable {
        var version: String
        var device: String
        var folder: String?
    }
    struct Device: Decodable {
        var device: String
        var name: String
        var isConnected: Bool
        var sees: Bool
    }

    var account: String?
    var deviceName: String
    var transport: String?
    var syncthing: Syncthing?
    var devices: [Device]
    var hasOpenCode: Bool
    var isReady: Bool
}

/// Runs a body with devices on which nothing is set up, and ends the Syncthings that they have started.
func withBareDevices(_ count: Int, _ body: ([BareDevice]) async throws -> Void) async throws {
    try #require(
        FileManager.default.isExecutableFile(atPath: "/usr/bin/syncthing"), "there is no syncthing: Tools/setup installs the package syncthing")
    let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-test-\(UUID().uuidString)")
    let ports = freePorts(2 * count)
    let devices = (0..<count).map { BareDevice(directory: directory.appending("device\($0)"), port: ports[2 * $0], interface: ports[2 * $0 + 1]) }
    for device in devices { try FileManager.default.createDirectory(atPath: device.directory.string, withIntermediateDirectories: true) }
    defer { try? FileManager.default.removeItem(atPath: directory.string) }
    let result = await Result { try await body(devices) }
    for device in devices {
        // Syncthing's monitor is the first of its two processes; what it restarts meanwhile is found next time.
        try await until("the Syncthings have ended", limit: patience) {
            let processes = device.processes
            for process in processes { kill(process, SIGKILL) }
            return processes.isEmpty
        }
    }
    try result.get()
}

/// Returns ports of the loopback interface at which nothing listens, below those of outgoing connections.
private func freePorts(_ count: Int) -> [Int] {
    var sockets: [Int32] = []
    defer { for socket in sockets { close(socket) } }
    var ports: [Int] = []
    while ports.count < count {
        let port = Int.random(in: 20_000..<32_000)
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        sockets.append(descriptor)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let isFree = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) } == 0
        }
        if isFree, !ports.contains(port) { ports.append(port) }
    }
    return ports
}

/// Something at an address that is not a Syncthing of today.
enum FalseSyncthing: String, CaseIterable, Sendable {
    case old, page, empty, list, garbage, silent, closing

    private static let script = """
        import http.server, json, socketserver, sys
        kind = sys.argv[1]
        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *arguments): pass
            def do_GET(self):
                if kind == 'silent':
                    # Until the other side has had enough.
                    self.rfile.read()
                    return
                if kind == 'closing':
                    return
                answers = {'old': json.dumps({'version': 'v1.18.6'}), 'page': '<html>', 'empty': '{}', 'list': '[]', 'garbage': '\\0\\xff' * 1000}
                body = answers[kind].encode('latin-1')
                self.send_response(200)
                self.send_header('Content-Length', str(len(body)))
                self.end_headers()
                self.wfile.write(body)
        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True
        server = Server(('127.0.0.1', 0), Handler)
        print(server.server_address[1], flush=True)
        server.serve_forever()
        """

    /// Runs a body while it answers.
    func serve(_ body: (String) async throws -> Void) async throws {
        let running = try await RunningTool("/usr/bin/python3", ["-c", Self.script, rawValue])
        let lines = running.lines.limited().makeAsyncIterator()
        let port = try #require(try await lines.next())
        let result = await Result { try await body("http://127.0.0.1:\(port)") }
        try await running.stop()
        try result.get()
    }
}
