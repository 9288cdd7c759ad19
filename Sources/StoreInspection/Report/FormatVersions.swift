internal import GRDB
internal import StoreExchange
internal import StoreFormat
internal import StoreRecords

/// The versions of the file formats that this package writes, and of SQLite; the package has no version of its own yet.
package struct FormatVersions: Sendable, Encodable {
    package var logHeader = LogHeader.format
    package var logBody = LogBody.version
    package var receipt = Receipt.format
    package var epochMark = EpochMark.format
    package var kept = KeptEntry.format
    package var baseline = BaselineSchema.format
    package var store = StoreTables.format
    /// The version of SQLite, such as `3.40.1`; nil if SQLite does not answer.
    package var sqlite: String?

    /// Creates the versions, and queries that of SQLite.
    package init() { sqlite = try? DatabaseQueue().read { db in try String.fetchOne(db, sql: "SELECT sqlite_version()") } }
}
