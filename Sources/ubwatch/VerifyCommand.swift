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
        abstract: "Check every file of a container's stores, and how they belong together.",
        discussion: """
            Logs, large values, baselines, receipts and marks are read whole and compared with their names, their places and each other. A line each: \
            a fault is a file that cannot be used or does not belong there, a gap one that others need and that is nowhere, a remark neither. What a \
            baseline holds is no gap. It reads files only: it writes, coordinates and downloads nothing. Exit status 0 where nothing is wrong, 1 where \
            there is a fault or a gap, 64 for wrong usage, or where there is no such container or content.
            """
    )

    @Argument(
        help: "The container, <containers root>/<account>/<container identifier>, or one content's directory below its CoreData.",
        completion: .directory)
    var container: String

    @Option(help: ArgumentHelp("Check one content of the container only.", valueName: "name"))
    var content: String?

    @Flag(help: "Print a JSON object: path, findings, contents, and of each content its counts, findings and unread logs.")
    var json = false

    func run() async throws {
        let total = VerifiedFiles(of: FilePath(container), content: content).count
        let verification = try TerminalProgress.showing { progress in
            var count = 0
            return try ContainerVerification(of: FilePath(container), content: content) { _ in
                count += 1
                progress.show(count, of: max(total, count), "file")
            }
        }
        print(json ? try jsonLine(verification) : verification.text)
        if !verification.isSound { throw ToolExit.failure }
    }
}

/// How many files there are to look at, for those who wait at a terminal; nobody else has them counted.
private struct VerifiedFiles {
    let count: Int

    init(of path: FilePath, content: String?) {
        guard isatty(STDERR_FILENO) == 1 else {
            count = 0
            return
        }
        // A content's own directory, or all that lies below CoreData.
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
    /// The findings for people.
    fileprivate var text: String {
        var lines = findings.map(\.text)
        if contents.isEmpty { lines.append("no stores in \(path.printable)") }
        for content in contents {
            lines += content.findings.map(\.text)
            lines += content.unread.map { "unread: \($0.peer) has not read \(Self.amount(Int($0.logs), "log")) of \($0.author)" }
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
    fileprivate var text: String {
        let word =
            switch kind {
            case .fault: kind.rawValue.red
            case .gap: kind.rawValue.yellow
            case .remark: kind.rawValue
            }
        return "\(word): \(path.printable): \(detail.printable); \(remedy)"
    }
}
