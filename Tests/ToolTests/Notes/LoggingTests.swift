import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// What programs on the library log, as a person sees it.
struct LoggingTests {
    /// The lines of standard error.
    private func lines(_ outcome: Tool.Outcome) -> [Substring] { outcome.errors.split(separator: "\n") }

    @Test(
        "S-124, S-126: the environment, and a launch argument that the app's own parser never sees, say how much is logged; each line begins with Ubiquity:"
    )
    func levels() async throws {
        try await withDevices(2) { devices in
            #expect(try await devices[0].run("notes", "add", "Milk").errors.isEmpty)
            func messages(_ level: Int) async throws -> [Substring] {
                try await devices[0].run("notes", "add", "Bread")
                let outcome = try await devices[1].run("notes", "list", environment: ["UBIQUITY_LOG_LEVEL": "\(level)"])
                #expect(outcome.status == 0 && lines(outcome).allSatisfy { $0.hasPrefix("Ubiquity: ") }, "\(outcome.errors)")
                return lines(outcome)
            }
            #expect(try await messages(0).isEmpty)
            // Its place in the container is of this device's first opening.
            #expect(try await messages(1).allSatisfy { $0.contains("] info ") })
            let exchanges = try await messages(2)
            #expect(exchanges.contains { $0.contains("] debug alice: store/Notes.sqlite: took in 1 log in ") }, "\(exchanges)")
            #expect(
                exchanges.contains { $0.contains("imported 1 inserted, 0 updated, 0 deleted") } && !exchanges.contains { $0.contains("] trace ") })
            let everything = try await messages(3)
            #expect(
                everything.contains { $0.contains("] trace ") && $0.contains(": took in 00") && $0.contains(".ublog of alice~") }, "\(everything)")
            let argued = try await devices[1].run("notes", "add", "-UbiquityLogLevel", "2", "Tea")
            #expect(argued.status == 0 && lines(argued).contains { $0.contains(": published 1 log up to ") }, "\(argued)")
            let unclear = try await devices[1].run("notes", "list", environment: ["UBIQUITY_LOG_LEVEL": "loud"])
            #expect(lines(unclear).count == 1 && unclear.errors.contains("give a number from 0 to 3"), "\(unclear.errors)")
        }
    }

    @Test("no line shows what a record holds, nor its key, unless contents are asked for")
    func contents() async throws {
        try await withDevices(2) { devices in
            let id = try await devices[0].run("notes", "add", "Secret").output.trimmingCharacters(in: .newlines)
            let everything = ["UBIQUITY_LOG_LEVEL": "3", "UBIQUITY_SQL_DEBUG": "1"]
            let plain = try await devices[1].run("notes", "add", "Hidden", environment: everything)
            #expect(!lines(plain).isEmpty && !plain.errors.contains("Secret") && !plain.errors.contains("Hidden") && !plain.errors.contains(id))
            try await devices[0].run("notes", "edit", id, "--title", "Secret again")
            let shown = try await devices[1].run(
                "notes", "list", environment: everything.merging(["UBIQUITY_LOG_CONTENTS": "1"]) { $1 })
            #expect(shown.errors.contains("Secret again") && shown.errors.contains("note/t:\(id)"), "\(shown.errors)")
        }
    }

    @Test("S-125: UBIQUITY_SQL_DEBUG logs the SQL that runs, at any level, without what is bound to it")
    func statements() async throws {
        try await withDevices(1) { devices in
            let outcome = try await devices[0].run("notes", "add", "Milk", environment: ["UBIQUITY_SQL_DEBUG": "1"])
            let statements = lines(outcome).filter { $0.contains("Notes.sqlite: SQL: ") }
            let inserts = statements.filter { $0.contains(#"SQL: INSERT INTO "note" ("id", "title""#) }
            #expect(inserts.count == 1 && inserts[0].contains("VALUES (?,?"), "\(statements)")
            #expect(statements.contains { $0.contains("BEGIN IMMEDIATE TRANSACTION") } && lines(outcome).allSatisfy { $0.hasPrefix("Ubiquity: ") })
            let off = try await devices[0].run("notes", "list", environment: ["UBIQUITY_SQL_DEBUG": "0"])
            #expect(off.errors.isEmpty, "\(off.errors)")
        }
    }

    @Test("what suspends a store and what goes on is told at level 1")
    func transitions() async throws {
        try await withDevices(1) { devices in
            #expect(try await devices[0].run("notes", "add", "Milk").status == 0)
            try await devices[0].apart {
                let outcome = try await devices[0].run("notes", "list", environment: ["UBIQUITY_LOG_LEVEL": "1"])
                #expect(lines(outcome).contains { $0.contains("] info alice: store/Notes.sqlite: suspended: ") }, "\(outcome.errors)")
            }
        }
    }

    @Test("S-131: ubcontrol log-level sets the broker's level at run time, and that of the programs connected to it; the next broker goes on with it")
    func broker() async throws {
        try await withPlayers(1) { scene, players in
            #expect(try await scene.control("log-level").output == "4; no broker runs, the next one starts with it\n")
            func access(_ name: String) async throws {
                try await players[0].say("read \(name) \(scene.path(name))")
                try await players[0].hears("granted \(name)")
                try await players[0].say("end \(name)")
            }
            try await access("quiet")
            #expect(try await scene.control("log-level").output == "4\n")
            let log = scene.runtime.appending("broker.log").string
            #expect(!FileManager.default.fileExists(atPath: log))
            #expect(try await scene.control("log-level", "7").output == "7\n")
            // A listing asks back what the program decides itself: it has heard of the level before.
            #expect(try await scene.control("claims").status == 0)
            try await access("loud")
            let text = try String(contentsOfFile: log, encoding: .utf8)
            let written = text.split(separator: "\n")
            #expect(written.allSatisfy { $0.hasPrefix("Ubiquity: ") } && written.contains { $0.contains("] debug broker: from process ") }, "\(text)")
            #expect(try await scene.control("broker", "stop").status == 0)
            // The program starts another at once, or this asks before there is one: the level is the same.
            try await access("louder")
            #expect(try await scene.control("log-level", "--json").output.contains("\"level\":7"))
            #expect(try await scene.control("log-level", "2").output.hasPrefix("2"))
            let size = try FileManager.default.attributesOfItem(atPath: log)[.size] as? Int
            #expect(try await scene.control("claims").status == 0)
            #expect(try FileManager.default.attributesOfItem(atPath: log)[.size] as? Int == size)
            for level in ["8", "-1", "x"] { #expect(try await scene.control("log-level", level).status == 64) }
            let errors = try await players[0].tool.stop().errors
            #expect(!errors.contains(scene.path("quiet")) && errors.contains("] trace accessing \(scene.path("loud")) (read)"), "\(errors)")
        }
    }
}
