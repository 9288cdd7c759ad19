import ArgumentParser
import Foundation
import Ubiquity

/// Runs `texts resolve`.
struct ResolveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve", abstract: "Show how the versions of a text differ, and keep one of them.",
        discussion: "Without --keep the differences are shown, and on a terminal you are asked.")

    @OptionGroup var text: NamedText
    @Option(help: "The version to keep: current, or its number.")
    var keep: String?
    @Flag(help: "Versions that are not in conflict, too, such as those that were kept by an edit.")
    var all = false

    @MainActor
    func run() async throws {
        try await text.withDocument { document in
            let resolution = Resolution(document: document, includesAll: all)
            if let keep { try await resolution.keep(keep) } else { try await resolution.ask() }
        }
    }
}

/// Ends the conflict of an open document.
@MainActor
struct Resolution {
    let document: TextDocument
    let includesAll: Bool

    private func versions() async throws -> [FileVersion] {
        includesAll ? try await document.otherVersions() : try await document.conflictVersions()
    }

    /// Shows how each version differs from the current one, and asks which one to keep.
    func ask() async throws {
        let versions = try await versions()
        guard !versions.isEmpty else { return print("\(document.fileURL.lastPathComponent) is in no conflict.") }
        for (index, version) in versions.enumerated() {
            let device = version.isKept ? "kept here" : version.nameOfSavingComputer ?? "another device"
            print("version \(index + 1): \(device), \(version.modificationDate.formatted(date: .abbreviated, time: .standard))")
            let difference = try await Programs.difference(document.fileURL, version.url, names: ("current", "version \(index + 1)"))
            print(difference.isEmpty ? "  (as the current one)\n" : difference)
        }
        guard isatty(STDIN_FILENO) == 1 else { return note("Choose: texts resolve NAME --keep current|NUMBER") }
        note("Keep which one (current, 1…\(versions.count), or nothing to decide later)?")
        guard let answer = readLine()?.trimmingCharacters(in: .whitespaces), !answer.isEmpty else { return }
        try await keep(answer)
    }

    /// Keeps one version, and removes the others that are in conflict.
    func keep(_ choice: String) async throws {
        let versions = try await versions()
        if choice == "current" { return try await document.resolveConflict() }
        guard let number = Int(choice), versions.indices.contains(number - 1) else {
            throw Shelf.Failure(
                "\(document.fileURL.lastPathComponent) has no version “\(choice)”: keep current\(versions.isEmpty ? "" : " or 1 to \(versions.count)")."
            )
        }
        try await document.resolveConflict(keeping: versions[number - 1])
    }
}
