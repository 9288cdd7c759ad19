package import StoreFormat

/// A table that each account has records of its own in, as the logs of contributors describe it.
///
/// The key of a record is its account, then its number as a text.
package struct ContributedTable: Sendable {
    /// The name of the content.
    package let contentName: String
    /// The version of the schema.
    package let schema: String
    package let table: LogBody.Table
    /// The values of the other columns, by the record's number; none is null.
    package let values: @Sendable (_ record: Int) -> [RecordValue]

    package init(contentName: String, schema: String, table: LogBody.Table, values: @escaping @Sendable (_ record: Int) -> [RecordValue]) {
        (self.contentName, self.schema, self.table, self.values) = (contentName, schema, table, values)
    }

    /// The key column that does not hold the account, as a text.
    package static func id(of record: Int) -> String { "r\(record)" }

    /// Returns the changes that insert records of an account.
    func inserts(_ records: Range<Int>, of account: String) -> [UInt8] {
        var rows = WireWriter(reserving: records.count * 128)
        for record in records {
            let values = values(record)
            rows.varint(1)
            rows.recordValue(.text(account))
            rows.recordValue(.text(Self.id(of: record)))
            rows.varint(1 << UInt64(values.count) - 1)
            for value in values { rows.recordValue(value) }
        }
        var body = LogBodyBuilder()
        body.add(table, count: records.count, rows: rows)
        return body.encoded(time: time(of: records.lowerBound))
    }

    /// A time on 2026-11-18 or later, which is the later the greater a record's number is.
    private func time(of record: Int) -> HybridTime { HybridTime(milliseconds: 1_795_000_000_000 + Int64(record)) }
}
