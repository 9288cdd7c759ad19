package import StoreFormat

/// A reference of a synced table to another's primary key, and what a record shows while its parent does not.
package struct ForeignKey: Sendable, Hashable {
    /// Where a column of a reference stands in its table.
    package enum Column: Sendable, Hashable {
        /// In the primary key, at a place.
        case key(Int)
        /// Among the other columns, by its number.
        case value(Int)
    }

    /// What a record shows whose parent is not shown (DESIGN §5).
    package enum Orphan: Sendable, Hashable {
        /// NULL in place of the reference.
        case null
        /// The columns' defaults in place of the reference, where such a parent is shown.
        case standard([RecordValue])
        /// Nothing: the record is held until its parent is there.
        case held
    }

    /// The columns that refer, in the order of the parent's key.
    package var columns: [Column]
    /// The table that they refer to, by its place among the synced tables.
    package var parent: Int
    /// What is shown in its place.
    package var orphan: Orphan

    package init(columns: [Column], parent: Int, orphan: Orphan) {
        self.columns = columns
        self.parent = parent
        self.orphan = orphan
    }

    /// Whether the reference is a part of its record's name.
    package var isInKey: Bool {
        columns.allSatisfy { if case .key = $0 { true } else { false } }
    }

    /// The value of the reference in a record; nil where one of its columns is NULL, so that it refers to nothing.
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

    /// Puts another reference into a record's values.
    package func set(_ reference: [RecordValue], in values: inout [RecordValue]) {
        for (column, value) in zip(columns, reference) { if case .value(let number) = column { values[number] = value } }
    }

    /// Puts another reference into a record's key.
    package func set(_ reference: [RecordValue], inKey key: inout [RecordValue]) {
        for (column, value) in zip(columns, reference) { if case .key(let place) = column { key[place] = value } }
    }

    /// The columns that are not in the key.
    package var valueColumns: ColumnSet {
        columns.reduce(into: []) { if case .value(let number) = $1 { $0.insert(ColumnSet(column: number)) } }
    }
}
