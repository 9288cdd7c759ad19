import GRDB
import Testing
import UbiquityStores
import UbiquityTesting

/// Random schemas with random rows: after the conversion, every reference names the row that it named before.
struct StableKeysRandomTests {
    /// A table, and how its statement is written.
    private struct Table {
        var name: String
        var key: String
        var references: [(column: String, parent: Int)] = []
        var hasRowid = true
    }

    private static let names = ["plain", "Order Details", "select", "a\"b", "Übung", "x]y", "group", "`tick`"]

    /// Writes a name in one of SQLite's quotes.
    private static func written(_ name: String, _ random: inout SeededRandom) -> String {
        let isWord = name.allSatisfy { $0.isLetter } && !["select", "group"].contains(name)
        switch Int.random(in: 0..<4, using: &random) {
        case 0 where isWord: return Bool.random(using: &random) ? name : name.uppercased().lowercased() == name ? name.uppercased() : name
        case 1 where !name.contains("]"): return "[\(name)]"
        case 2: return "`\(name.replacing("`", with: "``"))`"
        default: return quoted(name)
        }
    }

    private static func tables(_ random: inout SeededRandom) -> [Table] {
        let chosen = names.shuffled(using: &random).prefix(.random(in: 1...6, using: &random))
        // A column with the name of another table's key would look like a reference to it.
        var tables = chosen.enumerated().map { Table(name: $1, key: "nr \($0)") }
        for place in tables.indices {
            let count = Int.random(in: 0...3, using: &random)
            for number in 0..<count { tables[place].references.append(("ref, \(number)", .random(in: tables.indices, using: &random))) }
        }
        return tables
    }

    private static func statement(_ table: inout Table, _ tables: [Table], _ random: inout SeededRandom) -> String {
        var items: [String] = []
        var constraints: [String] = []
        let key = written(table.key, &random)
        let kind = Int.random(in: 0..<5, using: &random)
        switch kind {
        case 0: items.append("\(key) INTEGER PRIMARY KEY AUTOINCREMENT")
        case 1: items.append("\(key) INTEGER NOT NULL CONSTRAINT \"the key\" PRIMARY KEY")
        case 2:
            items.append("\(key) integer /* PRIMARY KEY, ( */")
            constraints.append("PRIMARY KEY (\(key)\(Bool.random(using: &random) ? " AUTOINCREMENT" : ""))")
        case 3: items.append("\(key) INT NOT NULL PRIMARY KEY")
        default: items.append("\(key) INTEGER PRIMARY KEY")
        }
        for (column, parent) in table.references {
            let target =
                "REFERENCES \(written(tables[parent].name, &random))"
                + (Bool.random(using: &random) ? "" : " (\(written(tables[parent].key, &random)))")
                + ["", " ON DELETE CASCADE", " ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED"].randomElement(using: &random)!
            let type = ["INTEGER", "", "BIGINT (20)", "INT -- REFERENCES nothing\n"].randomElement(using: &random)!
            let name = written(column, &random)
            if Bool.random(using: &random) {
                items.append("\(name) \(type) DEFAULT NULL \(target)")
            } else {
                items.append("\(name) \(type)")
                constraints.append("FOREIGN KEY (\(name)) \(target)")
            }
        }
        items.insert("label TEXT DEFAULT 'a, (b' NOT NULL UNIQUE", at: .random(in: 0...items.count, using: &random))
        table.hasRowid = kind < 3 || Bool.random(using: &random)
        let rest = table.hasRowid ? "" : " WITHOUT ROWID"
        return "CREATE TABLE \(written(table.name, &random)) (\((items + constraints).joined(separator: ", ")))\(rest);"
    }

    /// Fills tables with rows that refer to rows which can come later.
    private static func fill(_ tables: [Table], _ db: Database, _ random: inout SeededRandom) throws {
        let keys = tables.map { _ in
            Array(Set((0..<Int.random(in: 0...25, using: &random)).map { _ in Int.random(in: -40...400, using: &random) })).sorted()
        }
        for (place, table) in tables.enumerated() {
            for key in keys[place].shuffled(using: &random) {
                let references = table.references.map {
                    Int.random(in: 0..<4, using: &random) == 0 ? nil : keys[$0.parent].randomElement(using: &random)
                }
                let columns = [table.key, "label"] + table.references.map(\.column)
                try db.execute(
                    sql:
                        "INSERT INTO \(quoted(table.name)) (\(columns.map(quoted).joined(separator: ", "))) VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))",
                    arguments: StatementArguments([key, "\(place)-\(key)"] + references))
            }
        }
    }

    /// Returns each row's label and rowid, with the labels of the rows that it refers to.
    private static func meaning(_ tables: [Table], _ db: Database) throws -> [[String]] {
        try tables.map { table in
            let references = table.references.map { reference in
                let parent = tables[reference.parent]
                return ", (SELECT label FROM \(quoted(parent.name)) AS p WHERE p.\(quoted(parent.key)) = own.\(quoted(reference.column)))"
            }
            return try lines(
                db, "SELECT label\(table.hasRowid ? ", rowid" : "")\(references.joined()) FROM \(quoted(table.name)) AS own ORDER BY label")
        }
    }

    @Test("every reference of a random schema names the row that it named before", arguments: 0..<60 as Range<UInt64>)
    func references(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var tables = Self.tables(&random)
        var statements: [String] = []
        for place in tables.indices { statements.append(Self.statement(&tables[place], tables, &random)) }
        let sql = statements.joined(separator: "\n")
        let queue = try keyedDatabase(sql)
        try queue.writeWithoutTransaction { db throws in
            try db.execute(sql: "PRAGMA foreign_keys = OFF")
            try Self.fill(tables, db, &random)
            try db.execute(sql: "PRAGMA foreign_keys = ON")
        }
        let before = try queue.read { db in try Self.meaning(tables, db) }
        let listed = tables.shuffled(using: &random).prefix(.random(in: 1...tables.count, using: &random)).map(\.name)
        try StableKeys(for: listed).migrate(queue)
        try queue.read { db throws in
            #expect(try Self.meaning(tables, db) == before, "seed \(seed):\n\(sql)")
            #expect(try lines(db, "PRAGMA foreign_key_check").isEmpty, "seed \(seed):\n\(sql)")
            #expect(try lines(db, "PRAGMA integrity_check") == ["\"ok\""], "seed \(seed):\n\(sql)")
            for table in tables {
                let types = try lines(db, "SELECT DISTINCT typeof(\(quoted(table.key))) FROM \(quoted(table.name))")
                #expect(types.isEmpty || types == [listed.contains(table.name) ? "\"text\"" : "\"integer\""], "seed \(seed):\n\(sql)")
            }
        }
    }
}
