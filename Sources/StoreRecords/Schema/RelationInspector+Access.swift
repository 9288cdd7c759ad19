internal import GRDB
internal import StoreFormat

/// Foreign keys in a store with a scope, in which the rows of two tables may belong to different accounts.
extension RelationInspector {
    /// Returns whether a foreign key leads from an account's record to a record of that account, by the creators'
    /// columns.
    ///
    /// Only its other columns can change, so it may be partly in the primary key.
    static func isWithinAccount(_ key: ForeignKey, of child: TableShape, to parent: TableShape) -> Bool {
        guard let own = child.ownerPlace, let other = parent.ownerPlace else { return false }
        return key.columns[other] == .key(own)
    }

    /// Rejects a foreign key by which one account would change another's rows.
    ///
    /// A record whose parent is gone, or not here yet, is held: it keeps its registers, and its row is shown once the
    /// parent is there. Nobody writes anything for that, so a reference to a table of a role may dangle.
    ///
    /// - Parameters:
    ///   - key: the foreign key.
    ///   - actions: its ON DELETE and ON UPDATE actions.
    ///   - what: the foreign key in words.
    ///   - child: the table that refers.
    ///   - parent: the table that it refers to.
    mutating func checkAccounts(
        _ key: ForeignKey, _ actions: (delete: String, update: String), _ what: String, of child: TableShape, to parent: TableShape
    ) {
        let changing = [("DELETE", actions.delete), ("UPDATE", actions.update)].filter { !["NO ACTION", "RESTRICT"].contains($0.1) }
            .map { "ON \($0.0) \($0.1)" }
        switch (child.access, parent.access) {
        case (.creator(let own), .creator(let other)):
            // Another violation names the fault of a column that is not in the key.
            guard child.ownerPlace != nil, parent.ownerPlace != nil else { return }
            guard Self.isWithinAccount(key, of: child, to: parent) else {
                violations.append(
                    "\(what) does not lead from “\(own)” to “\(other)” of “\(parent.name)”, so that a record could refer to another account's: let both sides contain the creator, as FOREIGN KEY (\(own), …) REFERENCES \(parent.name) (\(other), …)."
                )
                return
            }
            let emptying = changing.filter { $0.contains(" SET ") }
            if !emptying.isEmpty {
                violations.append(
                    "\(what) has \(emptying.joined(separator: " and ")), which would take the creator “\(own)” out of a row: use CASCADE, RESTRICT or NO ACTION."
                )
            }
        case (.role, .creator):
            violations.append(
                "\(what) leads from a table of a role to “\(parent.name)”, whose rows each account deletes as it likes: drop the constraint and keep the column."
            )
        case (.creator, .role):
            guard !changing.isEmpty else { return }
            violations.append(
                "\(what) has \(changing.joined(separator: " and ")), by which a change of “\(parent.name)” would change rows of other accounts: use RESTRICT or NO ACTION. A record whose parent is gone is not shown until that is there again."
            )
        case (.role, .role), (nil, _), (_, nil): break
        }
    }
}
