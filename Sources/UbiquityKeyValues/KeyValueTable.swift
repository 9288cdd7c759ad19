internal import GRDB
internal import StoreRecords

/// The table of keys and values in a store's file.
struct KeyValueTable {
    /// The file belongs to another account than the changes.
    struct OtherAccount: Error {}

    /// The prefix of an app's keys, among which some begin with `ubiquity.`.
    private static let prefix = "."

    private let db: Database

    init(_ db: Database) { self.db = db }

    /// Returns which file this is.
    func file() throws -> KeyValueFile {
        let state = try StoreState.read(db)
        return KeyValueFile(account: state.account, isFallback: state.place == .fallback)
    }

    /// Returns all values.
    func values() throws -> [String: KeyValues.Entry] {
        let rows = try Row.fetchCursor(
            db, sql: "SELECT key, value FROM \(StoreMetadata.table) WHERE key GLOB '\(Self.prefix)*' AND value IS NOT NULL")
        var values: [String: KeyValues.Entry] = [:]
        while let row = try rows.next() {
            let key: String = row[0]
            guard let stored = KeyValueColumn(row[1]), let entry = KeyValues.Entry(stored) else { continue }
            values[String(decoding: key.utf8.dropFirst(Self.prefix.utf8.count), as: UTF8.self)] = entry
        }
        return values
    }

    /// Writes the changes that differ from what the table holds.
    ///
    /// - Throws: ``OtherAccount`` if they were made to the values of an account, and the file is not that account's;
    ///   GRDB's errors.
    func save(_ taken: KeyValues.Taken) throws {
        guard try taken.account.isEmpty || taken.account == file().account else { throw OtherAccount() }
        let metadata = StoreMetadata(db)
        for key in taken.changes.keys.inByteOrder {
            guard let entry = taken.changes[key] else { continue }
            let row = Self.prefix + key
            // A removal is written even where there is nothing: another device may have set the key before.
            let present = try Row.fetchOne(db, sql: "SELECT value FROM \(StoreMetadata.table) WHERE key = ?", arguments: [row])
            if let present, KeyValueColumn(present[0]) == entry?.stored { continue }
            try metadata.set(entry?.stored.databaseValue, for: row)
        }
    }
}
