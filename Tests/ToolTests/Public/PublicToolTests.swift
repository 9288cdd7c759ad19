import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// Public containers by the tools and a small app, as real processes.
struct PublicToolTests {
    /// A game with its players.
    struct Game {
        let directory: FilePath
        let identifier: String
        var place: FilePath { directory.appending("shared") }
        var container: FilePath { place.appending("public/\(identifier)") }

        func environment(_ player: String) -> [String: String] {
            let home = directory.appending(player).string
            return ["XDG_DATA_HOME": home, "UBIQUITY_HOME": "\(home)/ubiquity", "PLACE": place.string, "GAME": identifier]
        }

        func run(_ name: String, _ arguments: [String], as player: String, killedAt point: String? = nil) async throws -> Tool.Outcome {
            var environment = environment(player)
            if let point { environment["UBIQUITY_KILL_AT"] = point }
            return try await Tool.run(name, arguments, environment: environment)
        }

        /// Runs a command that must succeed, and returns the words that it prints.
        @discardableResult
        func expect(_ name: String, _ arguments: [String], as player: String) async throws -> String {
            let outcome = try await run(name, arguments, as: player)
            #expect(outcome.status == 0, "\(name) \(arguments): \(outcome.errors)")
            return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
        }

        /// The points of all scores that a player sees, the greatest first.
        func points(_ player: String) async throws -> [String] {
            try await expect("scores", ["list"], as: player).split(separator: "\n").map { String($0.prefix { $0 != " " }) }
        }

        /// The store file of a player, for the tools.
        func store(_ player: String) -> String { directory.appending("\(player)/scores/Scores.sqlite").string }
    }

    func withGame(_ body: (Game) async throws -> Void) async throws {
        let directory = FilePath(FileManager.default.temporaryDirectory.appending(path: "ubiquity-game-\(UUID().uuidString)").path)
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        for folder in ["shared", "ann", "bob", "eve", "phone", "late"] {
            try FileManager.default.createDirectory(atPath: directory.appending(folder).string, withIntermediateDirectories: true)
        }
        var game = Game(directory: directory, identifier: "")
        let identifier = try await game.expect(
            "ubcontrol", ["public", "create", "--at", game.place.string, "--table", "score=creator:player", "--table", "template=role:editor"],
            as: "ann")
        game = Game(directory: directory, identifier: identifier)
        try await body(game)
    }

    @Test("the page of the high-score table, run as it stands, makes a table of two players that a third only reads")
    func tutorial() async throws {
        let page = try packageText("Sources/Ubiquity/Ubiquity.docc/HighScores.md")
        let directory = FilePath(FileManager.default.temporaryDirectory.appending(path: "ubiquity-scores-\(UUID().uuidString)").path)
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        let blocks = page.components(separatedBy: "```sh\n").dropFirst().compactMap { $0.components(separatedBy: "```").first }
        let script = blocks.joined(separator: "\n").replacing("/tmp/scores", with: directory.string)
            .replacing("$PWD/.build/debug", with: Tool.path("scores").removingLastComponent().string)
        let outcome = try await Tool.run(
            "/bin/bash", ["-euo", "pipefail", "-c", "cd '\(packageDirectory)'; unset UBIQUITY_HOME\n\(script)"])
        #expect(outcome.status == 0, "\(outcome.errors)\(outcome.output)")
        let lines = outcome.output.split(separator: "\n")
        #expect(lines.filter { $0.hasPrefix("900 by ") }.count == 2 && lines.filter { $0.hasPrefix("700 by ") }.count == 2, "\(outcome.output)")
        #expect(lines.contains("refused, as it should be") && outcome.errors.contains("Nobody is signed in"), "\(outcome.errors)")
        #expect(lines.filter { $0.hasPrefix("{") && $0.contains("\"peer\"") }.count == 2, "\(outcome.output)")
    }

