package import StoreFormat

/// Where what a log says of one table belongs here: the table, and for each of the log's columns its number.
///
/// A log is of its author's schema. What it names and is unknown here is new, where the author's schema is newer than this app's, and the log waits; it
/// is gone, where the author's is older, and the log is applied without it.
package struct LogTableMapping {
    /// The table here, whatever the log calls it.
    let shape: TableShape
    /// For each column of the log's list its number here; nil for one that is gone.
    let columns: [Int?]

    /// What becomes of a log's table.
    package enum Outcome {
        case mapped(LogTableMapping)
        /// It no longer syncs: its changes are passed over.
        case gone
        /// It cannot be applied yet, for this reason.
        case unknown(String)
    }

    /// Finds the place of a log's table.
    ///
    /// - Parameters:
    ///   - table: the table as the log's author had it.
    ///   - isOlder: whether the author's schema is one that this store has left behind.
    ///   - shapes: the tables here.
    /// - Returns: where it belongs.
    package static func find(_ table: LogBody.Table, isOlder: Bool, among shapes: [TableShape]) -> Outcome {
        guard let shape = shapes.first(where: { $0.name == table.name }) ?? shapes.first(where: { $0.formerNames.contains(table.name) }) else {
            return isOlder ? .gone : .unknown("it names the table “\(table.name)”, which is unknown here")
        }
        guard shape.presentKey(table.keyColumns) == shape.keyColumns else { return .unknown("it has another primary key for “\(table.name)”") }
        var taken: Set<Int> = []
        let columns = table.columns.map { name in shape.number(of: name).flatMap { taken.insert($0).inserted ? $0 : nil } }
        let unknown = zip(table.columns, columns).filter { $1 == nil }.map(\.0)
        guard isOlder || unknown.isEmpty else {
            return .unknown("it names the columns \(unknown.joined(separator: ", ")) of “\(table.name)”, which are unknown here")
        }
        return .mapped(LogTableMapping(shape: shape, columns: columns))
    }

    /// Whether a schema is one that a store has left behind.
    ///
    /// - Parameters:
    ///   - schema: an author's last migration, empty before the first.
    ///   - migrations: those of the store, in order.
    /// - Returns: false too for a schema that is not known here, which is a newer one.
    package static func isOlder(_ schema: String, than migrations: [String]) -> Bool {
        guard let last = migrations.last, schema != last else { return false }
        return schema.isEmpty || migrations.contains(schema)
    }
}

extension TableShape {
    /// What a column shows as long as no log has named a value: its default.
    func unwritten(_ column: Int) -> RecordValue { assumed.indices.contains(column) ? assumed[column] : .null }

    /// Whether an insert says something by a value: a NULL does where an insert without the column would have given it another value.
    func isSaid(_ value: RecordValue, of column: Int) -> Bool { value != .null || unwritten(column) != .null }

    /// The values between which a merge decides.
    ///
    /// A default with the least stamp is nobody's: it stands in records whose author's schema does not know the column. It yields to any value that
    /// a log names, a NULL too. So the value is the same whether the record was there before the log that names it, or came after.
    func weighed(_ new: RecordValue, _ old: RecordValue, of column: Int, stamp: Stamp, against local: Stamp?) -> (new: RecordValue, old: RecordValue)
    {
        let value = unwritten(column)
        guard value != .null else { return (new, old) }
        // NULL loses under every policy, so what the default yields to must be another value.
        switch (stamp == .least && new == value, local == .least && old == value) {
        case (true, false): return (.null, old == .null ? .integer(0) : old)
        case (false, true): return (new == .null ? .integer(0) : new, .null)
        default: return (new, old)
        }
    }
}
