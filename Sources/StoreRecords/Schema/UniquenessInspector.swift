internal import GRDB
internal import StoreFormat

/// Reads the uniqueness rules of a table: its UNIQUE constraints and indexes, and the app's declarations.
struct UniquenessInspector {
    private let db: Database
    private let table: SyncedTable
    private let shape: TableShape
    private(set) var violations: [String] = []
    private var uniques: [TableShape.Unique] = []

    init(_ table: SyncedTable, _ shape: TableShape, _ db: Database) {
        self.table = table
        self.shape = shape
        self.db = db
    }

    /// Returns the rules; ``violations`` lists their faults.
    mutating func rules() throws -> [TableShape.Unique] {
        var found: [Set<String>] = []
        for index in try Row.fetchAll(db, sql: "SELECT * FROM pragma_index_list(?)", arguments: [table.name])
        where index["unique"] == 1 && index["origin"] != "pk" {
            var unique = try read(index["name"])
            let names = Set(unique.terms.map { Self.plain($0.name) })
            found.append(names)
            let isIdentity = table.unique.contains { Set($0.map(Self.plain)) == names }
            let exclusive = table.exclusive.first { Set($0.columns.map(Self.plain)) == names }
            if let exclusive {
                if isIdentity {
                    violations.append(
                        "The rule (\(Self.list(exclusive.columns))) of “\(table.name)” is declared as unique and as exclusive: keep one.")
                }
                unique.exclusion = exclusion(exclusive)
            } else if !isIdentity, !isOfKey(unique) {
                violations.append(Self.choice(unique, table.name))
            }
            if !uniques.contains(unique) { uniques.append(unique) }
        }
        for rule in table.unique where !found.contains(Set(rule.map(Self.plain))) { declare(rule, nil) }
        for rule in table.exclusive where !found.contains(Set(rule.columns.map(Self.plain))) { declare(rule.columns, exclusion(rule)) }
        if uniques.contains(where: \.isEnforced) { try checkConflictClauses() }
        for (number, unique) in uniques.enumerated() where unique.exclusion != nil { checkExclusive(unique, number) }
        return uniques
    }

    /// Returns a name or an expression in a form that is equal for equal declarations.
    private static func plain(_ text: String) -> String { String(text.lowercased().filter { !$0.isWhitespace }) }

    private static func list(_ names: [String]) -> String { names.joined(separator: ", ") }

    private static func choice(_ unique: TableShape.Unique, _ table: String) -> String {
        let names = unique.terms.map(\.name)
        let declared = names.map { "\"\($0.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\"" }
        return """
            The UNIQUE rule (\(list(names))) of “\(table)” does not say what two records with equal values are: declare unique: [[\(list(declared))]] in \
            SyncedTable("\(table)") where they are one thing, and become one record, or exclusive: [[\(list(declared))]] where both stay, and the one that was written \
            earlier shows another value.
            """
    }

    /// Returns whether a rule contains the whole key, so that no two records can have equal values.
    private func isOfKey(_ unique: TableShape.Unique) -> Bool {
        shape.keyColumns.indices.allSatisfy { place in unique.terms.contains { $0.place == .key(place) && $0.collation.uppercased() == "BINARY" } }
    }

    private mutating func read(_ index: String) throws -> TableShape.Unique {
        let definition = try String.fetchOne(db, sql: "SELECT sql FROM sqlite_master WHERE type = 'index' AND name = ?", arguments: [index])
            .flatMap(IndexDefinition.init)
        let terms = try Row.fetchAll(db, sql: "SELECT * FROM pragma_index_xinfo(?) WHERE key = 1 ORDER BY seqno", arguments: [index])
        var unique = TableShape.Unique(terms: [], condition: definition?.condition)
        for (place, term) in terms.enumerated() {
            if let column: String = term["name"] {
                if table.excluded.contains(column) {
                    violations.append(
                        "Column “\(column)” of “\(table.name)” is excluded and UNIQUE: an excluded column cannot make two records one.")
                }
                unique.terms.append(self.term(column, collation: term["coll"]))
            } else if let definition, place < definition.terms.count {
                unique.terms.append(.init(sql: definition.terms[place], collation: term["coll"], isColumn: false))
            }
        }
        return unique
    }

    private func term(_ column: String, collation: String = "BINARY") -> TableShape.Unique.Term {
        var term = TableShape.Unique.Term(sql: column.quotedIdentifier, collation: collation, name: column)
        let name = column.lowercased()
        if let place = shape.keyColumns.firstIndex(where: { $0.lowercased() == name }) {
            term.place = .key(place)
        } else if let number = shape.columns.firstIndex(where: { $0.lowercased() == name }) {
            term.place = .value(number)
        }
        return term
    }

