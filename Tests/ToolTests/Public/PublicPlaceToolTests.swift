import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// A public place by `ubcontrol public publish` and a small app, as real processes.
struct PublicPlaceToolTests {
    private typealias Game = PublicToolTests.Game

    private func withGame(_ body: (Game) async throws -> Void) async throws { try await PublicToolTests().withGame(body) }

    private func published(_ game: Game) -> String { game.directory.appending("www").string }

    /// Publishes by the owner's store, once its app has taken the container in.
    @discardableResult
    private func publish(_ game: Game, killedAt point: String? = nil) async throws -> Tool.Outcome {
        try await game.expect("scores", ["list"], as: "ann")
        return try await game.run(
            "ubcontrol", ["public", "publish", game.store("ann"), "--to", published(game), "--json"], as: "ann", killedAt: point)
    }

    /// The points of all scores that a reader of the place sees.
    private func read(_ game: Game, as player: String, killedAt point: String? = nil) async throws -> Tool.Outcome {
        var environment = game.environment(player)
        environment["PLACE"] = "file://\(published(game))"
        if let point { environment["UBIQUITY_KILL_AT"] = point }
        return try await Tool.run("scores", ["list"], environment: environment)
    }

    private func points(_ game: Game, as player: String) async throws -> [String] {
        let outcome = try await read(game, as: player)
        #expect(outcome.status == 0, "\(outcome.errors)")
        return outcome.output.split(separator: "\n").map { String($0.prefix { $0 != " " }) }
    }

    @Test(
        "A publisher that is killed at any step leaves a place that readers read, and goes on from there",
        arguments: ["place.bundled", "place.entered", "place.head-written:1", "place.head-written:2"])
    func killedPublisher(_ point: String) async throws {
        try await withGame { game in
            try await game.expect("scores", ["add", "10"], as: "ann")
            #expect(try await publish(game).status == 0)
            #expect(try await points(game, as: "bob") == ["10"])
            try await game.expect("scores", ["add", "20"], as: "ann")
            #expect(try await publish(game, killedAt: point).signal == SIGKILL)
            // The head before, or the new one.
            let shown = try await points(game, as: "bob")
            #expect(shown == ["10"] || shown == ["20", "10"])
            try await game.expect("scores", ["add", "30"], as: "ann")
            let outcome = try await publish(game)
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(try await points(game, as: "bob") == ["30", "20", "10"])
            #expect(try await points(game, as: "late") == ["30", "20", "10"])
        }
    }

    @Test("A first publication that is killed is begun again", arguments: ["place.bundled", "place.entered", "place.head-written:1"])
    func killedBeginning(_ point: String) async throws {
        try await withGame { game in
            try await game.expect("scores", ["add", "10"], as: "ann")
            #expect(try await publish(game, killedAt: point).signal == SIGKILL)
            #expect(try await publish(game).status == 0)
            #expect(try await points(game, as: "bob") == ["10"])
        }
    }

    @Test("A reader that is killed at any step goes on from there", arguments: ["place.filling", "place.filled", "place.taken"])
    func killedReader(_ point: String) async throws {
        try await withGame { game in
            try await game.expect("scores", ["add", "10"], as: "ann")
            #expect(try await publish(game).status == 0)
            if point == "place.taken" { #expect(try await points(game, as: "bob") == ["10"]) }
            try await game.expect("scores", ["add", "20"], as: "ann")
            #expect(try await publish(game).status == 0)
            #expect(try await read(game, as: "bob", killedAt: point).signal == SIGKILL)
            #expect(try await points(game, as: "bob") == ["20", "10"])
        }
    }

    @Test("ubcontrol public publish says what it has published, and refuses a store that may not publish with the remedy")
    func publishes() async throws {
        try await withGame { game in
            try await game.expect("scores", ["add", "10"], as: "ann")
            let first = try await publish(game)
            #expect(first.output.contains("\"number\":1") && first.output.contains("\"isNew\":true"))
            let again = try await publish(game)
            #expect(again.output.contains("\"number\":1") && again.output.contains("\"isNew\":false"))
            try await game.expect("ubcontrol", ["account", "create", game.identifier, "--at", game.place.string], as: "eve")
            try await game.expect("scores", ["list"], as: "eve")
            let refused = try await game.run("ubcontrol", ["public", "publish", game.store("eve"), "--to", published(game)], as: "eve")
            #expect(refused.status != 0 && refused.errors.contains("ubcontrol public grant"))
            let short = try await game.run(
                "ubcontrol", ["public", "publish", game.store("ann"), "--to", published(game), "--every", "5d"], as: "ann")
            #expect(short.status == 64)
        }
    }
}
