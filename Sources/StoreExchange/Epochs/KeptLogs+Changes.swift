internal import StoreFormat
internal import StoreRecords

extension KeptLogs {
    /// What a kept log says, for people.
    package struct Changes: Sendable, Encodable {
        /// The file's name.
        package var file: String
        /// What is the matter with it; nil where it is whole.
        package var fault: String?
        package var changes: [Change] = []
    }

    /// One change of a record.
    package struct Change: Sendable, Encodable {
        package var record: String
        package var deleted: Bool
        /// By column; a large value by its hash.
        package var values: [String: String]
    }

    /// The changes that an entry holds, log by log; one that cannot be used hides no other.
    ///
    /// - Parameter id: the entry's name.
    /// - Returns: each log, in order.
    /// - Throws: `UbiquitousStoreError`.
    package func changes(of id: String) throws -> [Changes] {
        try logs(of: id).map { log in
            var changes = Changes(file: log.name.description)
            do {
                changes.changes = try log.content.get().keptChanges()
            } catch {
                changes.fault = String(describing: error)
            }
            return changes
        }
    }
}

extension LogFile {
    fileprivate func keptChanges() throws -> [KeptLogs.Change] {
        var changes: [KeptLogs.Change] = []
        let contents = try LogBody.decode(self)
        for group in contents.groups {
            for rows in group.rows {
                let table = contents.tables[rows.table]
                try rows.forEach(in: table, values: { .text("\($0.length) bytes, \($0.hash)") }) { change in
                    let names = change.columns.numbers.map { table.columns[$0] }
                    changes.append(
                        KeptLogs.Change(
                            record: ObjectID(table: table.name, key: change.key).text, deleted: change.life.isMultiple(of: 2),
                            values: Dictionary(zip(names, change.values.map(\.description))) { $1 }))
                }
            }
        }
        return changes
    }
}
