import Foundation
import SystemPackage
import Testing
import ToolProcesses
import Waiting

/// The game of Examples/Scores, as real processes: its public scores and levels, its private saved games, and its screen.
struct ScoresTests {
    private typealias Game = PublicToolTests.Game

    private func withGame(_ body: (Game) async throws -> Void) async throws { try await PublicToolTests().withGame(body) }

    /// Creates an account of a player in the game.
    @discardableResult
    private func account(of player: String, in game: Game) async throws -> String {
        try await game.expect("ubcontrol", ["account", "create", game.identifier, "--at", game.place.string], as: player)
    }

    /// Signs a device in to a private account.
    private func signIn(_ account: String, as player: String, in game: Game) async throws {
        let containers = game.directory.appending("containers").string
        try FileManager.default.createDirectory(atPath: containers, withIntermediateDirectories: true)
        try await game.expect("ubcontrol", ["sign-in", account, "--containers", containers], as: player)
    }

    private func lines(_ text: String) -> [Substring] { text.split(separator: "\n") }

    @Test("S-155, S-156: signed out, scores and levels are read; a score, a level and a saved game are refused, each with what to do")
    func signedOut() async throws {
        try await withGame { game in
            try await game.expect("scores", ["templates", "add", "cave", "The cave"], as: "ann")
            try await game.expect("scores", ["add", "700", "--level", "cave"], as: "ann")
            #expect(try await game.expect("scores", [], as: "eve").wholeMatch(of: /700 by \w{8}, cave/) != nil)
            #expect(try await game.expect("scores", ["templates"], as: "eve") == "cave  The cave")
            for (arguments, words) in [
                (["add", "1"], "Nobody is signed in: the scores can only be read."),
                (["templates", "add", "x", "X"], "Only editors change levels, and nobody is signed in"),
                (["templates", "edit", "cave", "Mine"], "ubcontrol public grant STORE editor ACCOUNT"),
                (["games"], "sign in with ubcontrol sign-in ACCOUNT"), (["games", "save", "cave", "3 lives"], "nobody is signed in on this device"),
            ] {
                let refused = try await game.run("scores", arguments, as: "eve")
                #expect(refused.status == 1 && refused.output.isEmpty && refused.errors.contains(words), "\(arguments): \(refused)")
            }
            #expect(try await game.points("ann") == ["700"])
        }
    }

    @Test("S-157: levels are changed by those who hold the role, from the moment at which the owner grants it; others are refused by name")
    func editors() async throws {
        try await withGame { game in
            let bob = try await account(of: "bob", in: game)
            try await game.expect("scores", ["templates", "add", "cave", "The cave"], as: "ann")
            let refused = try await game.run("scores", ["templates", "edit", "cave", "Bob's"], as: "bob")
            #expect(refused.status == 1 && refused.errors.contains("Only editors change levels, and \(bob) is none"), "\(refused)")
            try await game.expect("ubcontrol", ["public", "grant", game.store("ann"), "editor", bob], as: "ann")
            _ = try await game.points("ann")
            try await game.expect("scores", ["templates", "edit", "cave", "The deep cave"], as: "bob")
            let missing = try await game.run("scores", ["templates", "edit", "attic", "A"], as: "bob")
            #expect(missing.status == 1 && missing.errors.contains("No level has the identifier “attic”"), "\(missing)")
            #expect(try await game.expect("scores", ["templates"], as: "ann") == "cave  The deep cave")
        }
    }

    @Test("S-154, P-02: one query joins a private saved game with the public title of its level and the best score of all players")
    func joined() async throws {
        try await withGame { game in
            try await account(of: "bob", in: game)
            try await game.expect("scores", ["templates", "add", "cave", "The cave"], as: "ann")
            try await game.expect("scores", ["add", "700", "--level", "cave"], as: "ann")
            let best = try await game.expect("scores", ["add", "900", "--level", "cave"], as: "bob")
            try await signIn("bob", as: "bob", in: game)
            let save = try await game.expect("scores", ["games", "save", "cave", "3 lives"], as: "bob")
            try await game.expect("scores", ["games", "save", "attic", "no lives"], as: "bob")
            // The newest first; of a level that nobody has described, what is known.
            let games = lines(try await game.expect("scores", ["games"], as: "bob"))
            #expect(games.count == 2 && games[0].hasSuffix("  attic: no lives") && games[1] == "\(save)  The cave: 3 lives, best 900", "\(games)")
            try await game.expect("scores", ["trash", best], as: "bob")
            // Another device of the account has the saved games, and nobody else has.
            try await signIn("bob", as: "phone", in: game)
            #expect(lines(try await game.expect("scores", ["games"], as: "phone")).last?.hasSuffix("The cave: 3 lives, best 700") == true)
            try await signIn("eve", as: "eve", in: game)
            #expect(try await game.expect("scores", ["games"], as: "eve").isEmpty)
            try await game.expect("scores", ["games", "remove", save], as: "phone")
            #expect(lines(try await game.expect("scores", ["games"], as: "bob")).count == 1)
            let again = try await game.run("scores", ["games", "remove", save], as: "bob")
            #expect(again.status == 1 && again.errors.contains("list them with: scores games"), "\(again)")
        }
    }

