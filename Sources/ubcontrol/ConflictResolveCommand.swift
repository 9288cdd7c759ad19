import ArgumentParser
import FileCoordination
import Foundation
import SystemPackage
import ToolSupport
import UbiquityContainers

/// Runs `ubcontrol conflict resolve`.
struct ConflictResolveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve",
        abstract: "End the conflict of a document: keep its content, a version, or each of them.",
        discussion: """
            --keep current removes the versions in conflict. --keep with a number or id puts that version in the document's place, in one step, and \
            removes the former content and the other versions in conflict. --keep both removes nothing: each unresolved version becomes a document \
            beside this one, under a name with its device and time. Versions that an app has kept on this device stay.

            The command works under coordination. Versions that appear or change after the question stay in conflict.

            Exit status 0; 1 if there is no conflict, or it could not be ended, with the reason; 4 if other programs did not let go of the document \
            within 30 seconds; 5 if versions are left in conflict; 64 if there is no such document or version.
            """
    )

    @OptionGroup var document: ConflictDocumentArgument

    @Option(
        help: ArgumentHelp("What to keep: current, both, or the number or id of a version.", valueName: "choice"),
        completion: .list(["current", "both"]))
    var keep: String

    @OptionGroup var confirmation: ConfirmOption

    @OptionGroup var dryRun: DryRunOption

    @OptionGroup var home: HomeOptions

    @Flag(help: "Print a JSON object: path, keep, removed (ids), documents (id, path), left (ids of versions that are in conflict now).")
    var json = false

    func run() async throws {
        let (container, document) = try await ConflictScope(home.deviceHome).document(document.path)
        let plan = try ConflictPlan(keep, for: document)
        if dryRun.isOn { return try rehearse(plan, document) }
        if let loss = Self.loss(of: plan, document) { try confirmation.confirm("This \(loss).") }

        let seen = try await Self.unchanged(plan, of: document)
        let attached = try await container.coordinated(home.deviceHome)
        defer { withExtendedLifetime(attached) {} }
        let done = try await reachingCoordination {
            var resolution = ConflictResolution(of: document)
            try await resolution.run(seen)
            return resolution
        }
        let left = try await ConflictDocument.find(document.path)?.versions.filter { $0.state == .unresolved } ?? []
        try report(plan, done, left)
        guard !left.isEmpty else { return }
        printError(
            "Error: \(document.path) is still in conflict: \(counted(left.count, "version")) appeared or changed meanwhile; see `ubcontrol conflict show \(document.path.string.shellWord)`."
                .printable)
        throw ToolExit.troubles
    }

    /// Returns the plan without versions that have changed since the person was asked.
    private static func unchanged(_ plan: ConflictPlan, of document: ConflictDocument) async throws -> ConflictPlan {
        guard let now = try await ConflictDocument.find(document.path) else {
            throw Refusal("\(document.path) has gone meanwhile. Nothing has been changed.", status: ToolExit.failure)
        }
        guard let seen = plan.limited(to: now.others) else {
            throw Refusal(
                "The version to keep of \(document.path) has gone or changed meanwhile. Nothing has been changed; look again with `ubcontrol conflict show`.",
                status: ToolExit.failure)
        }
        if case .keepVersion = plan, now.current != document.current {
            throw Refusal(
                "\(document.path) has changed meanwhile. Nothing has been changed; look again with `ubcontrol conflict show`.",
                status: ToolExit.failure)
        }
        return seen
    }

    // MARK: Output

    /// Returns the contents that are lost, as the rest of a sentence; nil if none is.
    private static func loss(of plan: ConflictPlan, _ document: ConflictDocument) -> String? {
        switch plan {
        case .keepCurrent(let removed):
            "removes for good \(counted(removed.count, "version")) of \(document.path): \(words(removed, of: document))"
        case .keepVersion(let chosen, let removed):
            "replaces the content of \(document.path) by version \(words([chosen], of: document))"
                + (removed.isEmpty
                    ? "" : ", and removes for good \(counted(removed.count, "other version")): \(words(removed, of: document))")
        case .keepBoth: nil
        }
    }

    /// Returns versions in words, in the order of their numbers.
    private static func words(_ versions: [FileVersion], of document: ConflictDocument) -> String {
        let chosen = Set(versions)
        return zip(document.others, document.versions).filter { chosen.contains($0.0) }.map(\.1.words).joined(separator: ", ")
    }

    private func rehearse(_ plan: ConflictPlan, _ document: ConflictDocument) throws {
        var removed: [FileVersion] = []
        var documents: [(version: FileVersion, path: FilePath)] = []
        switch plan {
        case .keepCurrent(let versions), .keepVersion(_, let versions): removed = versions
        case .keepBoth(let versions): documents = versions.map { ($0, ConflictResolution.place(for: $0)) }
        }
        if json { return try printJSON(Report(path: document.path, keep: keep, removed: removed, documents: documents, left: nil)) }
        switch plan {
        case .keepCurrent(let versions):
            print("Would remove \(counted(versions.count, "version")) of \(document.path): \(Self.words(versions, of: document)).".printable)
        case .keepVersion(let chosen, let versions):
            let others = versions.isEmpty ? "" : ", and remove \(counted(versions.count, "other version")): \(Self.words(versions, of: document))"
            print("Would replace the content of \(document.path) by version \(Self.words([chosen], of: document))\(others).".printable)
        case .keepBoth:
            for (version, path) in documents { print("Would make a document of \(version.path): \(path).".printable) }
        }
    }

    private func report(_ plan: ConflictPlan, _ done: ConflictResolution, _ left: [ConflictVersion]) throws {
        let path = done.document.path
        if json {
            return try printJSON(Report(path: path, keep: keep, removed: done.removed, documents: done.documents, left: left.map(\.id)))
        }
        switch plan {
        case .keepCurrent: print("Kept the content of \(path), and removed \(counted(done.removed.count, "version")).".printable)
        case .keepVersion(let chosen, _):
            let others = done.removed.isEmpty ? "" : ", and removed \(counted(done.removed.count, "other version"))"
            print("Replaced the content of \(path) by the version \(chosen.persistentIdentifier.rawValue)\(others).".printable)
        case .keepBoth:
            for (version, place) in done.documents { print("Made a document of \(version.path): \(place).".printable) }
        }
    }

    private struct Report: Encodable {
        struct Document: Encodable {
            var id: String
            var path: String
        }

        var path: String
        var keep: String
        var removed: [String]
        var documents: [Document]
        var left: [String]?

        init(
            path: FilePath, keep: String, removed: [FileVersion], documents: [(version: FileVersion, path: FilePath)], left: [String]?
        ) {
            (self.path, self.keep, self.left) = (path.string, keep, left)
            self.removed = removed.map(\.persistentIdentifier.rawValue)
            self.documents = documents.map { Document(id: $0.version.persistentIdentifier.rawValue, path: $0.path.string) }
        }
    }
}
