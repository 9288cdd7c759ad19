import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// Large values, with real processes.
struct LargeValueTests {
    @Test("a kill behind a large value leaves it without its log; the next start publishes the log, and other programs know the value")
    func killed() async throws {
        try await withDevices(2) { devices in
            let (writer, reader) = (devices[0], devices[1])
            let body = String(repeating: "large ", count: 400_000)
            let file = writer.home.appending("large.csv")
            try "title,body\nLarge,\(body)\n".write(toFile: file.string, atomically: true, encoding: .utf8)
            let killed = try await writer.run("notes", "import", file.string, environment: ["UBIQUITY_KILL_AT": "publish.value-placed"])
            #expect(killed.signal == SIGKILL)
            #expect(try writer.logs().isEmpty)
            func values() throws -> [String] {
                try FileManager.default.subpathsOfDirectory(atPath: writer.container.string).filter { $0.contains("/values/") }
            }
            #expect(try values().count == 1)
            for device in [writer, reader] {
                // Nobody reads a line of megabytes.
                let list = "\(Tool.path("notes")) list --home \(device.home) > /dev/null"
                #expect(try await Tool.run("/bin/sh", ["-c", list]).status == 0)
                let query = "SELECT title, length(body), rtrim(replace(body, 'large ', ''), ' ') FROM note"
                #expect(try await Tool.run("/usr/bin/sqlite3", ["-readonly", device.storeFile().string, query]).output == "Large|2400000|\n")
            }
            #expect(try values().count == 1)
            let log = try #require(try writer.logs().first)
            #expect(try FileManager.default.attributesOfItem(atPath: log.string)[.size] as? Int ?? .max < 2000)
            let script = packageDirectory.appending("Tools/read-log")
            let outcome = try await Tool.run("/usr/bin/python3", [script.string, log.string])
            let line = try #require(try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
            let value = try #require((line["columns"] as? [String: Any])?["body"] as? [String: Any])
            #expect(value["length"] as? Int == body.utf8.count)
            #expect(try values()[0].hasSuffix("/\(value["value"] as? String ?? "-")"))
            #expect(
                writer.container.appending("CoreData/Notes/\(line["peer"] as? String ?? "-")").string
                    == log.removingLastComponent().removingLastComponent().string)
            #expect(try await Tool.run("ubwatch", ["log", log.string]).output.contains("2400000 bytes in values/"))
        }
    }
}
