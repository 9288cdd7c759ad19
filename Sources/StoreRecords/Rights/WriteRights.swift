package import StoreFormat

/// The changes that an account may make in a store with a scope.
///
/// The guard triggers read them from the store file; see ``AuthorityRow``. A store keeps a copy, with which it answers
/// at once and without reading a file.
package struct WriteRights: Hashable, Sendable {
    /// The account.
    ///
    /// Nil while nobody is signed in.
    package var account: AccountIdentifier?
    /// Whether the account may write its own records.
    package var contributes: Bool
    /// The roles that the account holds.
    package var roles: Set<String>

    package init(account: AccountIdentifier? = nil, contributes: Bool = false, roles: Set<String> = []) {
        (self.account, self.contributes, self.roles) = (account, contributes, roles)
    }

    /// The rights of a reader, who changes nothing.
    package static let reading = WriteRights()

    /// Returns whether the account may insert, update or delete a record of a table.
    ///
    /// - Parameters:
    ///   - key: the record's key.
    ///   - shape: the table. In a store without a scope everybody may.
    /// - Returns: whether it may.
    package func allows(_ key: [RecordValue], in shape: TableShape) -> Bool {
        switch shape.access {
        case nil: return true
        case .role(let role): return account != nil && roles.contains(role)
        case .creator:
            guard let account, contributes, let place = shape.ownerPlace, key.count == shape.keyColumns.count else { return false }
            return key[place] == Self.value(of: account)
        }
    }

    /// Returns whether the account may update or delete a record.
    ///
    /// - Parameters:
    ///   - record: the record, which need not exist.
    ///   - shapes: the store's synced tables. A record of another table is not theirs to sync, and may be changed by
    ///     everybody.
    /// - Returns: whether it may.
    package func allows(_ record: ObjectID, among shapes: [TableShape]) -> Bool {
        guard let shape = shapes.first(where: { $0.name == record.table }) else { return true }
        return allows(record.key, in: shape)
    }

    /// Returns whether the account may change any record.
    package func allowsAny(among shapes: [TableShape]) -> Bool {
        shapes.contains { shape in
            switch shape.access {
            case nil: true
            case .role(let role): account != nil && roles.contains(role)
            case .creator: account != nil && contributes
            }
        }
    }

    /// Returns the value that names an account in a row.
    package static func value(of account: AccountIdentifier) -> RecordValue { .text(Array(account.description.utf8)[...]) }
}

extension TableShape {
    /// Returns the account that a record belongs to.
    ///
    /// Nil in a table of a role, and for a key that names no account.
    package func owner(of key: [RecordValue]) -> AccountIdentifier? {
        guard let place = ownerPlace, key.count == keyColumns.count, case .text(let name) = key[place] else { return nil }
        return String(validating: name, as: UTF8.self).flatMap { AccountIdentifier($0) }
    }
}
