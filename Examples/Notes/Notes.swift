import ArgumentParser
import Foundation
import GRDB
import Ubiquity

/// A notebook on the command line, which follows the account.
@main
struct Notes: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notes",
        abstract: "A notebook on the command line, shared by all devices of an account.",
        discussion: """
            While nobody is signed in, notes stay on this device; they join the notes of the account that signs in next. Each account has notes of \
            its own. Sign in with: ubcontrol sign-in ACCOUNT [--containers DIR].

            Exit status 0, 64 for a wrong command line, 1 if the command failed.
            """,
        subcommands: [
            AddCommand.self, EditCommand.self, RemoveCommand.self, ListCommand.self, ImportCommand.self, SeedCommand.self, RunCommand.self,
            StatusCommand.self, WhereCommand.self, ClearCommand.self, CompactCommand.self, RebuildCommand.self,
        ]
    )

    /// The library reads `-UbiquityLogLevel 3`.
    static func main() async { await main(UbiquityLog.appArguments()) }
}

/// A note, as GRDB keeps it.
struct Note: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "note"

    var id: String
    var title: String
    var body: String?
    var created: String
}

/// Prints a line on standard error.
func warn(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

/// Returns text that is safe on a terminal: control characters are replaced with their numbers.
func printable(_ text: String) -> String {
    text.unicodeScalars.map { $0.properties.generalCategory == .control ? "\\u{\(String($0.value, radix: 16))}" : String($0) }.joined()
}

/// Returns the current time in the format of notes.
func timestamp() -> String { Date.now.formatted(.iso8601) }

/// Returns a UUID of version 7 (RFC 9562), which is time-ordered, so that inserts go to one end of the index.
func newIdentifier() -> String {
    var bytes = withUnsafeBytes(of: UInt64(Date().timeIntervalSince1970 * 1000).bigEndian) { Array($0[2...]) }
    bytes += (0..<10).map { _ in UInt8.random(in: .min ... .max) }
    bytes[6] = bytes[6] & 0x0F | 0x70
    bytes[8] = bytes[8] & 0x3F | 0x80
    let digits = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { range in
        String(Array(digits)[range])
    }
    return groups.joined(separator: "-")
}