    @Test("S-168: a player's own scores go into the trash and out of all lists, and are deleted later; those of others stay")
    func trash() async throws {
        try await withGame { game in
            try await account(of: "bob", in: game)
            let first = try await game.expect("scores", ["add", "1"], as: "ann")
            let second = try await game.expect("scores", ["add", "2"], as: "ann")
            let other = try await game.expect("scores", ["add", "3"], as: "bob")
            #expect(try await game.points("ann") == ["3", "2", "1"])
            #expect(lines(try await game.expect("scores", ["list", "--ids"], as: "eve")).first?.hasPrefix("\(other)  3 by ") == true)
            try await game.expect("scores", ["trash", first], as: "ann")
            try await game.expect("scores", ["delete", second], as: "ann")
            for command in ["trash", "delete"] {
                let refused = try await game.run("scores", [command, other], as: "ann")
                #expect(refused.status == 1 && refused.errors.contains("No score of yours has the identifier “\(other)”"), "\(refused)")
            }
            for player in ["bob", "eve"] { #expect(try await game.points(player) == ["3"], "\(player)") }
            #expect(try await game.expect("scores", ["empty"], as: "ann") == "0")
            #expect(try await game.expect("scores", ["empty", "--days", "0"], as: "bob") == "0")
            #expect(try await game.expect("scores", ["empty", "--days", "0"], as: "ann") == "1")
            #expect(try await game.points("eve") == ["3"])
        }
    }

    /// Reads lists of the screen until one holds a line.
    private func wait(for start: String, in lines: LimitedSequence<AsyncStream<String>>) async throws {
        for try await line in lines where line.hasPrefix(start) { return }
        Issue.record("the screen has ended without “\(start)”")
    }

    @Test("S-149: the screen shows what another player's process adds, without being asked, from the directory and from a published place")
    func screen() async throws {
        try await withGame { game in
            let published = game.directory.appending("www").string
            func publish() async throws {
                _ = try await game.points("ann")
                try await game.expect("ubcontrol", ["public", "publish", game.store("ann"), "--to", published], as: "ann")
            }
            try await publish()
            var far = game.environment("late")
            far["PLACE"] = "file://\(published)"
            let screens = [
                try await RunningTool("scores", ["screen"], environment: game.environment("eve")),
                try await RunningTool("scores", ["screen", "--every", "1"], environment: far),
            ]
            for screen in screens { try await wait(for: "No scores yet", in: screen.lines.limited("the first list")) }
            for points in [700, 900] {
                try await game.expect("scores", ["add", "\(points)"], as: "ann")
                try await publish()
                for screen in screens { try await wait(for: "\(points) by ", in: screen.lines.limited("the list with \(points)")) }
            }
            for screen in screens {
                let outcome = try await screen.stop()
                #expect(outcome.status == 0, "\(outcome)")
            }
        }
    }

    @Test("On a terminal the screen is drawn in place, follows what others add and the terminal's size, and q gives the terminal back")
    func terminal() async throws {
        try await withGame { game in
            try await TestTerminal.with { terminal in
                let words = game.environment("eve").map { "\($0.key)='\($0.value)'" }.sorted().joined(separator: " ")
                try await terminal.type("env \(words) '\(Tool.path("scores"))' screen; echo ended $?")
                try await terminal.shows("screen without scores") { $0.first == "No scores yet" && $0.contains("q quits") }
                for points in 1...8 { try await game.expect("scores", ["add", "\(points)"], as: "ann") }
                try await terminal.shows("screen of eight scores") { $0.first == "High scores: 8" && $0[1].hasPrefix("8 by ") }
                try await terminal.resize(columns: 40, rows: 5)
                try await terminal.shows("small screen") { rows in
                    rows.first == "High scores: 8" && rows.contains("q quits") && rows.count { $0.contains(" by ") } == 3
                }
                try await terminal.press("x", "q")
                try await terminal.shows("shell again") { rows in rows.contains("ended 0") && !rows.contains("q quits") }
            }
        }
    }
}
