internal import Foundation
package import GRDB
package import StoreFormat

/// The records of a domain in a store: all records of the tables that role holders write, or one account's records in
/// the tables to which accounts contribute.
package struct DomainRows: RecordPart {
    package let domain: Domain
    /// The tables of the domain.
    package let shapes: [TableShape]
    private let all: [TableShape]

    package init(_ domain: Domain, _ shapes: [TableShape]) {
        self.domain = domain
        all = shapes
        self.shapes = shapes.filter { shape in domain == .roles ? shape.isCurated : shape.ownerPlace != nil }
    }

    /// Returns whether a record belongs to the domain.
    package func contains(_ key: [RecordValue], in shape: TableShape) -> Bool {
        switch domain {
        case .roles: return shape.isCurated
        case .slice(let account):
            guard let place = shape.ownerPlace, key.indices.contains(place) else { return false }
            return key[place] == WriteRights.value(of: account)
        }
    }

    /// Deletes the domain's records with their clocks, and marks the records that may refer to them.
    ///
    /// - Parameter db: the store in an import's transaction, with foreign keys off, and all changes sealed.
    /// - Throws: GRDB's errors.
    package func clear(_ db: Database) throws {
        try Capture.suspended(db) {
            for shape in shapes {
                for statement in statements(clearing: shape) {
                    try db.execute(sql: statement, arguments: statement.contains("?") ? [owner] : [])
                }
            }
            try RecordLimit.forget(shapes, accounts: owner.map { "= '\($0)'" }, db)
            // Without the decisions, what they hide is shown.
            if domain == .roles { try Overlay.markHeld(all, db) }
            let cleared = Set(shapes.map(\.name))
            for shape in all where shape.foreignKeys.contains(where: { cleared.contains(all[$0.parent].name) }) {
                let keys = shape.keyColumns.map(\.quotedIdentifier).joined(separator: ", ")
                try db.execute(sql: "INSERT OR IGNORE INTO \(shape.unresolvedTable) SELECT \(keys) FROM \(shape.name.quotedIdentifier)")
            }
        }
    }

    /// The condition of the domain's rows in a table of the app, without the table's name; nil if all rows are the domain's.
    package func rowCondition(in shape: TableShape) -> String? {
        guard case .slice(let account) = domain, let place = shape.ownerPlace else { return nil }
        // An identifier in base 32 needs no escapes.
        return "\(shape.keyColumns[place].quotedIdentifier) = '\(account)'"
    }

    /// The condition of the domain's records in this package's tables with the key of a table; nil if all are the
    /// domain's.
    package func ownKeyCondition(in shape: TableShape) -> String? {
        guard case .slice(let account) = domain, let place = shape.ownerPlace else { return nil }
        return "k\(place) = '\(account)'"
    }

    private var owner: String? { if case .slice(let account) = domain { account.description } else { nil } }

    private func statements(clearing shape: TableShape) -> [String] {
        let table = "main.\(shape.name.quotedIdentifier)"
        let others = [shape.deadTable, shape.unresolvedTable, shape.asideTable] + (shape.exclusives.isEmpty ? [] : [shape.movedTable])
        guard let place = shape.ownerPlace else {
            return ([shape.clockTable, shape.sameTable] + others).map { "DELETE FROM main.\($0)" } + ["DELETE FROM \(table)"]
        }
        let column = shape.keyColumns[place].quotedIdentifier
        let clocks = shape.hasRowid ? "rid IN (SELECT rowid FROM \(table) WHERE \(column) = ?1)" : "k\(place) = ?1"
        return ["DELETE FROM main.\(shape.clockTable) WHERE \(clocks)"]
            + others.map { "DELETE FROM main.\($0) WHERE k\(place) = ?1" }
            + ["DELETE FROM main.\(shape.sameTable) WHERE a\(place) = ?1", "DELETE FROM \(table) WHERE \(column) = ?1"]
    }
}
