package import StoreFormat

/// The mapping of a log's table to a table of this store, and of the log's columns to column numbers.
///
/// A log uses its author's schema. It may name a table or column that is unknown here. If the author's schema is newer
/// than this app's, that is new, and the log waits. If the author's schema is older, that has been dropped, and the log
/// is applied without it.
package struct LogTableMapping {
    /// The table in this store, whatever name the log uses.
    package let shape: TableShape
    /// The number here of each column in the log's list.
    ///
    /// Nil for a dropped column.
    let columns: [Int?]

    /// Whether role holders write the table.
    package var isCurated: Bool { shape.isCurated }

    /// The result of mapping a log's table.
    package enum Outcome {
        case mapped(LogTableMapping)
        /// The table no longer syncs.
        ///
        /// Its changes are skipped.
        case gone
        /// The table cannot be mapped yet, for this reason.
        case unknown(String)
    }

    /// Finds the mapping of a log's table.
    ///
    /// - Parameters:
    ///   - table: the table as the log's author had it.
    ///   - isOlder: whether this store has left the author's schema behind.
    ///   - shapes: the tables of this store.
    /// - Returns: the mapping, or why there is none.
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

    /// Returns whether a store has left a schema behind.
    ///
    /// - Parameters:
    ///   - schema: an author's last migration. It is empty before the first.
    ///   - migrations: the migrations of the store, in order.
    /// - Returns: whether the schema is older. It is false also for an unknown schema, which is newer.
    package static func isOlder(_ schema: String, than migrations: [String]) -> Bool {
        guard let last = migrations.last, schema != last else { return false }
        return schema.isEmpty || migrations.contains(schema)
    }
}

extension TableShape {
    /// Returns the value of a column while no log has named one: its default.
    func unwritten(_ column: Int) -> RecordValue { assumed.indices.contains(column) ? assumed[column] : .null }

    /// Returns whether an insertion writes a value: a NULL counts if the column's default is another value.
    func isSaid(_ value: RecordValue, of column: Int) -> Bool { value != .null || unwritten(column) != .null }

    /// Returns the values that a merge compares.
    ///
    /// A default with the least stamp is an unwritten value, in a record whose author's schema does not have the
    /// column. It yields to any value that a log names, also to NULL. The result therefore does not depend on whether
    /// the record or the log that names the value came first.
    func weighed(_ new: RecordValue, _ old: RecordValue, of column: Int, stamp: Stamp, against local: Stamp?) -> (new: RecordValue, old: RecordValue)
    {
        let value = unwritten(column)
        guard value != .null else { return (new, old) }
        // NULL loses under every policy, so the value that replaces the default must not be NULL.
        switch (stamp == .least && new == value, local == .least && old == value) {
        case (true, false): return (.null, old == .null ? .integer(0) : old)
        case (false, true): return (new == .null ? .integer(0) : new, .null)
        default: return (new, old)
        }
    }
}
