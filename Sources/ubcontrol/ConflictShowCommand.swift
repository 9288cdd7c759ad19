import ArgumentParser
import FileCoordination
import Foundation
import Rainbow
import SystemPackage
import ToolSupport
import UbiquityContainers

/// The document of a command.
struct ConflictDocumentArgument: ParsableArguments {
    @Argument(help: ArgumentHelp("The document, a file or package in a container.", valueName: "path"), completion: .file())
    var path: String
}

/// Runs `ubcontrol conflict show`.
struct ConflictShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Compare the versions of a document with its current one.",
        discussion: """
            Prints the current version, and for each other one its facts and the difference: for text in UTF-8 the lines, as `diff -u` prints them, \
            for other files the sizes and hashes, for a package the files that differ. Texts above 1 MiB or 20,000 lines are not compared by lines. \
            The documents are read under coordination.

            Exit status 0, also if contents are equal; 1 if there are no other versions, or a content cannot be read; 64 if there is no such document \
            or version.
            """
    )

    @OptionGroup var document: ConflictDocumentArgument

    @Option(help: ArgumentHelp("Compare only this version.", discussion: "By default all.", valueName: "number-or-id"))
    var only: String?

    // The help shows the flag of this name that every tool has.
    @Option(help: .hidden)
    var version: String?

    @OptionGroup var home: HomeOptions

    @Flag(
        help: """
            Print a JSON object: path, current (date, size, path), versions (number, id, state, date, size, device, path, comparison (kind, which is \
            same, text, binary, tooLarge, package or kinds, diff, files (path, change), currentSHA256, sha256)).
            """)
    var json = false

    func run() async throws {
        let (container, document) = try await ConflictScope(home.deviceHome).document(document.path)
        try document.requireVersions(document.others)
        let named = try (only ?? version).map { [try document.version(named: $0)] }
        let chosen = named ?? Array(zip(document.others, document.versions))
        // In a container of a cloud, a coordinated read fetches a document that is evicted meanwhile.
        let attached = try await container.coordinated(home.deviceHome)
        defer { withExtendedLifetime(attached) {} }
        var versions: [Report.Version] = []
        for (version, facts) in chosen {
            versions.append(Report.Version(facts: facts, comparison: try await Self.compare(document, version)))
        }
        let report = Report(path: document.path.string, current: .init(document), versions: versions)
        if json { return try printJSON(report) }
        for line in report.lines { print(line) }
    }

    /// Compares one version with the current one in a coordinated read of both.
    private static func compare(_ document: ConflictDocument, _ version: FileVersion) async throws -> ConflictComparison {
        let item = FileAccessIntent.readingIntent(with: document.url, options: .withoutChanges)
        let copy = FileAccessIntent.readingIntent(with: version.url, options: .withoutChanges)
        return try await reachingCoordination {
            try await FileCoordinator().coordinate(with: [item, copy], deadline: ConflictResolution.limit) {
                let (current, other) = (FilePath(item.url.path(percentEncoded: false)), FilePath(copy.url.path(percentEncoded: false)))
                return try await blocking { try ConflictComparison(of: current, with: other) }
            }
        }
    }
}

extension KnownContainer {
    /// Returns the container as coordinated accesses need it; nil if no app of this device has used it, which also writes nothing into it.
    func coordinated(_ home: DeviceHome) async throws -> UbiquityContainer? {
        guard case .attachment = state else { return nil }
        return try await UbiquityContainer(identifier.description, home: home)
    }
}

/// Runs coordinated accesses, and ends with the status for a broker that cannot be reached, or an access that was not granted in time.
nonisolated(nonsending) func reachingCoordination<Value>(_ body: nonisolated(nonsending) () async throws -> Value) async throws -> Value {
    do {
        return try await body()
    } catch let error as FileCoordinationError where error.code == .brokerUnavailable {
        throw Refusal("\(error)", status: ToolExit.unavailable)
    } catch let error as FileCoordinationError where error.code == .deadlineExceeded {
        throw Refusal("\(error)", status: ToolExit.timedOut)
    }
}

// MARK: Output

private struct Report: Encodable {
    struct Current: Encodable {
        var path: String
        var date: Date
        var size: Int64

        init(_ document: ConflictDocument) {
            path = document.path.string
            date = document.current.modificationDate
            size = ConflictVersion.size(of: document.path)
        }
    }

    struct Version: Encodable {
        var facts: ConflictVersion
        var comparison: ConflictComparison

        private enum CodingKeys: String, CodingKey { case comparison }

        func encode(to encoder: any Encoder) throws {
            try facts.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(comparison, forKey: .comparison)
        }
    }

    var path: String
    var current: Current
    var versions: [Version]

    /// The report for people.
    var lines: [String] {
        let hash = versions.lazy.compactMap(\.comparison.currentHash).first.map { "  sha256 \($0)" } ?? ""
        let size = ConflictVersion.text(ofSize: current.size)
        var lines = [path.printable.bold, "  current  \(current.date.formatted(.iso8601))  \(size)\(hash)"]
        for version in versions {
            lines.append("  \(version.facts.line)\(version.comparison.hash.map { "  sha256 \($0)" } ?? "")")
            lines.append("     \(version.facts.path.printable)")
        }
        for version in versions { lines += [""] + version.difference(from: path) }
        return lines
    }
}

extension Report.Version {
    /// The difference for people.
    fileprivate func difference(from path: String) -> [String] {
        let name = "version \(facts.number)"
        switch comparison.kind {
        case .same: return ["\(name) has the current content"]
        case .text: return comparison.lines.map(\.colored)
        case .binary: return ["\(name) differs, and is not compared by lines, because one content is no text in UTF-8"]
        case .tooLarge:
            let limits = "\(LineDifference.byteLimit >> 20) MiB or \(LineDifference.lineLimit) lines"
            return ["\(name) differs, and is not compared by lines, because a text is above \(limits): \(path) and \(facts.path)".printable]
        case .kinds: return ["\(name) and the current one are not both files, nor both packages: \(path) and \(facts.path)".printable]
        case .package:
            return ["\(name) is a package that differs from the current one in these files:"]
                + (comparison.files ?? []).map { file in
                    switch file.change {
                    case .onlyCurrent: "  - \(file.path.printable)  (only in the current version)".red
                    case .onlyVersion: "  + \(file.path.printable)  (only in \(name))".green
                    case .changed: "  * \(file.path.printable)"
                    }
                }
        }
    }
}

extension LineDifference.Line {
    /// The line for a terminal: tabs stay, and numbers replace other control characters.
    fileprivate var colored: String {
        let text = text.split(separator: "\t", omittingEmptySubsequences: false).map { String($0).printable }.joined(separator: "\t")
        return switch kind {
        case .name: text.bold
        case .place: text.cyan
        case .removed: text.red
        case .inserted: text.green
        case .same, .remark: text
        }
    }
}
