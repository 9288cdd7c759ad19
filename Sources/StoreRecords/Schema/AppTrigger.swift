internal import GRDB

/// A trigger of the app, from its text.
struct AppTrigger {
    enum Event: String { case insert, update, delete }

    var name: String
    /// The table that the trigger belongs to, in lower case.
    var table: String
    var event: Event
    /// Whether it reads `ubiquity_import`, so that it can skip the writes of an import.
    var isGuarded: Bool
    /// The tables that its statements write, in lower case.
    var written: Set<String> = []
    /// The actions of its RAISE calls, in lower case.
    var raised: Set<String> = []
    /// The text after the name of its table.
    var rest: Substring
    /// The statement that creates it.
    var sql: String

    /// Returns the triggers of a database without those of this package, in the order of their creation.
    static func all(_ db: Database) throws -> [AppTrigger] {
        try Row.fetchAll(
            db,
            sql:
                "SELECT name, tbl_name, sql FROM main.sqlite_master WHERE type = 'trigger' AND name NOT LIKE 'ubiquity\\_%' ESCAPE '\\' ORDER BY rowid"
        ).compactMap { AppTrigger(name: $0["name"], table: $0["tbl_name"], sql: $0["sql"]) }
    }

    /// Parses a statement; nil if it does not create a trigger.
    init?(name: String, table: String, sql: String) {
        (self.name, self.table, self.sql) = (name, table.lowercased(), sql)
        isGuarded = sql.lowercased().contains("ubiquity_import")
        var tokens: [SQLToken] = []
        var ends: [String.Index] = []
        SQLToken.forEach(in: sql) { token, end in
            tokens.append(token)
            ends.append(end)
        }
        // CREATE TRIGGER name [BEFORE | AFTER | INSTEAD OF] event [OF columns] ON table …
        guard tokens.count > 3, let begin = tokens.firstIndex(where: { $0.isWord("begin") }),
            let event = tokens[3..<begin].lazy.compactMap({ Self.event($0) }).first,
            let on = tokens[3..<begin].firstIndex(where: { $0.isWord("on") }), on + 1 < begin
        else { return nil }
        self.event = event
        // The table's name can follow the name of its database.
        rest = sql[ends[tokens[on + 2] == .symbol(".") ? on + 3 : on + 1]...]
        readBody(tokens[(begin + 1)...])
    }

    private static func event(_ token: SQLToken) -> Event? {
        guard case .word(let word) = token else { return nil }
        return Event(rawValue: word.lowercased())
    }

    private mutating func readBody(_ body: ArraySlice<SQLToken>) {
        for (index, token) in zip(body.indices, body) {
            var next = index + 1
            func follows(_ words: String...) -> Bool {
                guard next < body.endIndex, words.contains(where: { body[next].isWord($0) }) else { return false }
                next += 1
                return true
            }
            if token.isWord("raise") {
                guard next + 1 < body.endIndex, body[next] == .symbol("("), let action = body[next + 1].identifier else { continue }
                raised.insert(action)
                continue
            }
            if token.isWord("update") {
                if follows("or") { next += 1 }
                // ON CONFLICT … DO UPDATE SET names no table.
                if follows("set") { continue }
            } else if token.isWord("delete") {
                guard follows("from") else { continue }
            } else if !token.isWord("into") {
                continue
            }
            if next < body.endIndex, let table = body[next].identifier { written.insert(table) }
        }
    }
}
