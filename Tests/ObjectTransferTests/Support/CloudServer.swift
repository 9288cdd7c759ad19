import Foundation
import Glibc
import SystemPackage
import ToolProcesses
import UbiquityContainers
import Waiting

/// A cloud of one kind on this machine, served by rclone.
struct CloudServer {
    let kind: String
    /// Where its files lie.
    let data: FilePath
    /// rclone's configuration with the remote `cloud`.
    let config: FilePath
    /// What stands before a directory: `cloud:`, or with a bucket.
    let root: String
    let port: Int
    private let directory: FilePath
    private let running: RunningTool

    private struct Facts: Decodable {
        var port: Int
        var config: String
        var root: String
    }

    /// The root of the checkout.
    static var checkout: FilePath {
        FilePath(#filePath).removingLastComponent().removingLastComponent().removingLastComponent().removingLastComponent()
    }
    static var rclone: FilePath { checkout.appending(".build/tools/rclone-1.75.2/rclone") }

    /// Whether Ceph's gateway is installed, which only `Tools/setup --tests` installs.
    static let hasCeph = ["radosgw", "ceph-mon", "ceph-osd"].allSatisfy { FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)") }

    /// Whether its clock can be set, by the library faketime.
    static let hasCephWithClock =
        hasCeph
        && ((try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib")) ?? []).contains {
            FileManager.default.fileExists(atPath: "/usr/lib/\($0)/faketime/libfaketimeMT.so.1")
        }

    /// Starts a server, or starts one again that has been stopped.
    ///
    /// - Parameters:
    ///   - kind: what rclone serves, or `rgw` for Ceph's gateway.
    ///   - directory: where everything of it lies.
    ///   - clock: how far the clock of Ceph's gateway is ahead, in seconds.
    /// - Throws: `Missing`, with what the server has said.
    init(_ kind: String, in directory: FilePath, clock: Int = 0) async throws {
        guard FileManager.default.isExecutableFile(atPath: Self.rclone.string) else { throw Missing() }
        let services = Self.checkout.appending("Tools/services")
        let running =
            kind == "rgw"
            ? try await RunningTool(services.appending("ceph-rgw").string, [directory.string, "--clock", "\(clock)"])
            : try await RunningTool(services.appending("cloud").string, [kind, directory.string])
        let line = try await within("the \(kind) server listens") {
            for await line in running.lines { return line }
            return ""
        }
        guard let facts = try? JSONDecoder().decode(Facts.self, from: Data(line.utf8)) else {
            throw Missing(description: "the \(kind) server does not start: \(line) \(try await running.end().errors)")
        }
        (self.kind, self.directory, self.running, data) = (kind, directory, running, directory.appending("data"))
        (config, root, port) = (FilePath(facts.config), facts.root, facts.port)
    }

    private struct Missing: Error, CustomStringConvertible {
        var description = "rclone is missing in the checkout; run Tools/setup"
    }

    /// Limits the objects of Ceph's bucket; nil for no limit.
    func setQuota(objects: Int?) async throws {
        let text = try String(contentsOfFile: config.string, encoding: .utf8)
        let user = text.split(separator: "\n").first { $0.hasPrefix("access_key_id") }!.split(separator: " ").last!
        let client = ["-c", directory.appending("ceph.conf").string, "-n", "client.rgw"]
        let quota = ["--quota-scope=bucket", "--uid", String(user)]
        if let objects { try await run(client + ["quota", "set"] + quota + ["--max-objects", "\(objects)"]) }
        try await run(client + ["quota", objects == nil ? "disable" : "enable"] + quota)
    }

    private func run(_ arguments: [String]) async throws {
        let outcome = try await Tool.run("/usr/bin/radosgw-admin", arguments)
        guard outcome.status == 0 else { throw Missing(description: "radosgw-admin: \(outcome.errors)") }
    }

    func stop() async throws { _ = try await running.stop() }

    /// Starts it again after a stop, at its former port.
    func restarted() async throws -> CloudServer { try await CloudServer(kind, in: directory) }

    /// A device's configuration of this cloud.
    ///
    /// - Parameters:
    ///   - crypt: the password of an encrypted remote over it; nil for a plain one.
    ///   - name: the name of rclone's configuration of that device.
    /// - Returns: the configuration, with an rclone configuration of its own.
    /// - Throws: Foundation's errors, if no file can be written.
    func configuration(crypt: String? = nil, named name: String = "device") async throws -> CloudConfiguration {
        var cloud = CloudConfiguration(remote: root.hasSuffix(":") ? "\(root)Ubiquity" : "\(root)/Ubiquity")
        cloud.rclone = Self.rclone.string
        var text = try String(contentsOfFile: config.string, encoding: .utf8)
        if let crypt {
            let obscured = try await Tool.run(Self.rclone.string, ["obscure", crypt]).output.trimmingCharacters(in: .whitespacesAndNewlines)
            // Without strict_names, which the package sets by itself.
            text += "\n[secret]\ntype = crypt\nremote = \(cloud.remote)\npassword = \(obscured)\n"
            cloud.remote = "secret:"
        }
        let own = directory.removingLastComponent().appending("\(name)-rclone.conf")
        try Data(text.utf8).write(to: URL(filePath: own.string))
        chmod(own.string, 0o600)
        cloud.rcloneConfig = own.string
        return cloud
    }
}