    /// Adds a rule without an index.
    private mutating func declare(_ columns: [String], _ exclusion: TableShape.Unique.Exclusion?) {
        if columns.isEmpty { violations.append("A uniqueness rule of “\(table.name)” names no column.") }
        let terms = columns.map { term($0) }
        for term in terms where term.place == nil {
            violations.append("Column “\(term.name)” of “\(table.name)” has a uniqueness rule and does not sync, or does not exist.")
        }
        var unique = TableShape.Unique(terms: terms, isEnforced: false)
        unique.exclusion = exclusion
        uniques.append(unique)
    }

    /// Rejects conflict clauses of constraints.
    ///
    /// A constraint with REPLACE would delete rows during an import if an app trigger determines the conflict
    /// algorithm.
    private mutating func checkConflictClauses() throws {
        let sql = try String.fetchOne(db, sql: "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", arguments: [table.name]) ?? ""
        if sql.uppercased().split(whereSeparator: \.isWhitespace).joined(separator: " ").contains("ON CONFLICT") {
            violations.append(
                "Table “\(table.name)” has an ON CONFLICT clause beside a UNIQUE rule: write it in the statement instead, as INSERT OR REPLACE.")
        }
    }
}

// MARK: Exclusive rules

extension UniquenessInspector {
    /// Returns the column that is moved and its replacement, or nil after adding a violation.
    private mutating func exclusion(_ rule: SyncedTable.Exclusive) -> TableShape.Unique.Exclusion? {
        let what = "The column “\(rule.moved)” that the exclusive rule (\(Self.list(rule.columns))) of “\(table.name)” moves"
        guard let column = shape.columns.firstIndex(where: { $0.lowercased() == rule.moved.lowercased() }) else {
            violations.append("\(what) is in the primary key, does not sync, or does not exist: name another with `moving:`.")
            return nil
        }
        let takesNull = !shape.notNull.contains(ColumnSet(column: column))
        let move: TableShape.Unique.Exclusion.Move =
            switch rule.move {
            case .null: .null
            case .nextFree: .nextFree
            case .chosen: .chosen
            }
        if move == .null, !takesNull {
            violations.append("\(what) to NULL is NOT NULL: let it take NULL, or declare .init([…], to: .nextFree), or to: .chosen { … }.")
        }
        return TableShape.Unique.Exclusion(column: column, move: move, affinity: affinity(of: shape.columns[column]), takesNull: takesNull)
    }

    private func affinity(of column: String) -> ColumnAffinity {
        let type = try? String.fetchOne(db, sql: "SELECT type FROM pragma_table_xinfo(?) WHERE name = ?", arguments: [table.name, column])
        return ColumnAffinity(type ?? "")
    }

    private func mentions(_ sql: String, _ column: String) -> Bool {
        SQLToken.all(in: sql).contains { $0.identifier == column.lowercased() }
    }

    /// Checks that the rows depend on this rule alone, and are equal on each device.
    private mutating func checkExclusive(_ unique: TableShape.Unique, _ number: Int) {
        guard let exclusion = unique.exclusion else { return }
        let moved = shape.columns[exclusion.column]
        let what = "The exclusive rule (\(Self.list(unique.terms.map(\.name)))) of “\(table.name)”"
        func uses(_ term: TableShape.Unique.Term) -> Bool { term.place == .value(exclusion.column) || term.place == nil && mentions(term.sql, moved) }
        if !unique.terms.contains(where: uses) { violations.append("\(what) moves “\(moved)”, which is no column of it: name one of its columns.") }
        for (other, rule) in uniques.enumerated() where other != number && rule != unique {
            if rule.terms.contains(where: uses) || rule.condition.map({ mentions($0, moved) }) == true {
                violations.append(
                    "\(what) moves “\(moved)”, which the rule (\(Self.list(rule.terms.map(\.name)))) compares too: move another column, with `moving:`."
                )
            }
        }
        if shape.rules.groups.contains(where: { $0.contains(ColumnSet(column: exclusion.column)) }) {
            violations.append("\(what) moves “\(moved)”, which is one value with other columns: move another column, with `moving:`.")
        }
        for term in unique.terms where !["BINARY", "NOCASE", "RTRIM"].contains(term.collation.uppercased()) {
            violations.append("\(what) compares “\(term.name)” by the collation \(term.collation): use BINARY, NOCASE or RTRIM.")
        }
        let record = (shape.keyColumns + shape.columns).map { "NULL AS \($0.quotedIdentifier)" }.joined(separator: ", ")
        for part in unique.terms.filter({ $0.place == nil }).map(\.sql) + [unique.condition].compactMap({ $0 })
        where (try? db.makeStatement(sql: "SELECT \(part) FROM (SELECT \(record))")) == nil {
            violations.append("\(what) reads “\(part)”, which is computed, or stays on the device: compare columns that sync.")
        }
    }
}
