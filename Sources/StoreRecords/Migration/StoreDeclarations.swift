internal import GRDB

/// The app's declarations at the last opening that no column shows: uniqueness rules, rules of merging, and the tables that
/// are derived or local.
///
/// If the app's declarations have changed, the opening's transaction updates what the store derived from them.
enum StoreDeclarations {
    static let statement = """
        CREATE TABLE IF NOT EXISTS ubiquity_declaration (kind TEXT NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (kind, name)) \
        WITHOUT ROWID
        """

    private enum Kind: String {
        /// How many records of a synced table may hold equal values.
        case uniqueness
        /// The sources from which triggers compute a table.
        case derived
        /// A table that stays on the device; the text is empty.
        case local
    }

    private struct Subject: Hashable {
        var kind: String
        var name: String
    }

    /// Returns whether all declarations are unchanged; it only reads.
    static func areCurrent(_ shapes: [TableShape], local: Set<String>, _ db: Database) throws -> Bool {
        try known(db) == current(shapes, local: local, db)
    }

    /// Returns the names of the tables that the app declared as derived or local at the last opening.
    static func unsynced(_ db: Database) throws -> [String] {
        try known(db).keys.filter { [Kind.derived.rawValue, Kind.local.rawValue].contains($0.kind) }.map(\.name)
    }

    private static func known(_ db: Database) throws -> [Subject: String] {
        guard try db.tableExists("ubiquity_declaration", in: "main") else { return [:] }
        return try Row.fetchAll(db, sql: "SELECT kind, name, text FROM ubiquity_declaration").reduce(into: [:]) {
            $0[Subject(kind: $1["kind"], name: $1["name"])] = $1["text"]
        }
    }

    private static func current(_ shapes: [TableShape], local: Set<String>, _ db: Database) throws -> [Subject: String] {
        var texts: [Subject: String] = [:]
        for shape in shapes where !shape.uniques.isEmpty {
            texts[Subject(kind: Kind.uniqueness.rawValue, name: shape.name)] = shape.uniques.map(\.declaration).joined(separator: "\n")
        }
        for shape in shapes {
            texts[Subject(kind: MergeDeclaration.kind, name: shape.name)] = try MergeDeclaration(shape).text
            texts[Subject(kind: AccessDeclaration.kind, name: shape.name)] = shape.access.map(AccessDeclaration.text)
        }
        for name in local { texts[Subject(kind: Kind.local.rawValue, name: name)] = "" }
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

    /// Returns the derived tables in lower case, without duplicates.
    private static func derivedTables(_ shapes: [TableShape]) -> [String] { Set(shapes.flatMap(\.derived).map { $0.lowercased() }).sorted() }

    /// Applies changed declarations, and stores them.
    ///
    /// - Parameters:
    ///   - shapes: the synced tables, with their numbers.
    ///   - local: the tables that stay on the device.
    ///   - mayHaveMissed: whether rows have changed without triggers, as in a migration.
    ///   - db: in a transaction.
    /// - Throws: GRDB's errors.
    static func apply(_ shapes: [TableShape], local: Set<String>, mayHaveMissed: Bool, _ db: Database) throws {
        let (known, current) = (try known(db), try current(shapes, local: local, db))
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
