import ArgumentParser
import Foundation
import Rainbow
import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// Runs `ubwatch verify`.
struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check every file of a container's stores, and their consistency.",
        discussion: """
            Logs, large values, baselines, receipts and marks are read completely and compared with their names, their places and each other. \
            Prints one line for each finding: a fault is a file that is unusable or in the wrong place, a gap is a file that others need and that \
            is missing, a remark is neither. Logs that a baseline contains are no gap. The command only reads files: it writes, coordinates and \
            downloads nothing. Exit status 0 if there is no problem, 1 if there is a fault or a gap, 64 for wrong usage, or if there is no such \
            container or content.
            """
    )

    @Argument(
        help: """
            The container: its identifier in the signed-in account, or the path <containers root>/<account>/<container identifier>; or one \
            content's directory below its CoreData.
            """,
        completion: .directory)
    var container: String

    @Option(help: ArgumentHelp("Check only one content of the container.", valueName: "name"))
    var content: String?

    @Flag(help: "Print a JSON object: path, findings, contents, and of each content its counts, findings, unread logs, and devices with their peers.")
    var json = false

    @Flag(help: "Show peers by their identifiers, not by the names of their devices.")
    var verbose = false

    func run() async throws {
        let path = KnownContainer.path(named: container, in: try? .standard())
        let total = VerifiedFiles(of: path, content: content).count
        let verification = try TerminalProgress.showing { progress in
            var count = 0
            return try ContainerVerification(of: path, content: content) { _ in
                count += 1
                progress.show(count, of: max(total, count), "file")
            }
        }
        print(json ? try jsonLine(verification) : verification.text(verbose ? .identifiers : names(in: verification)))
        if !verification.isSound { throw ToolExit.failure }
    }

    private func names(in verification: ContainerVerification) -> PeerNames {
        PeerNames(verification.contents.flatMap(\.devices).map { (peer: $0.peer, device: $0.device, app: $0.app) })
    }
}

/// The number of files to check, for the progress on a terminal; otherwise they are not counted.
private struct VerifiedFiles {
    let count: Int

    init(of path: FilePath, content: String?) {
        guard isatty(STDERR_FILENO) == 1 else {
            count = 0
            return
        }
        // The directory of one content, or everything below CoreData.
        let parent = path.appending(UbiquityContainer.storesName)
        let directory = FileManager.default.fileExists(atPath: parent.string) ? content.map { parent.pushing(FilePath($0)) } ?? parent : path
        var found = 0
        if let entries = FileManager.default.enumerator(atPath: directory.string) {
            for case _ as String in entries where entries.fileAttributes?[.type] as? FileAttributeType == .typeRegular { found += 1 }
        }
        count = found
    }
}

extension ContainerVerification {
    /// Returns the findings in text for people.
    fileprivate func text(_ names: PeerNames) -> String {
        var lines = findings.map { $0.text(names) }
        if contents.isEmpty { lines.append("no stores in \(path.printable)") }
        for content in contents {
            lines += content.findings.map { $0.text(names) }
            lines += content.unread.map { unread in
                "unread: \(names[unread.peer]) has not read \(Self.amount(Int(unread.logs), "log")) of \(names[unread.author])".printable
            }
            let counts = [
                (content.logs, "log"), (content.values, "large value"), (content.baselines, "baseline"), (content.receipts, "receipt"),
                (content.marks, "epoch mark"),
            ]
            let kinds: [(ContentVerification.Finding.Kind, String)] = [(.fault, "fault"), (.gap, "gap"), (.remark, "remark")]
            let found = kinds.map { kind, word in Self.amount(content.findings.count { $0.kind == kind }, word) }.joined(separator: ", ")
            let verdict = content.isSound ? "nothing is wrong".green : "something is wrong".red
            lines.append(
                "store \(content.content.printable.bold), epoch \(content.epoch): \(counts.map(Self.amount).joined(separator: ", ")): \(verdict) (\(found))"
            )
        }
        return lines.joined(separator: "\n")
    }

    private static func amount(_ count: Int, _ word: String) -> String { "\(count) \(word)\(count == 1 ? "" : "s")" }
}

extension ContentVerification.Finding {
    fileprivate func text(_ names: PeerNames) -> String {
        let word =
            switch kind {
            case .fault: kind.rawValue.red
            case .gap: kind.rawValue.yellow
            case .remark: kind.rawValue
            }
        return "\(word): \(path.printable): \(names.naming(detail).printable); \(remedy)"
    }
}
