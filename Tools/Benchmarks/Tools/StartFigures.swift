import Foundation
import Glibc
import SystemPackage
import ToolProcesses

/// Measures how long programs take from their start to their end: `ubwatch --version`, and `notes list` of a store with
/// 1,000 notes, against `sqlite3` and `git`.
///
/// *Warm* runs find the files in the page cache. Before each *cold* run, the program, its libraries and the data are
/// dropped from the cache; pages that another process maps, such as the C library's, stay there on both sides.
struct StartFigures {
    static let metrics = ["start_version_ms", "start_list_ms"]

    private static let rounds = 11
    private static let notes = 1000
    /// The greatest share of the pages of a program and its data, without libraries, that may be in memory before a run that counts as cold.
    private static let coldShare = 0.1

    /// A command with the data that it reads.
    private struct Subject {
        var name: String
        var command: [String]
        var data: [FilePath] = []

        /// Drops the files from the page cache, and returns the share of pages that stay there: of its own files, and of all.
        func evict() throws -> (own: Double, all: Double) {
            let own = PageCache([FilePath(command[0])] + data)
            let all = PageCache(try PageCache.files(of: command[0]) + data)
            try all.evict()
            return (try own.residentShare(), try all.residentShare())
        }
    }

    static func run(_ report: Report) async throws {
        if report.wants("start_version_ms") { try version(report) }
        if report.wants("start_list_ms") { try await list(report) }
    }

    private static func version(_ report: Report) throws {
        let others = ["git", "sqlite3"].compactMap { name in
            WatchingTool.find(name).map { Subject(name: "\(name) --version", command: [$0, "--version"]) }
        }
        try compare(report, "start_version_ms", Subject(name: "ubwatch", command: [WatchingTool.beside("ubwatch"), "--version"]), others)
        guard let packages = report.packages else { return }
        try withUnpacked(packages) { root in
            let program = root.appending("usr/bin/ubwatch").string
            try compare(report, "start_version_ms", Subject(name: "ubwatch", command: [program, "--version"]), others, prefix: "packaged ")
        }
    }

    /// Unpacks the package `ubiquity` of a directory, without installing it.
    private static func withUnpacked(_ packages: FilePath, _ body: (FilePath) throws -> Void) throws {
        let root = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-unpacked-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(atPath: root.string) }
        for package in try SizeFigures.packages(in: packages) where package.lastComponent!.string.hasPrefix("ubiquity_") {
            _ = try ToolsSuite.milliseconds(of: ["/usr/bin/dpkg-deb", "--extract", package.string, root.string])
            if FileManager.default.fileExists(atPath: root.appending("usr/lib/ubiquity").string) {
                progress("\(package) is a trial, whose programs run only where they are installed: they are not started")
            } else {
                try body(root)
            }
        }
    }

    private static func list(_ report: Report) async throws {
        let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-start-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        let (home, root) = (directory.appending("home"), directory.appending("root"))
        try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
        let rows = (0..<notes).map { "Note \($0),The body of a note that is as long as such bodies are,2026-01-01T08:00:00Z\n" }.joined()
        let file = directory.appending("notes.csv")
        try Data(("title,body,created\n" + rows).utf8).write(to: URL(filePath: file.string))
        for (program, arguments) in [
            ("ubcontrol", ["sign-in", "bench", "--containers", root.string]), ("notes", ["import", file.string]),
        ] {
            let outcome = try await Tool.run(program, arguments + ["--home", home.string])
            guard outcome.status == 0 else { throw Failure(description: "\(program) \(arguments[0]): \(outcome.errors)") }
        }
        let stored = try FileManager.default.subpathsOfDirectory(atPath: home.string).first { $0.hasSuffix("/store/Notes.sqlite") }
        guard let stored else { throw Failure(description: "notes has made no store below \(home)") }
        let store = home.appending(stored)

        var others: [Subject] = []
        if let sqlite = WatchingTool.find("sqlite3") {
            others.append(
                Subject(name: "sqlite3 FILE select", command: [sqlite, store.string, "SELECT * FROM note ORDER BY id"], data: [store]))
        }
        if let git = WatchingTool.find("git") {
            let repository = directory.appending("repository")
            try makeRepository(repository, git)
            others.append(Subject(name: "git status", command: [git, "-C", repository.string, "status", "--porcelain"], data: [repository]))
        }
        let ours = Subject(name: "notes", command: [WatchingTool.beside("notes"), "list", "--home", home.string], data: [home, root])
        try compare(report, "start_list_ms", ours, others)
    }

    /// Makes a repository with a committed file for each note.
    private static func makeRepository(_ repository: FilePath, _ git: String) throws {
        try FileManager.default.createDirectory(atPath: repository.string, withIntermediateDirectories: true)
        for number in 0..<notes {
            try Data("The body of a note\n".utf8).write(to: URL(filePath: repository.appending("note \(number).txt").string))
        }
        let identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "gc.auto=0"]
        for command in [["init", "--quiet"], ["add", "."], identity + ["commit", "--quiet", "--message", "Notes"]] {
            _ = try ToolsSuite.milliseconds(of: [git, "-C", repository.string] + command)
        }
    }

    /// Measures warm and cold runs of a command and of the others, by turns.
    private static func compare(_ report: Report, _ metric: String, _ ours: Subject, _ others: [Subject], prefix: String = "") throws {
        let subjects = [ours] + others
        for state in ["warm", "cold"] {
            var times = subjects.map { _ in [Double]() }
            var shares = subjects.map { _ in [(own: Double, all: Double)]() }
            for round in 0...rounds {
                for (index, subject) in subjects.enumerated() {
                    if state == "cold" { shares[index].append(try subject.evict()) }
                    let time = try ToolsSuite.milliseconds(of: subject.command)
                    // The first round fills caches, and starts the broker.
                    if round > 0 { times[index].append(time) }
                }
            }
            if state == "cold" {
                for (subject, shares) in zip(subjects, shares) {
                    let (own, all) = (median(shares.map(\.own)) * 100, median(shares.map(\.all)) * 100)
                    progress("\(subject.name): before a cold run, \(Int(own)) % of its pages are in memory, and \(Int(all)) % with its libraries")
                }
                guard shares.allSatisfy({ median($0.map(\.own)) < coldShare }) else {
                    progress("\(metric): no figures of cold runs, because files cannot be dropped from memory; is TMPDIR a tmpfs?")
                    continue
                }
            }
            if others.isEmpty { report.line(metric, variant: prefix + state, unit: "ms", ours: median(times[0])) }
            for (index, other) in others.enumerated() {
                report.line(
                    metric, variant: prefix + state, unit: "ms", ours: median(times[0]), reference: median(times[index + 1]),
                    referenceName: other.name, main: index == 0)
            }
        }
    }

    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }
}
