package import StoreFormat

/// A reference of a synced table to another's primary key, and what a record shows while its parent is not shown.
package struct ForeignKey: Sendable, Hashable {
    /// The position of a referring column in its table.
    package enum Column: Sendable, Hashable {
        /// In the primary key, at a place.
        case key(Int)
        /// Among the other columns, by its number.
        case value(Int)
    }

    /// The row of a record whose parent is not shown.
    package enum Orphan: Sendable, Hashable {
        /// NULL in place of the reference.
        case null
        /// The columns' defaults in place of the reference, if the parent that they name is shown.
        case standard([RecordValue])
        /// No row: the record is held until its parent is shown.
        case held
    }

    /// The columns that refer, in the order of the parent's key.
    package var columns: [Column]
    /// The index of the parent table among the synced tables.
    package var parent: Int
    /// The row of a record without its parent.
    package var orphan: Orphan

    package init(columns: [Column], parent: Int, orphan: Orphan) {
        self.columns = columns
        self.parent = parent
        self.orphan = orphan
    }

    /// Whether the reference is a part of the primary key.
    package var isInKey: Bool {
        columns.allSatisfy { if case .key = $0 { true } else { false } }
    }

    /// Returns the reference of a record, or nil if one of its columns is NULL, so that it refers to nothing.
    package func reference(key: [RecordValue], values: [RecordValue]) -> [RecordValue]? {
        var reference: [RecordValue] = []
        for column in columns {
            let value =
                switch column {
                case .key(let place): key[place]
                case .value(let number): values[number]
                }
            if value == .null { return nil }
            reference.append(value)
        }
        return reference
    }

    /// Replaces the reference in a record's values.
    package func set(_ reference: [RecordValue], in values: inout [RecordValue]) {
        for (column, value) in zip(columns, reference) { if case .value(let number) = column { values[number] = value } }
    }

    /// Replaces the reference in a record's key.
    package func set(_ reference: [RecordValue], inKey key: inout [RecordValue]) {
        for (column, value) in zip(columns, reference) { if case .key(let place) = column { key[place] = value } }
    }

    /// The referring columns that are not in the key.
    package var valueColumns: ColumnSet {
        columns.reduce(into: []) { if case .value(let number) = $1 { $0.insert(ColumnSet(column: number)) } }
    }
}
