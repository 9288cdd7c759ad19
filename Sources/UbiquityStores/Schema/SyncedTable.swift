/// A table whose rows sync.
///
/// ```swift
/// SyncedTable("note")
/// SyncedTable(
///     "place", columns: ["visits": .maximum, "discovered": .firstWriter], groups: [["latitude", "longitude"]], excluding: ["cachedTile"])
/// ```
public struct SyncedTable: Sendable, Hashable {
    /// The table's name in the store.
    public let name: String
    /// Columns with a policy of their own; in the others the last writer wins.
    public let policies: [String: MergePolicy]
    /// Columns that are one value: whoever writes one writes all, and they are merged whole.
    public let groups: [[String]]
    /// Columns that never leave the device.
    public let excluded: Set<String>
    /// Whether the app gives the keys of an `INTEGER PRIMARY KEY`, so that no two devices count up the same.
    public let assignsIntegerKeys: Bool

    /// Declares a table of the app's schema as synced.
    ///
    /// - Parameters:
    ///   - name: a table that the app's migrator makes, with a primary key.
    ///   - columns: the policies of columns in which not the last writer wins.
    ///   - groups: columns that belong together, such as latitude and longitude.
    ///   - excluded: columns that stay on the device. Each must allow NULL or have a default, which it gets where a record arrives.
    ///   - assignsIntegerKeys: allows a key that SQLite would otherwise count up on each device by itself (a rowid alias).
    public init(
        _ name: String, columns: [String: MergePolicy] = [:], groups: [[String]] = [], excluding excluded: Set<String> = [],
        assignsIntegerKeys: Bool = false
    ) {
        self.name = name
        policies = columns
        self.groups = groups
        self.excluded = excluded
        self.assignsIntegerKeys = assignsIntegerKeys
    }
}
