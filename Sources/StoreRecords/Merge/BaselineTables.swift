internal import GRDB
package import StoreFormat

/// The SQL for the tables of a baseline, by its format.
///
/// Format 1 has a record and its clock in one row. Since format 2, records and clocks are in tables of their own, as in
/// a store file.
package struct BaselineTables {
    /// The name under which the baseline is attached; `main` if it is open by itself.
    let schema: String
    let header: BaselineHeader

    package init(_ header: BaselineHeader, in schema: String = "main") {
        self.schema = schema
        self.header = header
    }

    private func keys(_ table: BaselineHeader.Table, of alias: String) -> [String] { table.table.keyColumns.indices.map { "\(alias).k\($0)" } }
    private func values(_ table: BaselineHeader.Table) -> [String] { table.table.columns.indices.map { "r.v\($0)" } }

    /// The records that the writer showed as they are, for FROM: the columns `k0`…, `life`, `time`, `peer`, `columns`,
    /// `others`, `v0`…, and the rowid as `place`.
    func records(_ table: BaselineHeader.Table) -> String {
        let record = "\(schema).\(RecordForm.table(table.number))"
        guard let form = table.form else { return "(SELECT *, rowid AS place FROM \(record))" }
        let columns =
            keys(table, of: "r") + ["c.life", "c.time", "c.peer", "c.columns", "c.others"] + values(table)
            + [form.hasRowid ? "r.rowid AS place" : "NULL AS place"]
        let clock = "\(schema).clock_\(table.number)"
        return "(SELECT \(columns.joined(separator: ", ")) FROM \(record) r CROSS JOIN \(clock) c ON \(isClock(of: form, table)))"
    }

    /// The condition that the clock `c` belongs to the record `r`.
    func isClock(of form: RecordForm, _ table: BaselineHeader.Table) -> String {
        if form.hasRowid { return "c.rid = r.rowid" }
        return zip(keys(table, of: "c"), keys(table, of: "r")).map { "\($0) = \($1)" }.joined(separator: " AND ")
    }

    /// The rows, for SELECT: the rowid if the caller's table has rowids of its own, the key and the other columns.
    ///
    /// `shift` is appended to each rowid.
    func rows(_ table: BaselineHeader.Table, withRowid: Bool, _ shift: String = "") -> String {
        let columns = (withRowid ? ["r.rowid\(shift)"] : []) + keys(table, of: "r") + values(table)
        let order = table.form?.hasRowid == false ? keys(table, of: "r") : ["r.rowid"]
        return
            "\(columns.joined(separator: ", ")) FROM \(records(of: table)) r ORDER BY \(order.joined(separator: ", "))"
    }

    /// The table with the keys and values of the records that the writer showed as they are.
    func records(of table: BaselineHeader.Table) -> String { "\(schema).\(RecordForm.table(table.number))" }

    /// A query for columns of all living records, shown or held aside.
    func all(_ columns: String, _ table: BaselineHeader.Table) -> String {
        "SELECT \(columns) FROM \(records(of: table)) UNION ALL SELECT \(columns) FROM \(others(table))"
    }

    /// Returns whether there are records of another part.
    func holdsOthers(than part: TablePart, _ table: BaselineHeader.Table, _ db: Database) throws -> Bool {
        guard let isPart = part.ownKeyCondition(in: part.shape) else { return false }
        return try [records(of: table), others(table), dead(table)].contains { records in
            try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM \(records) WHERE (\(isPart)) IS NOT TRUE)")!
        }
    }

    /// The clocks, for FROM.
    func clocks(_ table: BaselineHeader.Table) -> String {
        table.form == nil ? "\(schema).record_\(table.number)" : "\(schema).clock_\(table.number)"
    }

    /// The columns of ``clocks(_:)`` that name the row of a clock.
    func place(_ table: BaselineHeader.Table, _ shape: TableShape) -> String {
        guard shape.hasRowid else { return shape.ownKeyColumns }
        if table.form != nil { return "rid" }
        return shape.isRowidKey ? "k0" : "rowid"
    }

    /// Whether the clocks name the rows of a store's table as that table does.
    func namesRows(of shape: TableShape, _ table: BaselineHeader.Table) -> Bool {
        table.form.map { $0.hasRowid == shape.hasRowid && $0.isRowidKey == shape.isRowidKey } ?? true
    }

    /// The living records that the writer held aside, the dead ones, and the pairs that are one.
    func others(_ table: BaselineHeader.Table) -> String { "\(schema).other_\(table.number)" }
    func dead(_ table: BaselineHeader.Table) -> String { "\(schema).dead_\(table.number)" }
    func same(_ table: BaselineHeader.Table) -> String { "\(schema).same_\(table.number)" }
}
