public import GRDB
public import StoreFormat

/// A table whose rows sync.
///
/// ```swift
/// SyncedTable("note")
/// SyncedTable(
///     "place", columns: ["visits": .maximum, "discovered": .firstWriter], together: [["latitude", "longitude"]],
///     excluding: ["cachedTile"])
/// SyncedTable("person", formerly: ["people"], formerColumns: ["email": ["mail"]])
/// SyncedTable("score", access: .creator("player"))    // in a store with a scope: PRIMARY KEY (player, id)
/// ```
public struct SyncedTable: Sendable {
    /// The table's name in the store.
    public let name: String
    /// The accounts that may change its rows; nil in a store that has no scope.
    ///
    /// In a store with a scope, many accounts read the rows, and each table declares who may change them:
    ///
    /// - With `.creator(column)`, each account writes its own rows. The column is a part of the primary key, TEXT and
    ///   NOT NULL, and holds the account's identifier. Every uniqueness rule, and every foreign key to another such
    ///   table, contains it. So two accounts that choose one identifier have two records.
    /// - With `.role(name)`, the accounts that hold the role write all rows.
    ///
    /// Triggers of the store refuse every other change before it is made, in any program that opens the file. They do
    /// not refuse a change of ``excluded`` columns, which never leave the device. <doc:Access> has all the rules.
    public let access: TableAccess?
    /// The columns with their own policies; in other columns the last writer wins.
    public let policies: [String: MergePolicy]
    /// Groups of columns that are one value: a save of one column is a save of its whole group, and groups merge as a
    /// whole.
    ///
    /// The columns of a composite foreign key are a group without a declaration.
    public let together: [[String]]
    /// Columns that never leave the device.
    public let excluded: Set<String>
    /// Whether the app assigns the keys of an `INTEGER PRIMARY KEY`, so that no two devices count up to equal keys.
    ///
    /// ``StableKeys`` replaces keys that SQLite counts.
    public let assignsIntegerKeys: Bool
    /// The names that the table had before the app's migrations renamed it.
    public let formerNames: [String]
    /// The names that columns had before they were renamed, by their present names.
    public let formerColumns: [String: [String]]

    /// Columns, or sets of columns, that no two records share: records that share them become one on every device.
    ///
    /// Each UNIQUE constraint and index is declared here or in ``exclusive``. An expression of an index is written as
    /// in the index. A rule without an index lets an app write duplicates, which become one once they are saved.
    public let unique: [[String]]
    /// Columns in which no two records hold equal values at once: both records stay, and one shows another value.
    public let exclusive: [Exclusive]
    /// Sets columns of a record that two or more records have become; see ``Election``.
    public let election: Election?

    /// Tables that triggers of the app compute from this one on each device, such as an FTS5 index.
    ///
    /// Imports run these triggers, so `ubiquity_import` must not guard them. If they may have missed a change, as when
    /// a table is first declared here or a migration has run, the table is emptied and filled again by the INSERT
    /// triggers.
    public let derived: [String]

    /// Chooses the values of a record that several records have become.
    ///
    /// An app needs it if the latest value of each column is not what it wants. It is called once for each pair of
    /// records that a device finds to be one, inside a transaction and off the main thread. It gets the records' values
    /// by column, sorted by key, and returns the columns to set. They are written like a save.
    public typealias Election = @Sendable (_ duplicates: [Row]) throws -> [String: any DatabaseValueConvertible]

    /// Declares a table in the app's schema as synced.
    ///
    /// - Parameters:
    ///   - name: a table with a primary key that the app's migrator creates.
    ///   - access: the accounts that may change its rows. A store with a scope needs it, and no other store takes it.
    ///   - columns: the policies of columns in which the last writer does not win.
    ///   - together: groups of columns that belong together, such as latitude and longitude.
    ///   - unique: columns, or sets of columns, that no two records share: records that share them are one thing.
    ///   - exclusive: sets of columns in which no two records hold equal values at once, though they are two things.
    ///   - excluded: columns that stay on the device. Each must allow NULL or have a default, which arriving records
    ///     get.
    ///   - assignsIntegerKeys: allows a key that SQLite would otherwise count up separately on each device (a rowid
    ///     alias).
    ///   - election: sets columns of a record that two or more records have become.
    ///   - derived: tables that the app's triggers compute from this one, such as an FTS5 index.
    ///   - formerNames: the names that the table had in earlier versions of the schema. They stay declared as long as a
    ///     device, or a log, may use such a version, and are never given to another table.
    ///   - formerColumns: for each renamed column, its former names; these too are never given to another column.
    public init(
        _ name: String, access: TableAccess? = nil, columns: [String: MergePolicy] = [:], together: [[String]] = [],
        unique: [[String]] = [], exclusive: [Exclusive] = [],
        excluding excluded: Set<String> = [], assignsIntegerKeys: Bool = false, election: Election? = nil, derived: [String] = [],
        formerly formerNames: [String] = [], formerColumns: [String: [String]] = [:]
    ) {
        self.name = name
        self.access = access
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
