import Foundation
import SystemPackage
import Testing
import ToolProcesses
import ToolSupport

@testable import ubwatch

/// What other devices have named or written, on a terminal.
struct ControlCharacterTests {
    /// Whether a terminal would do something else than show a text of lines.
    private func isSafe(_ text: String) -> Bool { text.unicodeScalars.allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control } }

    @Test("ubcontrol shows control characters of values and of names by their numbers, so that a conflict is one line and a terminal obeys nobody")
    func ubcontrol() async throws {
        try await withDevices(2) { devices in
            let id = try await devices[0].run("notes", "add", "Milk").output.trimmingCharacters(in: .newlines)
            _ = try await devices[1].list()
            try await devices[0].apart { try await devices[0].run("notes", "edit", id, "--body", "mine\n\u{1B}[2J") }
            try await devices[1].run("notes", "edit", id, "--body", "theirs\n\u{9B}2J")
            for device in devices + devices { _ = try await device.list() }
            let store = try devices[0].storeFile().string
            let conflicts = try await Tool.run("ubcontrol", ["store", "conflicts", store])
            #expect(conflicts.status == 0 && conflicts.output.split(separator: "\n").count == 1 && isSafe(conflicts.output), "\(conflicts)")
            #expect(conflicts.output.contains("body=mine\\u{a}\\u{1b}[2J") && conflicts.output.contains("body=theirs\\u{a}\\u{9b}2J"))

            let epochs = devices[0].container.appending("CoreData/No\u{1B}[2Jtes/epochs")
            try FileManager.default.createDirectory(atPath: epochs.string, withIntermediateDirectories: true)
            let list = try await devices[0].run("ubcontrol", "container", "list")
            #expect(list.output.contains("No\\u{1b}[2Jtes") && isSafe(list.output), "\(list)")
            let wipe = ["container", "wipe", "org.example.notes", "--home", devices[0].home.string]
            let dry = try await Tool.run("ubcontrol", wipe + ["--dry-run"])
            #expect(dry.output.contains("No\\u{1b}[2Jtes") && isSafe(dry.output), "\(dry)")
            let refused = try await Tool.run("ubcontrol", wipe)
            #expect(refused.status == 64 && refused.errors.contains("No\\u{1b}[2Jtes") && isSafe(refused.errors), "\(refused)")
            let peers = try await Tool.run("ubwatch", ["peers", devices[0].container.string, "--content", "x"])
            #expect(peers.status == 64 && peers.errors.contains("No\\u{1b}[2Jtes") && isSafe(peers.errors), "\(peers)")
        }
    }

    @Test("a text for a terminal is one line of what shows, with the numbers of all else; a screen shows the same by its number")
    func printable() {
        let text = "a\u{1B}[2J\n\u{85}\u{9B}\u{2028}\u{2029}\u{7F}é\u{A0}👩\u{200D}🔬"
        #expect(text.printable == #"a\u{1b}[2J\u{a}\u{85}\u{9b}\u{2028}\u{2029}\u{7f}é"# + "\u{A0}👩\u{200D}🔬")
        for scalar in text.unicodeScalars where scalar.isTerminalControl { #expect(DisplayWidth.kind(of: scalar) == .escaped) }
        #expect("a\u{2028}b\nc".printableLines == "a\\u{2028}b\nc")
    }

    @Test("JSON has its keys in order and its times as in ISO 8601, on one line or on many")
    func json() throws {
        struct Object: Encodable {
            var path = "/a"
            var date = Date(timeIntervalSince1970: 0)
        }
        #expect(try jsonLine(Object()) == #"{"date":"1970-01-01T00:00:00Z","path":"/a"}"#)
        #expect(try jsonText(Object(), isIndented: true).split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.count == 4)
    }

    @Test(
        "a name in a line of ubwatch events has no control character, of one byte or of two, and is else as it is",
        arguments: [("a\u{9B}b", "a\\xc2\\x9bb"), ("\u{80}\u{9F}", "\\xc2\\x80\\xc2\\x9f"), ("\u{1B}é\u{A0}€\u{7F}", "\\x1bé\u{A0}€\\x7f")])
    func events(name: String, shown: String) {
        var text: [UInt8] = []
        Array(name.utf8).withUnsafeBytes { EventsText.appendEscaped($0, to: &text) }
        #expect(String(decoding: text, as: UTF8.self) == shown)
        #expect(isSafe(name.printable))
    }
}
