internal import GRDB
internal import StoreFormat

/// Lists what a store with a scope cannot take: tables that do not say who may change their rows, and rules by which
/// one account would change another's rows.
struct AccessInspector {
    private let schema: SyncedSchema
    private let db: Database
    private var found: [String] = []

    init(_ schema: SyncedSchema, _ db: Database) {
        self.schema = schema
        self.db = db
    }

    /// Returns the faults of the tables, with the remedies.
    ///
    /// - Parameters:
    ///   - shapes: the synced tables, with their relations and uniqueness rules.
    ///   - triggers: the app's triggers.
    /// - Returns: one sentence or more for each fault.
    /// - Throws: GRDB's errors.
    func violations(of shapes: [TableShape], _ triggers: [AppTrigger]) throws -> [String] {
        var inspector = self
        guard schema.hasScope else {
            inspector.checkAbsence()
            return inspector.found
        }
        for shape in shapes {
            inspector.checkDeclaration(shape)
            if shape.isRowidKey { inspector.refuseCountedKey(shape) }
            guard case .creator(let column) = shape.access else { continue }
            guard let place = shape.ownerPlace else {
                try inspector.refuseCreator(column, shape)
                continue
            }
            try inspector.checkCreator(column, place, shape)
        }
        for trigger in triggers { inspector.checkTrigger(trigger, shapes) }
        return inspector.found
    }

    private mutating func checkAbsence() {
        for table in schema.tables where table.access != nil {
            found.append(
                "Table “\(table.name)” declares `access:`, but this store has no scope, so every device of its one account writes all rows: open it with options.scope, or take `access:` away."
            )
        }
    }

    private mutating func checkDeclaration(_ shape: TableShape) {
        switch shape.access {
        case nil:
            found.append(
                "Table “\(shape.name)” does not declare who may change its rows, which many accounts read in a store with a scope: declare access: .creator(\"…\") with the column of its primary key that holds the account, or access: .role(\"…\")."
            )
        case .role(let role):
            if role.isEmpty || role.unicodeScalars.contains(where: { $0.value < 32 || $0.value == 127 }) {
                found.append("The role of “\(shape.name)” is empty or holds a control character: give it a name that people can read.")
            }
        case .creator: break
        }
    }

    // MARK: Rows of an account

    private mutating func refuseCountedKey(_ shape: TableShape) {
        found.append(
            "The key “\(shape.keyColumns[0])” of “\(shape.name)” is an INTEGER PRIMARY KEY, which accounts without knowledge of each other would count up alike: use a UUID, also with assignsIntegerKeys."
        )
    }

    /// Refuses a column that is not in the primary key.
    private mutating func refuseCreator(_ column: String, _ shape: TableShape) throws {
        let exists = try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM pragma_table_xinfo(?) WHERE name = ?)", arguments: [shape.name, column])!
        let rest = shape.keyColumns.joined(separator: ", ")
        found.append(
            exists
                ? "Column “\(column)” of “\(shape.name)” names the creator and is not in the primary key, so two accounts that choose one key would write one record: declare PRIMARY KEY (\(column), \(rest))."
                : "Column “\(column)” of “\(shape.name)” is declared as the creator and does not exist: spell it as in the migrator.")
    }

    private mutating func checkCreator(_ column: String, _ place: Int, _ shape: TableShape) throws {
        let type = try String.fetchOne(db, sql: "SELECT type FROM pragma_table_xinfo(?) WHERE name = ?", arguments: [shape.name, column]) ?? ""
        if ColumnAffinity(type) != .text {
            found.append("Column “\(column)” of “\(shape.name)” names the creator and has the type \(type): an account's identifier is TEXT.")
        }
        if place > 0, try !CreatorIndex(table: shape.name, creator: column).exists(db) {
            let rest = shape.keyColumns.filter { $0 != column }.joined(separator: ", ")
            found.append(
                "No index of “\(shape.name)” begins with the creator “\(column)”, by which an account's records are found: declare PRIMARY KEY (\(column), \(rest)), or let a migration call createMissingIndexes(_:) of the SyncedTable, which does CREATE INDEX … ON \(shape.name) (\(column))."
            )
        }
        for unique in shape.uniques
        where !unique.terms.contains(where: { $0.isColumn && $0.place == .key(place) && $0.collation.uppercased() == "BINARY" }) {
            let names = unique.terms.map(\.name).joined(separator: ", ")
            found.append(
                "The uniqueness rule (\(names)) of “\(shape.name)” does not contain the creator “\(column)” as it is, so that a record of one account could replace or change that of another: write (\(column), \(names))."
            )
        }
    }

    // MARK: Triggers of the app

    /// Refuses a trigger that writes rows of another kind than the table that it belongs to, or the rights themselves.
    ///
    /// Within contributed tables, only the values tell whose rows a trigger writes: the guard triggers see these.
    private mutating func checkTrigger(_ trigger: AppTrigger, _ shapes: [TableShape]) {
        let what = "Trigger “\(trigger.name)”"
        for table in trigger.written.sorted() where table.hasPrefix("ubiquity_") && table != StoreMetadata.table {
            found.append("\(what) writes “\(table)”, by which a store with a scope decides who may write: remove that.")
        }
        guard let own = shapes.first(where: { $0.name.lowercased() == trigger.table }) else { return }
        for table in shapes where trigger.written.contains(table.name.lowercased()) {
            switch (own.access, table.access) {
            case (.creator, .role(let role)):
                found.append(
                    "\(what) belongs to “\(own.name)”, which each account writes, and writes “\(table.name)”, which only the role “\(role)” may: no other account could write “\(own.name)”. Compute the value in a query, or in a table that does not sync."
                )
            case (.role, .creator):
                found.append(
                    "\(what) belongs to “\(own.name)”, which a role writes, and writes “\(table.name)”, whose rows belong to accounts: compute the value in a query, or in a table that does not sync."
                )
            default: break
            }
        }
    }
}
