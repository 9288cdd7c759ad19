public import GRDB

/// A table whose rows sync.
///
/// ```swift
/// SyncedTable("note")
/// SyncedTable(
///     "place", columns: ["visits": .maximum, "discovered": .firstWriter], together: [["latitude", "longitude"]], excluding: ["cachedTile"])
/// SyncedTable("person", formerly: ["people"], formerColumns: ["email": ["mail"]])
/// ```
public struct SyncedTable: Sendable {
    /// The table's name in the store.
    public let name: String
    /// Columns with a policy of their own; in the others the last writer wins.
    public let policies: [String: MergePolicy]
    /// Groups of columns that are one value: a save of one column is a save of its whole group, and groups are merged whole.
    ///
    /// The columns of a composite foreign key are a group without being named here.
    public let together: [[String]]
    /// Columns that never leave the device.
    public let excluded: Set<String>
    /// Whether the app gives the keys of an `INTEGER PRIMARY KEY`, so that no two devices count up the same.
    public let assignsIntegerKeys: Bool
    /// The names that the table had before the app's migrations renamed it.
    public let formerNames: [String]
    /// The names that columns had before they were renamed, by their present names.
    public let formerColumns: [String: [String]]

    /// Columns, or sets of columns, that no two records share: records that do become one on every device.
    ///
    /// Each UNIQUE constraint and index is named here or in ``exclusive``; a term of an index that is an expression stands here as it stands there. A rule that has
    /// no index lets an app write duplicates, which become one once they are saved.
    public let unique: [[String]]
    /// Columns that no two records hold alike at once, though the records are two things: both stay, and one shows another value.
    public let exclusive: [Exclusive]
    /// Sets columns of a record that two or more have become; see ``Election``.
    public let election: Election?

    /// Tables that triggers of the app compute from this one on each device, such as an FTS5 index.
    ///
    /// Imports run these triggers, so none may be guarded by `ubiquity_import`. Where they may have missed something, as when a table is declared here for
    /// the first time or a migration has run, it is emptied, and filled by the INSERT triggers.
    public let derived: [String]

    /// Chooses what a record holds that several have become, where the latest value of each column is not what an app wants.
    ///
    /// It is asked once for each pair of records that a device finds to be one, inside a transaction and off the main thread. It gets what
    /// the records hold, by column, in the order of their keys, and returns the columns to be set. They are written as a save is.
    public typealias Election = @Sendable (_ duplicates: [Row]) throws -> [String: any DatabaseValueConvertible]

    /// Declares a table of the app's schema as synced.
    ///
    /// - Parameters:
    ///   - name: a table that the app's migrator makes, with a primary key.
    ///   - columns: the policies of columns in which not the last writer wins.
    ///   - together: groups of columns that belong together, such as latitude and longitude.
    ///   - unique: columns, or sets of columns, that no two records share: those that do are one thing.
    ///   - exclusive: sets of columns that no two records hold alike at once, though they are two things.
    ///   - excluded: columns that stay on the device. Each must allow NULL or have a default, which it gets where a record arrives.
    ///   - assignsIntegerKeys: allows a key that SQLite would otherwise count up on each device by itself (a rowid alias).
    ///   - election: sets columns of a record that two or more have become.
    ///   - derived: tables that the app's triggers compute from this one, such as an FTS5 index.
    ///   - formerNames: the names that the table had in earlier versions of the schema. They stay declared for as long as a device, or a log, may be of
    ///     such a version, and are never given to another table.
    ///   - formerColumns: for each column that has been renamed, the names that it had; these too are never given to another column.
    public init(
        _ name: String, columns: [String: MergePolicy] = [:], together: [[String]] = [], unique: [[String]] = [],
        exclusive: [Exclusive] = [],
        excluding excluded: Set<String> = [], assignsIntegerKeys: Bool = false, election: Election? = nil, derived: [String] = [],
        formerly formerNames: [String] = [], formerColumns: [String: [String]] = [:]
    ) {
        self.name = name
        policies = columns
        self.together = together
        self.unique = unique
        self.exclusive = exclusive
        self.election = election
        self.derived = derived
        self.excluded = excluded
        self.assignsIntegerKeys = assignsIntegerKeys
        self.formerNames = formerNames
        self.formerColumns = formerColumns
    }
}
