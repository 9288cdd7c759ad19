import Foundation
import SyncthingStatus
import SystemPackage
import ToolSupport
import UbiquityContainers

/// The program `syncthing` of this device: makes a device's keys and configuration, and starts it.
struct SyncthingProgram {
    /// How a Syncthing that the setup makes is configured.
    struct Options: Sendable {
        /// The address at which other devices reach it, such as `tcp://0.0.0.0:22001`; nil lets Syncthing choose.
        var listen: String?
        /// The address of its web interface, such as `127.0.0.1:8385`; nil lets Syncthing choose.
        var interface: String?
        /// Whether it uses no servers outside of the local network.
        var isLocalOnly = false
    }

    let path: FilePath

    /// Finds the program and checks its version.
    ///
    /// - Throws: `SetupError` if it is not installed, or too old.
    init() throws {
        guard let path = ChildProgram.path("syncthing") else {
            throw SetupError("Syncthing is not installed; install it, on Debian with: sudo apt install syncthing")
        }
        self.path = path
        let (status, output) = try ChildProgram.run(path, ["--version"])
        guard status == 0, output.lowercased().contains("syncthing") else {
            throw SetupError("The program \(path) is not Syncthing, or does not run; install it, on Debian with: sudo apt install syncthing")
        }
        let version = output.split(separator: " ").dropFirst().first.map(String.init) ?? ""
        if SyncthingVersion(version).isTooOld {
            throw SetupError("The program \(path) is Syncthing \(version); install \(SyncthingVersion.oldest) or newer.")
        }
    }

    /// Makes keys and a configuration.
    ///
    /// - Parameters:
    ///   - home: the directory; nil for the one that Syncthing uses by itself.
    ///   - options: the configuration.
    /// - Returns: the directory.
    /// - Throws: `SetupError`.
    func make(_ home: SyncthingHome?, _ options: Options) throws -> SyncthingHome {
        // A directory gets its name when everything is in it, so that nothing half made is taken for a configuration.
        let draft = home.map { FilePath("\($0.path).making") }
        if let draft { try? FileManager.default.removeItem(atPath: draft.string) }
        let (status, output) = try ChildProgram.run(
            path, ["generate"] + (draft.map { ["--home=\($0)"] } ?? []), environment: ["STNODEFAULTFOLDER": "1", "STNOUPGRADE": "1"])
        guard status == 0, let made = draft.map({ SyncthingHome($0, isNamed: true) }) ?? SyncthingHome.find(named: nil) else {
            throw SetupError("`syncthing generate` failed: \(UserUnit.lastLine(output)); correct that, and try again.")
        }
        try configure(made, options)
        guard let home, let draft else { return made }
        do {
            // An empty directory may be there already; rename(2) replaces it.
            try LinuxFileLayer().renameOver(draft, to: home.path)
        } catch {
            try? FileManager.default.removeItem(atPath: draft.string)
            throw SetupError("\(home.path) cannot be made (\(error)); name another directory with --syncthing-home.")
        }
        return home
    }

    private func configure(_ home: SyncthingHome, _ options: Options) throws {
        let file = home.configuration.string
        var text = try String(contentsOfFile: file, encoding: .utf8)
        if let address = options.interface {
            text.replace(/(<gui[^>]*>\s*<address>)[^<]*/, maxReplacements: 1) { "\($0.1)\(address)" }
        }
        if let address = options.listen {
            text.replace(/\s*<listenAddress>[^<]*<\/listenAddress>/) { _ in "" }
            text.replace(/<options>/, maxReplacements: 1) { _ in "<options>\n        <listenAddress>\(address)</listenAddress>" }
        }
        if options.isLocalOnly {
            for name in ["globalAnnounceEnabled", "relaysEnabled", "natEnabled", "crashReportingEnabled"] {
                text = text.replacingOccurrences(of: "<\(name)>true<", with: "<\(name)>false<")
            }
            text.replace(/<stunKeepaliveStartS>\d+</) { _ in "<stunKeepaliveStartS>0<" }
            text.replace(/<autoUpgradeIntervalH>\d+</) { _ in "<autoUpgradeIntervalH>0<" }
        }
        try Data(text.utf8).write(to: URL(filePath: file), options: .atomic)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    }
}
