import ArgumentParser
import Foundation
import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// Runs `ubcontrol report`.
struct ReportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Pack what a bug report needs into one archive: versions, the device home, containers, logs and stores.",
        discussion: """
            Without --contents nothing is in it of what a user keeps: no value and no key of a record, no name and no content of a document. Of documents there \
            are sizes, times, and a hash of each part of the path, which stays the same from report to report; extensions that everybody knows, such as .txt, \
            stay readable. Of logs, baselines and receipts there is what they say of themselves; of stores their tables, and how many of what there are. Names \
            of accounts, devices, containers and tables are in it, and paths up to the containers. With --contents the containers as they are, and copies of \
            the stores, are in it as well. Syncthing's API key never is.

                ubcontrol report --store STORE --output FILE

            It writes nothing but the archive, and may run beside the apps. Exit status 0 where the archive is there, 1 where it is not, 64 for a \
            wrong command line.
            """
    )

    @Option(
        help: ArgumentHelp(
            "The archive, a .tar.gz; nothing may be there.", discussion: "Else ubiquity-report-<time>.tar.gz in the working directory.",
            valueName: "file"),
        completion: .file(extensions: ["tar.gz"]))
    var output: String?

    @Flag(help: "Put in the containers' files and copies of the stores, with all that is in them.")
    var contents = false

    @Option(
        name: .customLong("container"),
        help: ArgumentHelp(
            "A container of the signed-in account. May be given more than once.", discussion: "Else all of them.", valueName: "identifier"))
    var containers: [String] = []

    @Option(
        name: .customLong("store"),
        help: ArgumentHelp("A store: the path that the app gave it. May be given more than once.", valueName: "store"), completion: .file())
    var stores: [String] = []

    @OptionGroup var options: HomeOptions

    @Flag(help: "Print a JSON object: archive, bytes, files.")
    var json = false

    func run() async throws {
        let home = try options.deviceHome
        let time = Date().formatted(.iso8601.dateSeparator(.omitted).timeSeparator(.omitted))
        let archive = try ReportArchive(FilePath(output ?? "ubiquity-report-\(time).tar.gz"))
        do {
            try await TerminalProgress.awaiting("gathering the report", { try await fill(archive, home) })
            try TerminalProgress.showing("packing the report") { try archive.pack() }
        } catch {
            archive.discard()
            throw error
        }
        archive.discard()
        if json {
            try printJSON(Packed(archive: archive.target.string, bytes: archive.bytes, files: archive.files))
        } else {
            for file in archive.files { print(file.printable) }
            print("Packed \(counted(archive.files.count, "file")) into \(archive.target), \(archive.bytes) bytes.")
            if contents { print("Everything that the containers and stores hold is in it: give it to nobody who may not read that.") }
        }
    }

    private nonisolated(nonsending) func fill(_ archive: ReportArchive, _ home: DeviceHome) async throws {
        let paths = stores.map { FilePath($0) }
        let (diagnosis, findings) = try await DoctorCommand.look(at: home, stores: paths, isDeep: false)
        let known = diagnosis.home.account == nil ? [] : (try? KnownContainer.list(in: home)) ?? []
        let chosen = try containers.map { name in
            guard let found = known.first(where: { $0.identifier.description == name }) else {
                throw Refusal("There is no container \(name) here; see `ubcontrol container list`.")
            }
            return found
        }
        let names = contents ? nil : RedactedNames()
        try archive.add("versions.json", SystemVersions())
        try archive.add("home.json", HomeReport(of: home, diagnosis, known))
        try archive.add("doctor.json", findings.map { ReportedFinding($0, containers: known.map(\.path), names: names) })
        for container in containers.isEmpty ? known : chosen {
            let place = "containers/\(container.identifier)"
            try archive.add("\(place)/files.json", ContainerListing(of: container.path, names: names))
            for content in ContentReport.all(in: container.path) { try archive.add("\(place)/\(content.contentName).content.json", content) }
            guard contents, FileManager.default.fileExists(atPath: container.path.string) else { continue }
            _ = try ContainerCopy.make(of: container.path, at: archive.place("contents/\(place)"))
        }
        for (number, path) in paths.enumerated() {
            let name = "\(number + 1)-\(path.lastComponent?.string ?? "store")"
            try archive.add("stores/\(name).json", try StoreInspection.look(at: path) { try $0.report() })
            if contents { try StoreInspection(path, readOnly: true).backup(to: archive.place("contents/stores/\(name)")) }
        }
    }

    private struct Packed: Encodable {
        var archive: String
        var bytes: Int64
        var files: [String]
    }
}

/// A finding of `ubcontrol doctor`, without the words that may name documents or records.
struct ReportedFinding: Encodable {
    var severity: Finding.Severity
    var area: Finding.Area
    var path: String?
    /// Nil where it may say more than it should: the remedy, which is the same for all findings of a kind, says which kind it is.
    var what: String?
    var remedy: String

    /// Takes a finding.
    ///
    /// - Parameters:
    ///   - finding: as the doctor tells it.
    ///   - containers: the containers' directories.
    ///   - names: hides names; nil shows all.
    init(_ finding: Finding, containers: [FilePath], names: RedactedNames?) {
        (severity, area, path, remedy) = (finding.severity, finding.area, finding.path, finding.remedy)
        switch area {
        case .home, .account, .root, .container, .broker: what = finding.what
        case .item, .store, .syncthing: what = names == nil ? finding.what : nil
        }
        guard let names, let found = path.map({ FilePath($0) }) else { return }
        for container in containers.flatMap({ [$0, PathFacts.resolved($0)] }) {
            var rest = found
            if rest.removePrefix(container) { path = container.pushing(names.path(rest)).string }
        }
    }
}
