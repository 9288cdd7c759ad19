import Foundation
import Subprocess
import SystemPackage
import Ubiquity

/// The programs that this app runs: the person's editor, and diff(1).
enum Programs {
    /// Lets the person edit a text in `$VISUAL`, `$EDITOR` or vi, on a copy of its own.
    ///
    /// - Returns: the new text.
    static func edit(_ text: String, named name: String) async throws -> String {
        let directory = FileManager.default.temporaryDirectory.appending(path: "texts-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: directory) }
        let copy = directory.appending(path: name)
        try Data(text.utf8).write(to: copy)
        let environment = ProcessInfo.processInfo.environment
        let editor = ["VISUAL", "EDITOR"].compactMap { environment[$0] }.first { !$0.isEmpty } ?? "vi"
        // As git(1) and crontab(1) do: the variable is a command of the shell.
        let result = try await run(
            .path("/bin/sh"), arguments: ["-c", "\(editor) \"$1\"", editor, copy.path(percentEncoded: false)],
            input: .fileDescriptor(.standardInput, closeAfterSpawningProcess: false),
            output: .fileDescriptor(.standardOutput, closeAfterSpawningProcess: false),
            error: .fileDescriptor(.standardError, closeAfterSpawningProcess: false))
        guard result.terminationStatus.isSuccess else {
            throw Shelf.Failure("The editor “\(editor)” has failed, and the text is as it was. Set EDITOR to another one.")
        }
        guard let new = String(data: try Data(contentsOf: copy), encoding: .utf8) else {
            throw Shelf.Failure("The editor has left no UTF-8 text; the text is as it was.")
        }
        return new
    }

    /// Returns how one file or directory differs from another, as `diff -u` tells it; empty for equal ones.
    static func difference(_ old: URL, _ new: URL, names: (String, String)) async throws -> String {
        let result = try await run(
            .name("diff"),
            arguments: [
                "-ruN", "--label", names.0, "--label", names.1, old.path(percentEncoded: false), new.path(percentEncoded: false),
            ], output: .string(limit: 1 << 20), error: .string(limit: 1 << 16))
        return result.standardOutput
    }
}
