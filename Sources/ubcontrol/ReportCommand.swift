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
        abstract: "Pack the data for a bug report into one archive: versions, the device home, containers, logs and stores.",
        discussion: """
            Without --contents the report contains no user data: no value and no key of a record, no name and no content of a document. For \
            documents it contains sizes, times, and a hash of each part of the path, which is equal in all reports; well-known extensions, such as \
            .txt, stay readable. For logs, baselines and receipts it contains their headers; for stores their tables with the numbers of their \
            entries. It contains names of accounts, devices, containers and tables, and paths down to the containers. With --contents it also \
            contains the complete containers, and copies of the stores. It never contains Syncthing's API key.

                ubcontrol report --store STORE --output FILE

            The command writes only the archive, and may run beside the apps. Exit status 0 if the archive was written, 1 if it was not, 64 for a \
            wrong command line.
            """
    )

    @Option(
        help: ArgumentHelp(
            "The archive, a .tar.gz; it must not exist.", discussion: "By default ubiquity-report-<time>.tar.gz in the working directory.",
            valueName: "file"),
        completion: .file(extensions: ["tar.gz"]))
    var output: String?

    @Flag(help: "Include the containers' files and copies of the stores, with all their data.")
    var contents = false

    @Option(
        name: .customLong("container"),
        help: ArgumentHelp(
            "A container of the signed-in account. May be given more than once.", discussion: "By default all of them.", valueName: "identifier"))
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
            if contents { print("The archive contains all data of the containers and stores: give it only to people who may read that data.") }
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
            try archive.add("stores/\(name).json", try InspectedStore.look(at: path) { try $0.report() })
            if contents { try InspectedStore(path, readOnly: true).backup(to: archive.place("contents/stores/\(name)")) }
        }
    }

    private struct Packed: Encodable {
        var archive: String
        var bytes: Int64
        var files: [String]
    }
}

/// A finding of `ubcontrol doctor` without words that may name documents or records.
struct ReportedFinding: Encodable {
    var severity: Finding.Severity
    var area: Finding.Area
    var path: String?
    /// Nil if it may reveal too much; the remedy, which is equal for all findings of a kind, identifies the kind.
    var what: String?
    var remedy: String

    /// Makes a reported finding.
    ///
    /// - Parameters:
    ///   - finding: the doctor's finding.
    ///   - containers: the containers' directories.
    ///   - names: hides names; nil shows all.
    init(_ finding: Finding, containers: [FilePath], names: RedactedNames?) {
        (severity, area, path, remedy) = (finding.severity, finding.area, finding.path, finding.remedy)
        switch area {
        case .home, .account, .root, .container, .broker: what = finding.what
        case .item, .store, .syncthing, .cloud: what = names == nil ? finding.what : nil
        }
        guard let names, let found = path.map({ FilePath($0) }) else { return }
        for container in containers.flatMap({ [$0, PathFacts.resolved($0)] }) {
            var rest = found
            if rest.removePrefix(container) { path = container.pushing(names.path(rest)).string }
        }
    }
}
