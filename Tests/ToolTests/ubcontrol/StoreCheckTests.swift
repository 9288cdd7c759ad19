import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// `ubcontrol store check` and `quarantine`.
struct StoreCheckTests {
    @Test("ubcontrol store check says that a store is well, and finds what is wrong with stamps, sealed and published logs")
    func check() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            for title in ["one", "two", "three"] { #expect(try await device.run("notes", "add", title).status == 0) }
            #expect(try await device.run("notes", "add", "sealed", environment: ["UBIQUITY_KILL_AT": "save.committed"]).signal == SIGKILL)
            let store = try device.storeFile().string
            func problems(_ sql: String? = nil) async throws -> (status: Int32?, kinds: [String], output: [String: Any]) {
                if let sql { #expect(try await Tool.run("/usr/bin/sqlite3", [store, sql]).status == 0) }
                let outcome = try await device.run("ubcontrol", "store", "check", store, "--json")
                let report = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any] ?? [:]
                return (outcome.status, (report["problems"] as? [[String: String]] ?? []).compactMap { $0["kind"] }, report)
            }
            let well = try await problems()
            #expect(well.status == 0 && well.kinds.isEmpty, "\(well)")
            #expect(well.output["records"] as? Int == 4 && well.output["sealed"] as? Int == 1 && well.output["published"] as? Int == 3)
            #expect(try await device.run("ubcontrol", "store", "check", store).output == "0 problems in 4 records, 1 sealed and 3 published logs\n")

            // A published log that is gone, one that is damaged, and one that nobody remembers.
            let logs = try device.logs()
            let bytes = try Data(contentsOf: URL(filePath: logs[1].string))
            try FileManager.default.moveItem(atPath: logs[0].string, toPath: device.home.appending("away").string)
            try Data("x".utf8).write(to: URL(filePath: logs[1].string))
            #expect(try await problems().kinds == ["container", "container"])
            try bytes.write(to: URL(filePath: logs[1].string))
            try FileManager.default.moveItem(atPath: device.home.appending("away").string, toPath: logs[0].string)
            let forgotten = try await problems("DELETE FROM ubiquity_log WHERE sequence = 3")
            #expect(forgotten.status == 1 && forgotten.kinds == ["container"])
            #expect(
                try await problems(
                    "DELETE FROM ubiquity_clock_1 WHERE rid = 1; INSERT INTO ubiquity_clock_1 SELECT 99, life, time, peer, columns, others FROM ubiquity_clock_1 WHERE rid = 2"
                ).kinds
                    == ["clock", "clock", "container"])
            #expect(try await problems("UPDATE ubiquity_outbox SET bytes = substr(bytes, 1, 50)").kinds == ["clock", "clock", "outbox", "container"])
            #expect(try await problems("UPDATE ubiquity_state SET sequence = 9").kinds == ["clock", "clock", "outbox", "outbox", "container"])
            let text = try await device.run("ubcontrol", "store", "check", store)
            #expect(text.status == 1 && text.output.contains("clock: note: 1 rows have no stamp") && text.output.contains("does not remember it"))
        }
    }

    @Test("I-07: the doctor, store check and store state name a table that the app declares in no way, until it is declared as local")
    func undeclared() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            #expect(try await device.run("notes", "add", "one").status == 0)
            let store = try device.storeFile().string
            func change(_ sql: String) async throws { #expect(try await Tool.run("/usr/bin/sqlite3", [store, sql]).status == 0) }
            func findings() async throws -> [String] {
                let outcome = try await device.run("ubcontrol", "doctor", "--json")
                let report = try #require(try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any], "\(outcome)")
                return (report["findings"] as? [[String: Any]] ?? []).compactMap { finding in
                    guard finding["severity"] as? String == "warning", let what = finding["what"] as? String, what.contains("declared neither")
                    else { return nil }
                    return "\(what): \(finding["remedy"] as? String ?? "")"
                }
            }
            #expect(try await findings().isEmpty)
            try await change("CREATE TABLE draft (id TEXT PRIMARY KEY)")
            let found = try await findings()
            #expect(found.count == 1 && found.first?.contains("“draft”") == true && found.first?.contains("`local:`") == true, "\(found)")
            let check = try await device.run("ubcontrol", "store", "check", store)
            #expect(check.status == 0 && check.output.contains("note: the table “draft” is declared neither as synced nor as local"), "\(check)")
            let state = try await device.runBare("ubcontrol", "store", "state", store)
            #expect(state.output.contains("undeclared tables: draft\n"), "\(state)")
            // An app that declares it has this row written at its next opening.
            try await change("INSERT INTO ubiquity_declaration VALUES ('local', 'draft', '')")
            #expect(try await findings().isEmpty)
            #expect(try await device.runBare("ubcontrol", "store", "state", store).output.contains("undeclared tables: none\n"))
        }
    }

    @Test("ubcontrol store quarantine list shows file, peer, reason and since")
    func quarantine() async throws {
        try await withDevices(2) { devices in
            #expect(try await devices[0].run("notes", "add", "bad").status == 0)
            let log = try #require(try devices[0].logs().first)
            let whole = try Data(contentsOf: URL(filePath: log.string))
            try whole.dropLast().write(to: URL(filePath: log.string))
            _ = try await devices[1].list()
            let store = try devices[1].storeFile().string
            let text = try await devices[1].runBare("ubcontrol", "store", "quarantine", "list", store).output
            let name = try #require(log.lastComponent?.string)
            let peer = log.removingLastComponent().removingLastComponent().lastComponent!.string
            #expect(text.hasPrefix("\(name) of \(peer.prefix(14)): its bytes do not have the hash in its name") && text.contains("(since 20"))
            let json = try await devices[1].runBare("ubcontrol", "store", "quarantine", store, "--json").output
            let entry = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: String])
            #expect(entry["file"] == name && entry["peer"] == peer && entry["kind"] == "damaged" && entry["since"] != nil)
            try whole.write(to: URL(filePath: log.string))
            #expect(try await devices[1].list().count == 1)
            #expect(try await devices[1].runBare("ubcontrol", "store", "quarantine", store).output.isEmpty)
        }
    }

    @Test("S-109: ubcontrol writes a plain copy beside the app, and says why it does not")
    func plainCopy() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            #expect(try await device.run("notes", "add", "kept").status == 0)
            let (store, target) = (try device.storeFile().string, device.home.appending("Plain.sqlite").string)
            let outcome = try await Tool.run("ubcontrol", ["store", "strip", store, target])
            #expect(outcome.status == 0 && outcome.output.contains("note: 1 row"), "\(outcome)")
            #expect(try await Tool.run("/usr/bin/sqlite3", [target, "SELECT title FROM note"]).output == "kept\n")
            let again = try await Tool.run("ubcontrol", ["store", "strip", store, target])
            #expect(again.status == 1 && again.errors.contains("is there already"), "\(again)")
        }
    }
}

extension ToolDevice {
    /// Runs a tool that takes no home.
    func runBare(_ tool: String, _ arguments: String...) async throws -> Tool.Outcome { try await Tool.run(tool, arguments) }
}
