internal import StoreFormat

/// Records that are one, and what is to be shown of them: nearly always a record alone.
final class Entity {
    /// What is to be shown.
    enum Outcome: Equatable {
        /// A row with these values.
        case shown([RecordValue])
        /// Nothing, for a reason.
        case held(String)
        /// Nothing, for no record of it is alive.
        case dead
    }

    let table: Int
    /// The keys that mean it, of dead records too.
    let keys: [[RecordValue]]
    /// The living records, that to which a save of the row is written first.
    var members: [Registers]
    /// The key under which it is shown.
    let shownKey: [RecordValue]
    /// The keys of the rows that show it, or a part of it, so far.
    let formerRows: [[RecordValue]]
    /// Its columns, each from the record that has the greatest.
    var joined: Registers
    var outcome = Outcome.dead
    /// What it shows otherwise than it was written, since another record holds that.
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

/// A record of one of the synced tables, by the table's place among them.
struct RecordName: Hashable {
    var table: Int
    var key: [RecordValue]
}
