internal import StoreFormat

/// The triggers that refuse changes which are not the store's account to make, by any program.
///
/// A synced table of a store with a scope has them; see ``TableShape/access``. They read the account's rights from
/// ``AuthorityRow``, call only built-in functions, and let imports pass. A statement that one of them refuses changes
/// nothing (sqlite.org/lang_createtrigger.html#raise).
///
/// A row that REPLACE removes fires no delete trigger. Every rule of uniqueness contains the creator, so such a row is
/// the account's own, except one whose rowid the statement gives to another row.
struct GuardTriggers {
    private let shape: TableShape
    private let table: String

    init(_ shape: TableShape) {
        self.shape = shape
        table = shape.name.quotedIdentifier
    }

    /// The triggers, each with its name without the prefix and the number.
    ///
    /// There are none in a store without a scope.
    var triggers: [(name: String, body: String)] {
        switch shape.access {
        case nil: []
        case .creator(let column): owned(by: column)
        case .role(let role): curated(by: role)
        }
    }

    private static let idle = "(SELECT active FROM ubiquity_import) = \(Capture.Mode.noting.rawValue)"

    /// Returns a condition that is true if the account's rights meet another one.
    private static func grants(_ condition: String) -> String {
        "EXISTS (SELECT 1 FROM \(AuthorityRow.table) WHERE number = \(AuthorityRow.number) AND \(condition))"
    }

    private static func raise(_ reason: String, where condition: String) -> String {
        "SELECT RAISE(ABORT, '\("ubiquity: \(reason)".replacing("'", with: "''"))') WHERE \(condition);"
    }

    /// Refuses the change of an account that is unknown.
    private var refuseUnknown: String {
        Self.raise(
            "“\(shape.name)” can only be read, because no account is signed in to its container. Sign in, and write again.",
            where: "NOT \(Self.grants("account IS NOT NULL"))")
    }

    // MARK: Rows of an account

    private func owned(by column: String) -> [(name: String, body: String)] {
        let owner = column.quotedIdentifier
        let own = Self.grants("account = NEW.\(owner) AND contributes")
        let ownBefore = Self.grants("account = OLD.\(owner) AND contributes")
        let ownBoth = Self.grants("account = OLD.\(owner) AND account = NEW.\(owner) AND contributes")
        // SQLite gives -1 for a rowid that it chooses itself.
        let replaces = { (condition: String, row: String) -> String? in
            guard shape.hasRowid else { return nil }
            return "\(condition) AND EXISTS (SELECT 1 FROM \(table) WHERE rowid = NEW.rowid AND \(owner) IS NOT \(row).\(owner))"
        }
        func refused(_ rights: String, _ replacement: String?) -> String {
            replacement.map { "(NOT \(rights) OR \($0))" } ?? "NOT \(rights)"
        }
        let body = "\(refuseUnknown) \(refuseIdle) \(refuseForeign(column))"
        let changes = changesSynced.map { " AND (\($0))" } ?? ""
        return [
            (
                "guard_insert",
                "BEFORE INSERT ON \(table) WHEN \(Self.idle) AND \(refused(own, replaces("NEW.rowid <> -1", "NEW"))) BEGIN \(body) END"
            ),
            (
                "guard_update",
                """
                BEFORE UPDATE ON \(table) WHEN \(Self.idle) AND \(refused(ownBoth, replaces("NEW.rowid <> OLD.rowid", "OLD")))\(changes) \
                BEGIN \(refuseUnknown) \(refuseIdle) \(refuseOtherOwner(column)) \(refuseForeign(column)) END
                """
            ),
            ("guard_delete", "BEFORE DELETE ON \(table) WHEN \(Self.idle) AND NOT \(ownBefore) BEGIN \(body) END"),
        ]
    }

    /// Refuses the change of an account that may not contribute.
    private var refuseIdle: String {
        Self.raise(
            "“\(shape.name)” can only be read, because this account does not contribute to its container, or no longer. Ask for admission, and write again.",
            where: "NOT \(Self.grants("contributes"))")
    }

    private func refuseOtherOwner(_ column: String) -> String {
        let owner = column.quotedIdentifier
        return Self.raise(
            "“\(column)” of “\(shape.name)” names the account that a row belongs to, which never changes. Insert another row.",
            where: "\(Self.grants("account = OLD.\(owner)")) AND OLD.\(owner) IS NOT NEW.\(owner)")
    }

    private func refuseForeign(_ column: String) -> String {
        Self.raise(
            "an account changes only its own rows of “\(shape.name)”, in which “\(column)” is its identifier. Write a row of this account.",
            where: "1")
    }

    /// Whether an update changes anything that leaves the device.
    ///
    /// Nil if every column does, so that all updates count.
    private var changesSynced: String? {
        guard !shape.localColumns.isEmpty else { return nil }
        let place = shape.hasRowid ? ["OLD.rowid <> NEW.rowid"] : []
        let columns = (shape.keyColumns + shape.columns).map(\.quotedIdentifier)
        return (place + columns.map { ExactComparison.differ("OLD.\($0)", "NEW.\($0)") }).joined(separator: " OR ")
    }

    // MARK: Rows of a role

    private func curated(by role: String) -> [(name: String, body: String)] {
        let name = role.replacing("'", with: "''")
        let separator = "char(10)"
        let refused = "NOT \(Self.grants("account IS NOT NULL AND instr(roles, \(separator) || '\(name)' || \(separator))"))"
        let reason = "only accounts with the role “\(role)” change “\(shape.name)”. Let the owner of the container grant it."
        let body = "\(refuseUnknown) \(Self.raise(reason, where: "1"))"
        let changes = changesSynced.map { " AND (\($0))" } ?? ""
        return [("insert", ""), ("update", changes), ("delete", "")].map { event, changes in
            ("guard_\(event)", "BEFORE \(event.uppercased()) ON \(table) WHEN \(Self.idle) AND \(refused)\(changes) BEGIN \(body) END")
        }
    }
}
