import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// What the tools tell of records that became one, or are held.
struct RelationToolTests {
    @Test("ubcontrol store duplicates and held list what became one and what waits; a log with such facts can be read by every reader")
    func listing() async throws {
        try await withDevices(2) { devices in
            func save(_ device: ToolDevice, _ sql: String) async throws {
                let arguments = ["upgrade", "--schema", "3", "--query", "SELECT 1", "--execute", sql]
                let outcome = try await Tool.run("ubiquity-simulate", arguments + ["--home", device.home.string])
                #expect(outcome.status == 0, "\(outcome)")
            }
            let (first, second) = (devices[0], devices[1])
            try await save(first, "INSERT INTO parent VALUES ('b', 'x'), ('gone', NULL)")
            try await save(second, "SELECT 1")
            try await save(second, "DELETE FROM parent WHERE id = 'gone'")
            let (store, other) = (try first.storeFile("Things").string, try second.storeFile("Things").string)
            #expect(try await Tool.run("/usr/bin/sqlite3", [store, "INSERT INTO child VALUES ('lost', 'gone'), ('kept', 'b')"]).status == 0)
            try await save(first, "SELECT 1")
            let held = try await Tool.run("ubcontrol", ["store", "held", store]).output
            #expect(held == "child/t:lost  parent/gone is not there: parent=gone\n")
            #expect(try await Tool.run("ubcontrol", ["store", "duplicates", store]).output.isEmpty)

            // Both make a record alike, each without the other's.
            for (file, key) in [(store, "m"), (other, "n")] {
                #expect(try await Tool.run("/usr/bin/sqlite3", [file, "INSERT INTO parent VALUES ('\(key)', 'same')"]).status == 0)
            }
            for device in [first, second] { try await save(device, "SELECT 1") }
            let listed = try await Tool.run("ubcontrol", ["store", "duplicates", other]).output
            #expect(listed == "parent/t:m stands for 2\n  parent/t:m  email=same\n  parent/t:n  email=same\n")
            let json = try await Tool.run("ubcontrol", ["store", "duplicates", other, "--json"]).output
            #expect(json.hasPrefix(#"{"members":[{"record":"parent/t:m","values":{"email":"same"}},{"record":"parent/t:n""#))
            #expect(try await Tool.run("ubcontrol", ["store", "held", store, "--json"]).output.contains(#""record":"child/t:lost""#))

            let script = packageDirectory.appending("Tools/read-log")
            var facts: [String] = []
            for log in try logs(below: second.container) {
                facts += try await Tool.run("/usr/bin/python3", [script.string, log]).output.split(separator: "\n").map(String.init)
                    .filter { $0.contains("\"same\": [") }
                let text = try await Tool.run("ubwatch", ["log", log])
                #expect(text.status == 0)
                if !facts.isEmpty, text.output.contains(" is ") {
                    #expect(text.output.contains("parent/m (life 1) is parent/n (life 1)"))
                }
            }
            #expect(facts.count == 1 && facts[0].contains(#""same": [{"key": ["m"], "life": 1}, {"key": ["n"], "life": 1}]"#), "\(facts)")
        }
    }

    @Test("ubcontrol store moved lists which record shows another value, what was written, and which record holds it")
    func moved() async throws {
        try await withDevices(2) { devices in
            func save(_ device: ToolDevice) async throws {
                let arguments = ["upgrade", "--schema", "3", "--query", "SELECT 1", "--execute", "SELECT 1", "--home", device.home.string]
                #expect(try await Tool.run("ubiquity-simulate", arguments).status == 0)
            }
            for device in devices { try await save(device) }
            // Each without the other's.
            for (number, device) in devices.enumerated() {
                let sql = "INSERT INTO seat VALUES ('s\(number)', 4)"
                #expect(try await Tool.run("/usr/bin/sqlite3", [device.storeFile("Things").string, sql]).status == 0)
            }
            for device in devices { try await save(device) }
            let file = try devices[1].storeFile("Things").string
            let listed = try await Tool.run("ubcontrol", ["store", "moved", file]).output
            #expect(listed == "seat/t:s0  number: 4 was written, which seat/t:s1 holds; NULL is shown\n")
            let json = try await Tool.run("ubcontrol", ["store", "moved", file, "--json"]).output
            #expect(json == #"{"column":"number","holder":"seat/t:s1","record":"seat/t:s0","shown":"NULL","written":"4"}"# + "\n")
        }
    }

    private func logs(below container: FilePath) throws -> [String] {
        let root = container.removingLastComponent()
        return try FileManager.default.subpathsOfDirectory(atPath: root.string).filter { $0.hasSuffix(".ublog") }.map { root.appending($0).string }
    }
}
