import FileCoordination
import Foundation
import ObjectTransfer
import RcloneTransfer
import SystemPackage
import ToolProcesses
import UbiquityContainers

/// A cloud on this machine that rclone serves, and devices whose files it holds.
struct CloudScene {
    let directory: FilePath
    /// rclone's configuration with the remote `cloud`.
    private let config: FilePath
    private let root: String
    let port: UInt16
    let account = try! AccountName("bench")

    static let checkout = FilePath(#filePath).removingLastComponent().removingLastComponent().removingLastComponent().removingLastComponent()
    private static let rclone = checkout.appending(".build/tools/rclone-1.75.2/rclone")

    private struct Facts: Decodable {
        var config: String
        var root: String
        var port: UInt16
    }

    /// Runs a body with a cloud of a kind.
    static func with(_ kind: String, _ body: (CloudScene) async throws -> Void) async throws {
        let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("transfer-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        let server = try await RunningTool(
            checkout.appending("Tools/services/cloud").string, [kind, directory.appending("server").string], limit: nil)
        var line = ""
        for await first in server.lines {
            line = first
            break
        }
        let facts = try JSONDecoder().decode(Facts.self, from: Data(line.utf8))
        do {
            try await body(CloudScene(directory: directory, config: FilePath(facts.config), root: facts.root, port: facts.port))
        } catch {
            _ = try? await server.stop()
            throw error
        }
        _ = try await server.stop()
    }

    /// The cloud, reached through another port if one is given.
    func configuration(_ name: String, through port: UInt16? = nil) throws -> CloudConfiguration {
        var cloud = CloudConfiguration(remote: root.hasSuffix(":") ? root + name : "\(root)/\(name)")
        cloud.rclone = Self.rclone.string
        let own = directory.appending("\(name).conf")
        let text = try String(contentsOfFile: config.string, encoding: .utf8)
        let changed = port.map { text.replacing(":\(self.port)", with: ":\($0)").replacing("port = \(self.port)", with: "port = \($0)") } ?? text
        try Data(changed.utf8).write(to: URL(filePath: own.string))
        cloud.rcloneConfig = own.string
        return cloud
    }

    /// Makes a device with a number of files, as a store writes them.
    func files(_ name: String, _ count: Int, of size: Int) throws -> FilePath {
        let root = directory.appending(name)
        let peer = PeerIdentifier("bench~\(UUID().uuidString.lowercased())")!
        let content = root.appending("bench/org.example.bench/CoreData/Bench/\(peer)/1")
        try FileManager.default.createDirectory(atPath: content.string, withIntermediateDirectories: true)
        var bytes = [UInt8](repeating: 7, count: size)
        for number in 0..<count {
            withUnsafeBytes(of: number) { bytes.replaceSubrange(0..<8, with: $0) }
            try Data(bytes).write(to: URL(filePath: content.appending("\(number).ublog").string))
        }
        return root
    }

    /// A runner over the files of a device.
    func runner(
        _ root: FilePath, _ cloud: CloudConfiguration, carriesDocuments: Bool = false
    ) async throws -> (TransferRunner, RcloneStore) {
        let program = try RcloneProgram(FilePath(cloud.rclone!), configuration: FilePath(cloud.rcloneConfig!))
        let store = try await RcloneStore(cloud.remote, directory: account.description, program: program)
        // Its program is started and the remote is begun before anything is measured.
        _ = try await store.list("news")
        let runner = try TransferRunner(
            account: account, store: store, disk: ContainersDisk(root: root, account: account),
            documents: carriesDocuments ? DocumentDisk(root: root, account: account, packages: FilePackages()) : nil,
            memory: TransferIndex(root.appending("index.sqlite")), situation: TransferSituation(peers: []))
        return (runner, store)
    }

    /// Runs rclone to its end.
    func rclone(_ arguments: [String], _ cloud: CloudConfiguration) async throws {
        let outcome = try await Tool.run(Self.rclone.string, arguments + ["--config", cloud.rcloneConfig!], limit: nil)
        precondition(outcome.status == 0, outcome.errors)
    }
}

extension TransferRunner {
    /// Passes until nothing is left to do.
    func finish() async throws {
        while true {
            let outcome = try await pass(.everything)
            precondition(outcome.block == nil && outcome.failure == nil, "\(outcome)")
            if !outcome.hasMore, !outcome.isBusy { return }
        }
    }
}
