import Foundation
import SystemPackage
import Testing
import ToolProcesses
import Waiting

/// `ubwatch serve` and the desktop: programs that stand for xdg-open and notify-send note what they get.
struct ServeTests {
    private struct Listening: Decodable {
        var url: String
        var port: Int
    }

    /// Puts a program of a name before those of the system, which appends its arguments, and a file's mode and text, to a file.
    private func standIn(_ name: String, in directory: FilePath) throws -> (environment: [String: String], notes: FilePath) {
        let (program, notes) = (directory.appending(name), directory.appending("\(name).notes"))
        let script = """
            #!/bin/sh
            for word in "$@"; do printf '%s\\n' "$word"; done >>\(notes)
            [ -f "$1" ] && stat -c %a "$1" >>\(notes) && cat "$1" >>\(notes)
            exit 0

            """
        try Data(script.utf8).write(to: URL(filePath: program.string))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program.string)
        return (["PATH": "\(directory):/usr/bin:/bin"], notes)
    }

    private func text(_ file: FilePath) -> String { (try? String(contentsOfFile: file.string, encoding: .utf8)) ?? "" }

    private func listening(_ server: RunningTool) async throws -> Listening {
        let line = try #require(try await server.lines.limited("the server's address").makeAsyncIterator().next())
        return try JSONDecoder().decode(Listening.self, from: Data(line.utf8))
    }

    @Test("--open gives the browser a file that only its owner reads, also for a page that is served already; the file goes with the server")
    func opening() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            let (environment, notes) = try standIn("xdg-open", in: device.root.removingLastComponent())
            let file = device.home.appending("pane.html")
            let server = try await RunningTool(
                "ubwatch", ["serve", "--open", "--json", "--port", "0", "--home", device.home.string], environment: environment)
            let address = try await listening(server)
            try await until("the browser is opened", seen: { text(notes) }) { text(notes).contains("</html>") }
            #expect(text(notes).hasPrefix("\(file)\n600\n") && text(notes).contains(address.url))
            // No argument of a process tells the ticket.
            #expect(!text(notes).prefix { $0 != "<" }.contains("ticket"))
            let second = try await Tool.run(
                "ubwatch", ["serve", "--open", "--port", "\(address.port)", "--home", device.home.string], environment: environment)
            #expect(second.status == 0 && text(notes).components(separatedBy: address.url).count == 5, "\(second) \(text(notes))")
            let third = try await Tool.run("ubwatch", ["serve", "--port", "\(address.port)", "--home", device.home.string])
            #expect(third.status == 69 && third.errors.contains("Port \(address.port)") && third.errors.contains("--port"), "\(third)")
            let outcome = try await server.stop()
            #expect(outcome.status == 0 && !FileManager.default.fileExists(atPath: file.string), "\(outcome)")
        }
    }

    @Test("Without a desktop the address is printed, and the command goes on; without a home it says which option names one")
    func withoutDesktop() async throws {
        try await withDevices(1) { devices in
            let empty = devices[0].root.removingLastComponent().appending("empty")
            try FileManager.default.createDirectory(atPath: empty.string, withIntermediateDirectories: true)
            let server = try await RunningTool(
                "ubwatch", ["serve", "--open", "--json", "--port", "0", "--home", devices[0].home.string], environment: ["PATH": empty.string])
            #expect(try await listening(server).url.contains("/?ticket="))
            let outcome = try await server.stop()
            #expect(outcome.status == 0)
            let wrong = try await Tool.run("ubwatch", ["serve", "--port", "70000", "--home", devices[0].home.string])
            #expect(wrong.status == 64 && wrong.errors.contains("65535"), "\(wrong)")
        }
    }

    @Test("--notify tells the desktop of a conflict that comes while the page is served, with a name that is no markup")
    func notifying() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            #expect(try await device.run("notes", "add", "Milk").status == 0)
            try device.write("mine", to: "<b>Letter.txt")
            let (environment, notes) = try standIn("notify-send", in: device.root.removingLastComponent())
            let server = try await RunningTool(
                "ubwatch", ["serve", "--notify", "--json", "--port", "0", "--home", device.home.string], environment: environment)
            _ = try await listening(server)
            // A change is told after the first look, which tells nothing of what was there.
            var round = 0
            try await until("the conflict is told", seen: { text(notes) }) {
                // One more each time, so that a look finds more than the look before, whenever the looks are.
                let time = "0\(1 + round / 2500)\(10 + round / 50 % 50)\(10 + round % 50)"
                try device.write("theirs", to: "<b>Letter.sync-conflict-20260102-\(time)-ABCDEFG.txt")
                round += 1
                return text(notes).contains("conflict cop")
            }
            let told = text(notes)
            #expect(told.contains("org.example.notes") && told.contains("&lt;b&gt;Letter") && !told.contains("<b>"), "\(told)")
            #expect(try await server.stop().status == 0)
        }
    }
}
