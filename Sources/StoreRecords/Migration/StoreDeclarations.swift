internal import GRDB

/// What the app said of its tables when the store was opened last and no column tells: the uniqueness rules, and what is derived.
///
/// Where it says something else, what the store had made of it is brought up to date, in the transaction of the opening.
enum StoreDeclarations {
    static let statement = """
        CREATE TABLE IF NOT EXISTS ubiquity_declaration (kind TEXT NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (kind, name)) \
        WITHOUT ROWID
        """

    private enum Kind: String {
        /// How many records may hold the same values: of a synced table.
        case uniqueness
        /// What triggers compute a table from.
        case derived
    }

    private struct Subject: Hashable {
        var kind: String
        var name: String
    }

    /// Whether all is as it was; it only reads.
    static func areCurrent(_ shapes: [TableShape], _ db: Database) throws -> Bool { try known(db) == current(shapes, db) }

    private static func known(_ db: Database) throws -> [Subject: String] {
        guard try db.tableExists("ubiquity_declaration") else { return [:] }
        return try Row.fetchAll(db, sql: "SELECT kind, name, text FROM ubiquity_declaration").reduce(into: [:]) {
            $0[Subject(kind: $1["kind"], name: $1["name"])] = $1["text"]
        }
    }

    private static func current(_ shapes: [TableShape], _ db: Database) throws -> [Subject: String] {
        var texts: [Subject: String] = [:]
        for shape in shapes where !shape.uniques.isEmpty {
            texts[Subject(kind: Kind.uniqueness.rawValue, name: shape.name)] = shape.uniques.map(\.declaration).joined(separator: "\n")
        }
        let derived = derivedTables(shapes)
        guard !derived.isEmpty else { return texts }
        let triggers = try AppTrigger.all(db)
        for name in derived {
            let sources = shapes.filter { $0.derived.contains { $0.lowercased() == name } }
            let own = triggers.filter { trigger in
                trigger.written.contains(name) && sources.contains { $0.name.lowercased() == trigger.table }
            }
            let definition = try String.fetchOne(
                db, sql: "SELECT sql FROM main.sqlite_master WHERE type = 'table' AND lower(name) = ?", arguments: [name])
            texts[Subject(kind: Kind.derived.rawValue, name: name)] = ([definition ?? ""] + own.map(\.sql).sorted()).joined(separator: "\n")
        }
        return texts
    }

    /// The derived tables, each once, in lower case.
    private static func derivedTables(_ shapes: [TableShape]) -> [String] { Set(shapes.flatMap(\.derived).map { $0.lowercased() }).sorted() }

    /// Brings up to date what has been declared otherwise, and notes it.
    ///
    /// - Parameters:
    ///   - shapes: the synced tables, with their numbers.
    ///   - mayHaveMissed: whether rows have changed of which triggers were not told, as in a migration.
    ///   - db: in a transaction.
    /// - Throws: GRDB's errors.
    static func apply(_ shapes: [TableShape], mayHaveMissed: Bool, _ db: Database) throws {
        let (known, current) = (try known(db), try current(shapes, db))
        try db.execute(sql: statement)
        func isNew(_ kind: Kind, _ name: String) -> Bool {
            let subject = Subject(kind: kind.rawValue, name: name)
            return known[subject] != current[subject]
        }
        for shape in shapes where isNew(.uniqueness, shape.name) { try RelationTables(shape: shape).applyRules(db) }
        for shape in shapes where shape.derived.contains(where: { isNew(.derived, $0.lowercased()) }) { try CaptureTriggers(shape).install(db) }
        for name in derivedTables(shapes) where mayHaveMissed || isNew(.derived, name) { try DerivedTable(name, db)?.fill(from: shapes) }
        guard known != current else { return }
        try db.execute(sql: "DELETE FROM ubiquity_declaration")
        for (subject, text) in current {
            try db.execute(sql: "INSERT INTO ubiquity_declaration VALUES (?, ?, ?)", arguments: [subject.kind, subject.name, text])
        }
    }

    /// Fills every derived table again.
    static func fillDerived(from shapes: [TableShape], _ db: Database) throws {
        for name in derivedTables(shapes) { try DerivedTable(name, db)?.fill(from: shapes) }
    }
}
