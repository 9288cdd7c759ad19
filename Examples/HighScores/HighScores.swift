import Foundation
import GRDB
import Ubiquity

/// A high-score table of many players: the code of the tutorial in the documentation of Ubiquity.
@main
struct HighScores {
    static let schema: SyncedSchema = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.execute(
                sql: """
                    CREATE TABLE score (
                        player TEXT NOT NULL, id TEXT NOT NULL, points INTEGER NOT NULL CHECK (points BETWEEN 0 AND 1000),
                        PRIMARY KEY (player, id))
                    """)
        }
        return SyncedSchema(migrator: migrator) {
            SyncedTable("score", access: .creator("player"))
        }
    }()

    /// Opens this device's store of the game that the environment names.
    static func open() async throws -> UbiquitousStore {
        let environment = ProcessInfo.processInfo.environment
        guard let game = environment["GAME"], let place = environment["PLACE"] else {
            throw Failure(description: "Set GAME to the container's identifier, and PLACE to the directory that holds it.")
        }
        let data = (environment["XDG_DATA_HOME"] ?? NSHomeDirectory() + "/.local/share") + "/scores"
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
        var options = UbiquitousStore.Options(contentName: "Scores", exchangesAutomatically: false)
        options.scope = .public(game, at: place)
        let store = try await UbiquitousStore.open(at: FilePath(data + "/Scores.sqlite"), options: options, schema: schema)
        try await store.settled()
        return store
    }

    struct Failure: Error, CustomStringConvertible { var description: String }

    static func add(_ points: Int, to store: UbiquitousStore) async throws {
        guard let player = store.account else { throw Failure(description: "Nobody is signed in: the scores can only be read.") }
        try await store.write { db in
            try db.execute(sql: "INSERT INTO score VALUES (?, ?, ?)", arguments: [player.description, UUID().uuidString, points])
        }
    }

    static func list(_ store: UbiquitousStore) async throws {
        let rows = try await store.read { db in try Row.fetchAll(db, sql: "SELECT player, points FROM score ORDER BY points DESC, player") }
        for row in rows { print("\(row["points"] as Int) by \((row["player"] as String).prefix(8))") }
    }

    static func main() async throws {
        do {
            let arguments = CommandLine.arguments.dropFirst()
            let store = try await open()
            switch (arguments.first, arguments.dropFirst().first.flatMap { Int($0) }) {
            case ("add", let points?): try await add(points, to: store)
            case ("list", _), (nil, _): try await list(store)
            case ("rejected", _): for log in try await store.rejected() { print("log \(log.sequence) of \(log.peer.prefix(8)): \(log.reason)") }
            default: throw Failure(description: "usage: scores [list | add POINTS | rejected]")
            }
            try await store.settled()
            try await store.close()
        } catch {
            FileHandle.standardError.write(Data("scores: \(error)\n".utf8))
            exit(1)
        }
    }
}