    @Test("P-33: a program written from the pages alone verifies a container, and names what somebody has altered")
    func verify() async throws {
        try await withGame { game in
            try await game.expect("scores", ["add", "700"], as: "ann")
            try await game.expect("ubcontrol", ["account", "create", game.identifier, "--at", game.place.string], as: "bob")
            try await game.expect("scores", ["add", "900"], as: "bob")
            let script = packageDirectory.appending("Tools/verify-public").string
            let whole = try await Tool.run("/usr/bin/python3", [script, game.container.string])
            #expect(whole.status == 0, "\(whole.errors)\(whole.output)")
            let lines = whole.output.split(separator: "\n")
            #expect(lines.filter { $0.contains("\"kind\"") }.count == 3 && lines.filter { $0.contains("\"peer\"") }.count == 2)
            for name in try FileManager.default.subpathsOfDirectory(atPath: game.container.string)
            where name.hasSuffix(".ublog") || name.hasSuffix(".ubpolicy") || name.hasSuffix(".ubaccount") {
                let file = URL(filePath: game.container.appending(name).string)
                let bytes = try Data(contentsOf: file)
                for index in [bytes.count / 2, bytes.count - 1] {
                    var altered = bytes
                    altered[index] ^= 1
                    try altered.write(to: file)
                    let outcome = try await Tool.run("/usr/bin/python3", [script, game.container.string])
                    #expect(outcome.status == 1 && outcome.output.contains("\"refused\""), "\(name) \(index): \(outcome.output)")
                    #expect(
                        outcome.output.split(separator: "\n").contains { $0.contains(FilePath(name).lastComponent!.string) && $0.contains("refused") }
                    )
                    guard name.hasSuffix(".ublog") else { continue }
                    let found = try await game.run("ubwatch", ["verify", game.container.string], as: "bob")
                    #expect(found.status == 1 && found.output.contains("fault"), "\(name) \(index): \(found)")
                }
                try bytes.write(to: file)
            }
        }
    }

    @Test(
        "P-09: a process killed at any waypoint of a removal, on the device that signs or on one that reads, comes to the records of all others",
        arguments: [
            "publish.wal-synced", "publish.renamed", "roll.written", "roll.synced", "roll.renamed", "roll.directory-synced", "statement.signed",
            "statement.written", "statements.read", "rebuild.emptied", "join.applied", "rebuild.joined", "statements.saved", "import.planned",
            "import.applied", "import.committed",
        ])
    func killed(point: String) async throws {
        try await withGame { game in
            try await game.expect("ubcontrol", ["account", "create", game.identifier, "--at", game.place.string], as: "bob")
            let account = try await game.expect("ubcontrol", ["account", "devices", game.identifier], as: "bob").prefix { $0 != "~" }
            let code = try await game.expect(
                "ubcontrol", ["account", "enrol", game.identifier, "--at", game.place.string, "--account", String(account)], as: "phone")
            try await game.expect("ubcontrol", ["account", "admit", game.identifier, code], as: "bob")
            try await game.expect("scores", ["add", "1"], as: "bob")
            try await game.expect("scores", ["add", "2"], as: "phone")
            #expect(try await game.points("bob") == ["2", "1"])
            #expect(try await game.points("ann") == ["2", "1"])
            // The phone is stolen. The thief has written what nobody has read, and goes on.
            try await game.expect(
                "ubcontrol", ["account", "revoke", game.store("bob"), String(code.prefix { $0 != "." }), "--yes"], as: "bob")
            // Each process may end there, as often as it comes by, before one gets through.
            for player in ["bob", "ann", "eve", "phone"] {
                for _ in 0..<2 {
                    let killed = try await game.run("scores", ["list"], as: player, killedAt: point)
                    #expect(killed.status == 0 || killed.signal == SIGKILL, "\(player): \(killed)")
                }
            }
            for player in ["bob", "ann", "phone", "bob", "eve", "ann"] { _ = try await game.points(player) }
            let stolen = try await game.run("scores", ["add", "666"], as: "phone")
            #expect(stolen.status == 1, "\(stolen)")
            for player in ["bob", "ann", "eve", "late"] {
                #expect(try await game.points(player) == ["2", "1"], "\(player)")
            }
            let devices = try await game.expect("ubcontrol", ["account", "devices", game.identifier], as: "bob")
            #expect(devices.split(separator: "\n").count == 1, "\(devices)")
        }
    }

    /// Lets a player's phone join the account of a player, and returns the phone's peer.
    private func addPhone(to game: Game) async throws -> String {
        try await game.expect("ubcontrol", ["account", "create", game.identifier, "--at", game.place.string], as: "bob")
        let account = try await game.expect("ubcontrol", ["account", "devices", game.identifier], as: "bob").prefix { $0 != "~" }
        let code = try await game.expect(
            "ubcontrol", ["account", "enrol", game.identifier, "--at", game.place.string, "--account", String(account)], as: "phone")
        try await game.expect("ubcontrol", ["account", "admit", game.identifier, code], as: "bob")
        return String(code.prefix { $0 != "." })
    }

    @Test(
        "P-13: a device that is killed while it sets aside what a removal rejects has it in one entry, and the entry cannot be restored without the right",
        arguments: [
            "import.sealed", "statements.read", "kept.log-written", "kept.drafted", "kept.named", "rebuild.emptied", "rebuild.joined",
            "statements.saved",
        ])
    func rejectedSaves(point: String) async throws {
        try await withGame { game in
            let phone = try await addPhone(to: game)
            try await game.expect("scores", ["add", "1"], as: "bob")
            try await game.expect("scores", ["add", "2"], as: "phone")
            #expect(try await game.points("bob") == ["2", "1"])
            try await game.expect("scores", ["add", "7"], as: "phone")
            // The log is late: Bob removes the device before he has it.
            let logs = game.container.appending("CoreData/Scores/\(phone)/1")
            let late = try #require(try FileManager.default.contentsOfDirectory(atPath: logs.string).sorted().last { $0.hasSuffix(".ublog") })
            let away = game.directory.appending(late)
            try FileManager.default.moveItem(atPath: logs.appending(late).string, toPath: away.string)
            try await game.expect("ubcontrol", ["account", "revoke", game.store("bob"), phone, "--yes"], as: "bob")
            #expect(try await game.points("bob") == ["2", "1"])
            try FileManager.default.moveItem(atPath: away.string, toPath: logs.appending(late).string)
            for _ in 0..<2 {
                let killed = try await game.run("scores", ["list"], as: "phone", killedAt: point)
                #expect(killed.status == 0 || killed.signal == SIGKILL, "\(killed)")
            }
            for player in ["phone", "bob", "late"] { #expect(try await game.points(player) == ["2", "1"], "\(player)") }
            let list = try await game.expect("ubcontrol", ["kept", "list"], as: "phone")
            #expect(list.split(separator: "\n").count == 1 && list.contains("the right to change score was taken away; 1 change in 1 log"), "\(list)")
            let id = String(list.prefix { $0 != " " })
            let shown = try await game.expect("ubcontrol", ["kept", "show", id], as: "phone")
            #expect(shown.contains("points=7"), "\(shown)")
            let refused = try await game.run("ubcontrol", ["kept", "restore", id], as: "phone")
            #expect(refused.status == 1 && refused.errors.contains("Nothing has been restored"), "\(refused)")
            // The account's own device may.
            let restored = try await game.run("ubcontrol", ["kept", "restore", id, "--store", game.store("bob")], as: "phone")
            #expect(restored.status == 0, "\(restored)")
            for player in ["bob", "late"] { #expect(try await game.points(player) == ["7", "2", "1"], "\(player)") }
            try await game.expect("ubcontrol", ["kept", "remove", id, "--yes"], as: "phone")
            #expect(try await game.expect("ubcontrol", ["kept", "list"], as: "phone") == "")
        }
    }

    @Test(
        "P-11: a device is revoked with --take-back; a process killed at any waypoint comes to the records without what was taken back, and leaves no copy",
        arguments: [
            "take-back.copied", "rebuild.emptied", "rebuild.joined", "take-back.rebuilt", "roll.written", "roll.renamed", "statement.signed",
            "statement.written", "statements.read", "statements.saved",
        ])
    func takenBack(point: String) async throws {
        try await withGame { game in
            let phone = try await addPhone(to: game)
            try await game.expect("scores", ["add", "1"], as: "bob")
            try await game.expect("scores", ["add", "2"], as: "phone")
            try await game.expect("scores", ["add", "666"], as: "phone")
            for player in ["bob", "ann"] { #expect(try await game.points(player) == ["666", "2", "1"]) }
            let revoke = ["account", "revoke", game.store("bob"), phone, "--yes", "--take-back"]
            let nonsense = try await game.run("ubcontrol", revoke + ["yesterday"], as: "bob")
            #expect(nonsense.status == 64 && nonsense.errors.contains("DEVICE:SEQUENCE"), "\(nonsense)")
            try await game.expect("ubcontrol", revoke + ["\(phone):1"], as: "bob")
            for player in ["bob", "ann", "phone"] {
                for _ in 0..<2 {
                    let killed = try await game.run("scores", ["list"], as: player, killedAt: point)
                    #expect(killed.status == 0 || killed.signal == SIGKILL, "\(player): \(killed)")
                }
            }
            for player in ["bob", "ann", "phone", "bob"] { _ = try await game.points(player) }
            for player in ["bob", "ann", "phone", "late"] { #expect(try await game.points(player) == ["2", "1"], "\(player)") }
            let files = try FileManager.default.subpathsOfDirectory(atPath: game.directory.appending("bob").string)
            #expect(files.filter { $0.contains("taking-back") } == [])
        }
    }
}
