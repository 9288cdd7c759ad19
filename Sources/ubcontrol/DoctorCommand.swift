import ArgumentParser
import Foundation
import Rainbow
import SyncthingStatus
import SystemPackage
import ToolSupport
import UbiquityContainers

/// Runs `ubcontrol doctor`.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Find the problems that keep this device from syncing, and print the remedies.",
        discussion: """
            Inspects the device home, the account, the containers root and its file system, each container and the names in it, the stores' \
            contents, whether the stores of this device exchange, the public containers that it has keys for, the broker, and Syncthing or the cloud if config.json names it. Prints one line for each \
            finding: a fault stops something from working, a warning may do so later, a remark does neither. The command writes nothing, except \
            that SQLite records in its shared memory who reads a store; it contacts only the broker, Syncthing, the transfer agent and rclone, and may run beside the apps.

                ubcontrol doctor --store STORE

            Exit status 0 if there is no fault, 1 if there is one, 64 for a wrong command line.
            """
    )

    @Option(
        name: .customLong("store"),
        help: ArgumentHelp(
            "Also check this store: the path that the app gave it. May be given more than once.",
            discussion: "SQLite may put its shared memory beside the file.", valueName: "store"),
        completion: .file())
    var stores: [String] = []

    @Flag(help: "Read every file of the stores' contents, as `ubwatch verify` does.")
    var deep = false

    @OptionGroup var options: HomeOptions

    @Flag(help: "Print a JSON object: home, account, isSound, findings (severity, area, path, what, remedy).")
    var json = false

    func run() async throws {
        let home = try options.deviceHome
        let (diagnosis, findings) = try await Self.look(at: home, stores: stores.map { FilePath($0) }, isDeep: deep)
        if json {
            try printJSON(
                Report(home: home.path.string, account: diagnosis.home.account?.name, isSound: findings.isSound, findings: findings))
        } else {
            for line in lines(findings) { print(line) }
        }
        if !findings.isSound { throw ExitCode(1) }
    }

    /// Inspects everything.
    ///
    /// - Parameters:
    ///   - home: the device home.
    ///   - stores: store files, or the paths that apps gave them.
    ///   - isDeep: whether to read every file of the stores' contents.
    /// - Returns: the inspected facts, and all findings.
    /// - Throws: `SyncthingError` when Syncthing's answers cannot be understood.
    static func look(at home: DeviceHome, stores: [FilePath], isDeep: Bool) async throws -> (DeviceDiagnosis, [Finding]) {
        let (diagnosis, contents) = TerminalProgress.showing { progress in
            var count = 0
            func advance() {
                count += 1
                progress.show(count, "file")
            }
            let diagnosis = DeviceDiagnosis(of: home, progress: { _ in advance() })
            return (diagnosis, StoreDiagnosis.contents(of: diagnosis, isDeep: isDeep, progress: advance))
        }
        var findings = diagnosis.findings + contents + ScopeDiagnosis.findings(in: home)
        let known = diagnosis.home.account == nil ? [] : (try? KnownContainer.list(in: home)) ?? []
        let conditions = await StoreCondition.withDeliveries(StoreCondition.all(of: home, in: known), home, known)
        findings += conditions.compactMap(StoreDiagnosis.finding) + conditions.compactMap(StoreDiagnosis.delivery)
        findings += conditions.flatMap(StoreDiagnosis.undeclared)
        for store in stores { findings += StoreDiagnosis.store(at: store, root: diagnosis.root?.place.path) }
        if home.usesCloud { return (diagnosis, findings + (await CloudDiagnosis(home).findings)) }
        return (diagnosis, findings + (try await syncthing(home, diagnosis)))
    }

    private static func syncthing(_ home: DeviceHome, _ diagnosis: DeviceDiagnosis) async throws -> [Finding] {
        let endpoint: SyncthingEndpoint?
        do {
            endpoint = try SyncthingEndpoint(configuredIn: home)
        } catch let error as SyncthingError {
            return [Finding(.fault, .syncthing, nil, message: error.message, cause: error.cause)]
        } catch {
            // The home's findings include problems of the file.
            return []
        }
        // The questions compare paths, which would wait for the root.
        if diagnosis.root?.place.isSilent == true { return [] }
        guard let endpoint else {
            // On a shared disk no synchroniser is needed.
            if home.sharesDirectory { return [] }
            guard diagnosis.home.home.kind == .directory else { return [] }
            return [
                Finding(
                    .remark, .syncthing, home.configurationFile, "Syncthing is not asked, because the file does not contain its address",
                    "run: ubcontrol setup syncthing, or: ubcontrol setup cloud REMOTE:DIR, or: ubcontrol setup shared DIR, if all devices share a disk"
                )
            ]
        }
        var places = diagnosis.containers.map(\.place.path)
        // Before the first container exists, the root must be shared.
        if places.isEmpty, let root = diagnosis.root { places = [root.place.path] }
        return try await SyncthingFacts(asking: SyncthingClient(endpoint, timeout: .seconds(10)), about: places).findings
    }

    /// The number of findings of one kind to print individually.
    private static let most = 20

    private func lines(_ findings: [Finding]) -> [String] {
        struct Kind: Hashable {
            var severity: Finding.Severity
            var area: Finding.Area
            var remedy: String
        }
        var lines: [String] = []
        var counts: [Kind: Int] = [:]
        for severity in Finding.Severity.allCases {
            for finding in findings where finding.severity == severity {
                let kind = Kind(severity: severity, area: finding.area, remedy: finding.remedy)
                counts[kind, default: 0] += 1
                if counts[kind]! <= Self.most { lines.append(finding.text) }
            }
            for (kind, count) in counts where kind.severity == severity && count > Self.most {
                lines.append("\(severity.text): \(kind.area.rawValue): \(count - Self.most) more like these (\(kind.remedy)); --json lists all")
            }
        }
        let amounts = Finding.Severity.allCases.map { severity in
            let count = findings.count { $0.severity == severity }
            return "\(count) \(severity.rawValue)\(count == 1 ? "" : "s")"
        }
        lines.append("\(findings.isSound ? "nothing is in the way".green : "something is in the way".red) (\(amounts.joined(separator: ", ")))")
        return lines
    }

    private struct Report: Encodable {
        var home: String
        var account: String?
        var isSound: Bool
        var findings: [Finding]
    }
}

extension Finding {
    fileprivate var text: String {
        "\(severity.text): \(area.rawValue): \(path.map { "\($0.printable): " } ?? "")\(what.printable); \(remedy.printable)"
    }
}

extension Finding.Severity {
    fileprivate var text: String {
        switch self {
        case .fault: rawValue.red
        case .warning: rawValue.yellow
        case .remark: rawValue
        }
    }
}
