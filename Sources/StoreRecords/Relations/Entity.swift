internal import StoreFormat

/// The records that are one, and what is shown for them; nearly always this is a single record.
final class Entity {
    /// The outcome of computing the row of an entity.
    enum Outcome: Equatable {
        /// A row with these values.
        case shown([RecordValue])
        /// No row, with the reason.
        case held(String)
        /// No row, because none of its records is alive.
        case dead
    }

    let table: Int
    /// The keys of all its records, including dead ones.
    let keys: [[RecordValue]]
    /// The living records; a save of the row is written to the first.
    var members: [Registers]
    /// The key of the row that is shown for it.
    let shownKey: [RecordValue]
    /// The keys of the rows that have shown it, or a part of it, so far.
    let formerRows: [[RecordValue]]
    /// The entity's columns, each with the value of the record whose register is greatest.
    var joined: Registers
    var outcome = Outcome.dead
    /// The columns that show another value than was written, because another record holds the written value.
    var moved: [MovedRow] = []

    init(
        table: Int, keys: [[RecordValue]], members: [Registers], shownKey: [RecordValue], formerRows: [[RecordValue]], joined: Registers
    ) {
        self.table = table
        self.keys = keys
        self.members = members
        self.shownKey = shownKey
        self.formerRows = formerRows
        self.joined = joined
        if !members.isEmpty { outcome = .shown(joined.values) }
    }

    var isShown: Bool { if case .shown = outcome { true } else { false } }

    /// Whether its row is exactly the registers of its one record.
    var isPlain: Bool { members.count == 1 && members[0].key == shownKey && outcome == .shown(members[0].values) }
}

/// A record of one of the synced tables, with the table's index.
struct RecordName: Hashable {
    var table: Int
    var key: [RecordValue]
}
