import ArgumentParser
import Foundation
import GRDB
import Ubiquity

/// Runs `scores games`.
struct GamesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "games",
        abstract: "The saved games of the signed-in account, on all its devices and for nobody else.",
        subcommands: [List.self, Save.self, Remove.self],
        defaultSubcommand: List.self
    )

    /// Runs `scores games list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the saved games, the newest first, with the title and the best score of their levels.")

        func run() async throws {
            try await Game.withGames { store in
                for game in try await store.read(SavedGameListing.list) { print(game.line) }
            }
        }
    }

    /// Runs `scores games save`.
    struct Save: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Save a game, and print its identifier.")

        @Argument(help: "The level's identifier.")
        var level: String

        @Argument(help: "The state of the game, such as “3 lives”.")
        var state: String

        func run() async throws {
            try await Game.withGames { [level, state] store in
                let game = SavedGame(id: UUID().uuidString, level: level, state: state, saved: Date())
                try await store.write { db in try game.insert(db) }
                print(game.id)
            }
        }
    }

    /// Runs `scores games remove`.
    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Remove a saved game.")

        @Argument(help: "The game's identifier.")
        var id: String

        func run() async throws {
            try await Game.withGames { [id] store in
                if try await !store.write({ db in try SavedGame.deleteOne(db, key: id) }) {
                    throw NotThere(what: "saved game", id: id, list: "games")
                }
            }
        }
    }
}
