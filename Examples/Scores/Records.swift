import Foundation
import GRDB
import Ubiquity

/// A score, which belongs to its player; everybody reads it.
struct Score: Codable, Equatable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "score"
    /// The scores that their players have taken back: hidden first, and deleted later.
    static let trash = Trash(databaseTableName)

    /// The account of the player.
    var player: String
    var id: String
    var points: Int?
    /// The identifier of a level.
    var level: String?
    var isTrashed = false

    /// The identity of a player's score.
    static func record(of player: AccountIdentifier, _ id: String) -> ObjectID {
        ObjectID(table: databaseTableName, key: [.text(player.description), .text(id)])
    }

    /// Reads the scores that are not in the trash, the best first.
    static func list(_ db: Database) throws -> [Score] {
        try Score.filter(sql: trash.hides).order(Column("points").desc, Column("player"), Column("id")).fetchAll(db)
    }

    /// The score for people.
    var line: String { "\(points ?? 0) by \(printable(String(player.prefix(8))))\(level.map { ", \(printable($0))" } ?? "")" }
}

/// The template of a level, which editors keep; everybody reads it.
struct Template: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "template"

    var id: String
    var title: String

    /// The identity of a template.
    static func record(_ id: String) -> ObjectID { ObjectID(table: databaseTableName, key: [.text(id)]) }
}

/// A saved game, which only its player reads.
struct SavedGame: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "save"

    var id: String
    /// The identifier of a level.
    var level: String
    var state: String
    var saved: Date
}

/// A saved game with what the public store says of its level.
struct SavedGameListing: Decodable, FetchableRecord {
    var id: String
    var state: String
    var title: String
    /// The best points that any player has in the level.
    var best: Int?

    /// Reads the saved games, the newest first, in one query of both stores.
    static func list(_ db: Database) throws -> [SavedGameListing] {
        try fetchAll(
            db,
            sql: """
                SELECT save.id, save.state, coalesce(template.title, save.level) AS title, max(score.points) AS best
                FROM save
                LEFT JOIN game.template ON template.id = save.level
                LEFT JOIN game.score ON score.level = save.level AND \(Score.trash.hides(in: "score"))
                GROUP BY save.id ORDER BY save.saved DESC, save.id
                """)
    }

    /// The game for people.
    var line: String { printable("\(id)  \(title): \(state)") + (best.map { ", best \($0)" } ?? "") }
}
