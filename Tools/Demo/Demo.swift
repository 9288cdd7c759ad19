import ArgumentParser
import Foundation
import SystemPackage
import ToolProcesses

/// Shows two devices, one container and one store live, and an app that follows the account.
@main
struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Two devices, one container, one store, seen live; then an app whose user signs in and out.",
        discussion: """
            Each check prints what was compared. Works in a temporary directory, which it removes.

            Exit status 0 if every comparison held, 1 if one did not, 64 for a wrong command line.
            """
    )

    @Flag(help: "Print a JSON object a check: check, ok, detail.")
    var json = false

    @Flag(help: "Instead of a shared directory, an encrypted one on a WebDAV server, which transfer agents reach through rclone.")
    var cloud = false

    @Flag(help: "Only the story of the account: signed out, sign in, sign out, another account, back, remove everything.")
    var account = false

    @Flag(help: "Keep the temporary directory, and print its path.")
    var keep = false

    func validate() throws {
        if cloud, account { throw ValidationError("--cloud and --account are two stories: give one of them.") }
    }

    func run() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "ubiquity-demo-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        var checks = Checks(json: json)
        if cloud {
            var story = CloudStory(directory: FilePath(directory))
            do { try await story.tell(&checks) } catch { checks.fail(error) }
            await story.end()
        } else {
            if !account {
                var story = Story(directory: FilePath(directory))
                do { try await story.tell(&checks) } catch { checks.fail(error) }
                await story.end()
            }
            let story = AccountStory(directory: FilePath(directory))
            do { try await story.tell(&checks) } catch { checks.fail(error) }
            await story.end()
        }
        if keep {
            FileHandle.standardError.write(Data("kept: \(directory)\n".utf8))
        } else {
            try? FileManager.default.removeItem(atPath: directory)
        }
        guard checks.allHeld else { throw ExitCode(1) }
    }
}

/// Prints the results of the checks.
struct Checks {
    let json: Bool
    private(set) var allHeld = true
    private let start = ContinuousClock.now

    init(json: Bool) { self.json = json }

    mutating func check(_ name: String, _ ok: Bool, _ detail: String) {
        allHeld = allHeld && ok
        if json {
            struct Line: Encodable { var check: String, ok: Bool, detail: String }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            let line = (try? encoder.encode(Line(check: name, ok: ok, detail: detail))) ?? Data()
            FileHandle.standardOutput.write(line + Data("\n".utf8))
        } else {
            FileHandle.standardOutput.write(Data("\(ok ? "✓" : "✗") \(name)\n    \(detail)\n".utf8))
        }
    }

    /// Prints why the story has no end.
    mutating func fail(_ error: any Error) { check("the story could be told to its end", false, String(describing: error)) }

    /// Prints a line that is not a check.
    func say(_ text: String) {
        if !json { FileHandle.standardOutput.write(Data("  \(text)\n".utf8)) }
    }
}
