internal import StoreFormat
internal import StoreRecords

extension KeptLogs {
    /// The contents of a kept log, for display.
    package struct Changes: Sendable, Encodable {
        /// The name of the file.
        package var file: String
        /// The reason why the log cannot be used, or nil.
        package var fault: String?
        package var changes: [Change] = []
    }

    /// One change of a record.
    package struct Change: Sendable, Encodable {
        package var record: String
        package var deleted: Bool
        /// The values by column.
        ///
        /// A large value is given by its hash.
        package var values: [String: String]
    }

    /// Returns the changes of an entry, log by log.
    ///
    /// A log that cannot be used does not hide the others.
    ///
    /// - Parameter id: the name of the entry.
    /// - Returns: the logs in order.
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
