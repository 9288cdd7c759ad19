package import GRDB
package import StoreFormat

/// A part of a store's records that is written or built again as a whole: a domain, or a part of a table.
package protocol RecordPart: Sendable {
    /// The tables with records of the part.
    var shapes: [TableShape] { get }

    /// Returns whether a record belongs to the part.
    func contains(_ key: [RecordValue], in shape: TableShape) -> Bool

    /// The condition of the part's rows in a table of the app, without the table's name; nil if all rows are the part's.
    func rowCondition(in shape: TableShape) -> String?

    /// The condition of the part's records in this package's tables with the key of a table; nil if all are the part's.
    func ownKeyCondition(in shape: TableShape) -> String?
}

/// The records of a table, or those of the accounts whose identifiers begin with a digit.
package struct TablePart: RecordPart {
    package let shape: TableShape
    /// The first digit of the accounts; empty for all.
    package let digit: String
    private let all: [TableShape]

    package init(_ shape: TableShape, digit: String, among all: [TableShape]) { (self.shape, self.digit, self.all) = (shape, digit, all) }

    package var shapes: [TableShape] { [shape] }

    package func contains(_ key: [RecordValue], in shape: TableShape) -> Bool {
        guard shape.name == self.shape.name else { return false }
        guard !digit.isEmpty, let place = shape.ownerPlace, key.indices.contains(place) else { return digit.isEmpty }
        guard case .text(let account) = key[place] else { return false }
        return account.first == digit.utf8.first
    }

    package func rowCondition(in shape: TableShape) -> String? {
        shape.ownerPlace.flatMap { place in accounts.map { "\(shape.keyColumns[place].quotedIdentifier) \($0)" } }
    }

    package func ownKeyCondition(in shape: TableShape) -> String? { shape.ownerPlace.flatMap { place in accounts.map { "k\(place) \($0)" } } }

    /// The condition of the part's accounts, without the name of a column; nil for all.
    ///
    /// All digits of base 32 come before the tilde.
    var accounts: String? { digit.isEmpty ? nil : "BETWEEN '\(digit)' AND '\(digit)~'" }

    /// Deletes the part's records with their clocks, and marks the records that may refer to them.
    ///
    /// What is known of deaths stays: it is true of whatever replaces the records.
    ///
    /// - Parameter db: the store in an import's transaction, with foreign keys off, and all changes sealed.
    /// - Throws: GRDB's errors.
    package func clear(_ db: Database) throws {
        try Capture.suspended(db) {
            let table = "main.\(shape.name.quotedIdentifier)"
            let rows = rowCondition(in: shape).map { " WHERE \($0)" } ?? ""
            let keys = ownKeyCondition(in: shape).map { " WHERE \($0)" } ?? ""
            let clocks = keys.isEmpty || !shape.hasRowid ? keys : " WHERE rid IN (SELECT rowid FROM \(table)\(rows))"
            let same = keys.isEmpty ? "" : " WHERE a\(shape.ownerPlace!) \(accounts!)"
            try db.execute(sql: "DELETE FROM main.\(shape.clockTable)\(clocks)")
            for other in [shape.unresolvedTable, shape.asideTable] + (shape.exclusives.isEmpty ? [] : [shape.movedTable]) {
                try db.execute(sql: "DELETE FROM main.\(other)\(keys)")
            }
            try db.execute(sql: "DELETE FROM main.\(shape.sameTable)\(same); DELETE FROM \(table)\(rows)")
            try RecordLimit.forget([shape], accounts: accounts, db)
            // Without the decisions, what they hide is shown.
            if shape.isCurated { try Overlay.markHeld(all, db) }
            for child in all where child.foreignKeys.contains(where: { all[$0.parent].name == shape.name }) {
                let keys = child.keyColumns.map(\.quotedIdentifier).joined(separator: ", ")
                try db.execute(sql: "INSERT OR IGNORE INTO \(child.unresolvedTable) SELECT \(keys) FROM \(child.name.quotedIdentifier)")
            }
        }
    }

    /// Returns the deaths of the part's records.
    ///
    /// - Parameter db: the store.
    /// - Returns: the deaths.
    /// - Throws: GRDB's errors.
    package func deaths(_ db: Database) throws -> DeathList {
        var list = DeathList()
        let keys = shape.keyColumns.count
        let rows = try RawStatement("SELECT * FROM main.\(shape.deadTable) WHERE \(ownKeyCondition(in: shape) ?? "1")", db)
        defer { rows.reset() }
        while try rows.step() { list.lives[.init(of: (0..<keys).map { rows.value($0) })] = rows.integer(keys) }
        return list
    }

    /// Returns the greatest stamp of the part's records that a condition on the owner selects.
    ///
    /// - Parameters:
    ///   - owner: the account; nil for all.
    ///   - db: the store.
    /// - Returns: the stamp's time; the least for no record.
    /// - Throws: GRDB's errors.
    package func latest(of owner: String?, _ db: Database) throws -> HybridTime {
        guard owner == nil || shape.ownerPlace != nil else { return .least }
        var condition = "1"
        if let owner {
            let place = shape.ownerPlace!
            let isOwn = "\(shape.keyColumns[place].quotedIdentifier) = '\(owner)'"
            condition =
                shape.hasRowid ? "rid IN (SELECT rowid FROM main.\(shape.name.quotedIdentifier) WHERE \(isOwn))" : "k\(place) = '\(owner)'"
        }
        var latest = HybridTime.least
        let rows = try RawStatement("SELECT life, time, peer, columns, others FROM main.\(shape.clockTable) WHERE \(condition)", db)
        defer { rows.reset() }
        while try rows.step() {
            let clock = try ClockTable.clock(rows, from: 0)
            latest = clock.others.reduce(max(latest, clock.stamp.time)) { max($0, $1.stamp.time) }
        }
        return latest
    }
}
