import Foundation
import GRDB
import Ubiquity

/// The stores of the game: the public one of all players, and the private one of the signed-in account.
enum Game {
    /// The tables that everybody reads.
    static let publicSchema: SyncedSchema = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.execute(
                sql: """
                    CREATE TABLE score (
                        player TEXT NOT NULL, id TEXT NOT NULL, points INTEGER CHECK (points BETWEEN 0 AND 1000), level TEXT,
                        isTrashed INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (player, id));
                    CREATE INDEX score_by_level ON score (level, points);
                    CREATE TABLE template (id TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL);
                    """)
        }
        return SyncedSchema(migrator: migrator) {
            SyncedTable("score", access: .creator("player"))
            SyncedTable("template", access: .role("editor"))
        }
    }()

    /// The tables of the account alone.
    static let privateSchema: SyncedSchema = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.execute(
                sql: """
                    CREATE TABLE save (
                        id TEXT NOT NULL PRIMARY KEY, level TEXT NOT NULL, state TEXT NOT NULL, saved TEXT NOT NULL);
                    CREATE INDEX save_by_time ON save (saved);
                    """)
        }
        return SyncedSchema(migrator: migrator) { SyncedTable("save") }
    }()

    /// A sentence for the player.
    struct Failure: Error, CustomStringConvertible { var description: String }

    private static func directory() throws -> FilePath {
        let data = (ProcessInfo.processInfo.environment["XDG_DATA_HOME"] ?? NSHomeDirectory() + "/.local/share") + "/scores"
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
        return FilePath(data)
    }

    private static func scoresFile() throws -> FilePath { try directory().appending("Scores.sqlite") }

    // MARK: The public store

    /// Opens this device's store of the game that the environment names.
    static func openScores(automatically: Bool = false, polling: PlacePolling = PlacePolling()) async throws -> UbiquitousStore {
        let environment = ProcessInfo.processInfo.environment
        guard let game = environment["GAME"], let place = environment["PLACE"] else {
            throw Failure(
                description: "Set GAME to the container's identifier, and PLACE to the directory that holds it or the address of its public place.")
        }
        var options = UbiquitousStore.Options(contentName: "Scores")
        options.scope = .public(game, at: place, contributingTo: environment["CONTRIBUTIONS"])
        options.advanced.exchangesAutomatically = automatically
        options.advanced.polling = polling
        return try await UbiquitousStore.open(at: scoresFile(), options: options, schema: publicSchema)
    }

    /// Runs a body with the public store, after an exchange and before another one.
    static func withScores(_ body: (UbiquitousStore) async throws -> Void) async throws {
        let store = try await openScores()
        try await store.settled()
        try await body(store)
        try await store.settled()
        try await store.close()
    }

    /// The account under which this device writes scores.
    static func player(of store: UbiquitousStore) throws -> AccountIdentifier {
        guard let player = store.account else { throw Failure(description: "Nobody is signed in: the scores can only be read.") }
        return player
    }

    /// Publishes and closes a store, and says why a save stays on this device.
    private static func finish(_ store: UbiquitousStore) async throws {
        guard let reason = try await store.finish().reason else { return }
        FileHandle.standardError.write(Data("On this device only: \(reason)\n".utf8))
    }

    // MARK: The private store

    /// Runs a body with the saved games of the signed-in account, to which the public store is attached as `game`.
    static func withGames(_ body: (UbiquitousStore) async throws -> Void) async throws {
        guard try DeviceHome.standard().account != nil else {
            throw Failure(
                description:
                    "Saved games belong to an account, and nobody is signed in on this device: sign in with ubcontrol sign-in ACCOUNT --containers DIR."
            )
        }
        // The public file is brought up to date first. It is attached for reading alone.
        try await withScores { _ in }
        var options = UbiquitousStore.Options(contentName: "Games")
        options.advanced.exchangesAutomatically = false
        options.attachedDatabases = [.store("game", at: try scoresFile())]
        let store = try await UbiquitousStore.open(
            at: directory().appending("Games.sqlite"), options: options, container: "org.example.scores", schema: privateSchema)
        try await store.settled()
        try await body(store)
        try await finish(store)
    }
}
