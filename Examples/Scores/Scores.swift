import ArgumentParser
import Foundation
import GRDB
import Ubiquity

/// A small game: public high scores and levels that anybody reads, and private saved games.
@main
struct Scores: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scores",
        abstract: "High scores that many players write and anybody reads, and a player's saved games.",
        discussion: """
            ENVIRONMENT
            GAME is the identifier of the game's container, as ubcontrol public create prints it. PLACE is the directory that holds the container, or \
            the address of its public place: https://, http:// or file://. With an address, CONTRIBUTIONS may name a directory that something carries \
            to the publisher; without it the scores can only be read.
            """,
        subcommands: [
            ListCommand.self, AddCommand.self, TrashCommand.self, EmptyCommand.self, DeleteCommand.self, TemplatesCommand.self, GamesCommand.self,
            ScreenCommand.self, RejectedCommand.self,
        ],
        defaultSubcommand: ListCommand.self
    )
}

/// Runs `scores list`.
struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the high scores, the best first.")

    @Flag(help: "Print the identifiers too.")
    var ids = false

    func run() async throws {
        try await Game.withScores { store in
            for score in try await store.read(Score.list) { print(ids ? "\(printable(score.id))  \(score.line)" : score.line) }
        }
    }
}

/// Runs `scores add`.
struct AddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "add", abstract: "Add a score of yours, and print its identifier.")

    @Argument(help: "The points, from 0 to 1000.")
    var points: Int

    @Option(help: "The level's identifier.")
    var level: String?

    func run() async throws {
        try await Game.withScores { store in
            let score = Score(player: try Game.player(of: store).description, id: UUID().uuidString, points: points, level: level)
            try await store.write { db in try score.insert(db) }
            print(score.id)
        }
    }
}

/// Runs `scores trash`.
struct TrashCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trash", abstract: "Hide a score of yours from everybody, and clear it; scores empty deletes it later.")

    @Argument(help: "The score's identifier.")
    var id: String

    func run() async throws {
        try await Game.withScores { [id] store in
            let record = Score.record(of: try Game.player(of: store), id)
            if try await !store.write({ db in try Score.trash.move(record, db) }) {
                throw NotThere(what: "score of yours", id: id, list: "list --ids")
            }
        }
    }
}

/// Runs `scores empty`.
struct EmptyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "empty", abstract: "Delete your scores that have lain in the trash for some time, and print their number.")

    @Option(help: "The time, in days.")
    var days = 30

    func validate() throws {
        if days < 0 { throw ValidationError("A score cannot lie in the trash for less than 0 days.") }
    }

    func run() async throws {
        try await Game.withScores { [days] store in
            let trash = Trash(Score.databaseTableName, lifetime: .seconds(days * 86_400))
            print(try await store.empty(trash).count)
        }
    }
}

/// Runs `scores delete`.
struct DeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "delete", abstract: "Delete a score of yours, for everybody.")

    @Argument(help: "The score's identifier.")
    var id: String

    func run() async throws {
        try await Game.withScores { [id] store in
            let player = try Game.player(of: store).description
            if try await !store.write({ db in try Score.deleteOne(db, key: ["player": player, "id": id]) }) {
                throw NotThere(what: "score of yours", id: id, list: "list --ids")
            }
        }
    }
}

/// Runs `scores rejected`.
struct RejectedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rejected", abstract: "List the changes that other players had no right to make, which have no effect.")

    func run() async throws {
        try await Game.withScores { store in
            for log in try await store.rejected() { print("log \(log.sequence) of \(log.peer.prefix(8)): \(log.reason)") }
        }
    }
}

/// An error for an identifier that names nothing on this device.
struct NotThere: Error, CustomStringConvertible {
    var what: String
    var id: String
    var list: String
    var description: String { "No \(what) has the identifier “\(printable(id))”; list them with: scores \(list)" }
}

/// Returns text of other players that is safe on a terminal: control characters are replaced with their numbers.
func printable(_ text: String) -> String {
    text.unicodeScalars.map { $0.properties.generalCategory == .control ? "\\u{\(String($0.value, radix: 16))}" : String($0) }.joined()
}
