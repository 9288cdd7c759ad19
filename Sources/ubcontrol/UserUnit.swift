import Foundation
import SyncthingStatus
import ToolSupport

/// A unit of the user's systemd, controlled by systemctl(1).
struct UserUnit: Sendable, Hashable {
    /// The unit's full name, such as `ubtransfer.service`.
    let name: String

    /// The unit of Debian's package of Syncthing, and of Syncthing's own.
    static let syncthing = UserUnit(name: "syncthing.service")
    /// The transfer agent of `Tools/systemd`.
    static let agent = UserUnit(name: "ubtransfer.service")

    /// The name as people type it.
    var shortName: String { name.hasSuffix(".service") ? String(name.dropLast(".service".count)) : name }

    /// Whether the user's systemd runs and knows the unit.
    var isKnown: Bool { (try? Self.systemctl("cat", name).status) == 0 }

    /// Whether the unit has ended with a failure, and is not started again.
    var hasFailed: Bool { (try? Self.systemctl("is-failed", "--quiet", name).status) == 0 }

    /// The variables that the user's systemd gives its services; nil if it does not run.
    ///
    /// A value with special characters is quoted as for a shell.
    static var variables: [String: String]? {
        guard let answer = try? systemctl("show-environment"), answer.status == 0 else { return nil }
        let pairs = answer.output.split(separator: "\n").map { $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false) }
        return Dictionary(pairs.filter { $0.count == 2 }.map { (String($0[0]), String($0[1])) }) { $1 }
    }

    /// Starts or stops the unit, now and for every login.
    ///
    /// - Throws: `SetupError`.
    func set(isOn: Bool) throws {
        let words = [isOn ? "enable" : "disable", "--now", name]
        guard let (status, output) = try Self.systemctl(words) else { throw SetupError("The program systemctl is not there; install systemd.") }
        guard status == 0 else {
            throw SetupError(
                "`systemctl --user \(words.joined(separator: " "))` failed: \(Self.lastLine(output)); see `systemctl --user status \(name)`.")
        }
    }

    private static func systemctl(_ words: String...) throws -> (status: Int32, output: String) {
        try systemctl(words) ?? (status: -1, output: "")
    }

    /// Runs systemctl(1) for the user's systemd; nil where it is not installed.
    private static func systemctl(_ words: [String]) throws -> (status: Int32, output: String)? {
        guard let program = ChildProgram.path("systemctl") else { return nil }
        return try ChildProgram.run(program, ["--user"] + words)
    }

    /// Returns the last line with text, as the end of a message.
    static func lastLine(_ text: String) -> String {
        text.split(separator: "\n").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? "it says nothing"
    }
}
