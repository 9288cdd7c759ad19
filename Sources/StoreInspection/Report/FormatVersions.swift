internal import GRDB
internal import StoreExchange
internal import StoreFormat
internal import StoreRecords

/// The forms of files that this package writes, and the SQLite that it runs on: what takes a version's place while there is none.
package struct FormatVersions: Sendable, Encodable {
    package var logHeader = LogHeader.format
    package var logBody = LogBody.version
    package var receipt = Receipt.format
    package var epochMark = EpochMark.format
    package var kept = KeptEntry.format
    package var baseline = BaselineSchema.format
    package var store = StoreTables.format
    /// Such as `3.40.1`; nil where it cannot be asked.
    package var sqlite: String?

    /// Asks SQLite.
    package init() { sqlite = try? DatabaseQueue().read { db in try String.fetchOne(db, sql: "SELECT sqlite_version()") } }
}
