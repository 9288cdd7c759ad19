/// What the notes of one table come to, once a save's are all there: pure, in the order of the notes.
struct CaptureFold {
    /// A row that the notes tell of and that may be there still.
    enum Row: Hashable {
        /// It came to be since the last seal.
        case born
        /// It was there, and these columns changed.
        case changed(ColumnSet)
    }

    /// A record that was there at the last seal and then lost its row.
    struct Ended: Hashable {
        var rid: Int64
        var key: [RecordValue]
        /// By REPLACE or by a change of rowid: if the key is there again, it is the same record, updated.
        var replaced: Bool
    }

    private(set) var rows: [Int64: Row] = [:]
    /// Their rowids as they were first told of; one that came back may stand here twice.
    private(set) var order: [Int64] = []
    private(set) var ended: [Ended] = []
    /// Rows that REPLACE may have taken; nobody but the table can tell.
    private(set) var challenged: [Int64: [RecordValue]] = [:]
    /// The rows challenged since the last note of another kind.
    private var freshChallenges: Set<Int64> = []

    var isEmpty: Bool { order.isEmpty && ended.isEmpty && challenged.isEmpty }

    mutating func inserted(_ rid: Int64) {
        freshChallenges = []
        if let key = challenged.removeValue(forKey: rid) { ended.append(Ended(rid: rid, key: key, replaced: true)) }
        if rows.updateValue(.born, forKey: rid) == nil { order.append(rid) }
    }

    mutating func updated(_ rid: Int64, _ columns: ColumnSet) {
        freshChallenges = []
        switch rows[rid] {
        case .born: break
        case .changed(let earlier): rows[rid] = .changed(earlier.union(columns))
        case nil:
            rows[rid] = .changed(columns)
            order.append(rid)
        }
    }

    mutating func challenged(_ rid: Int64, key: [RecordValue]) {
        freshChallenges.insert(rid)
        if rows[rid] != .born { challenged[rid] = key }
    }

    mutating func deleted(_ rid: Int64, key: [RecordValue]) {
        // With recursive triggers, REPLACE tells of its deletion right after the challenge.
        let replaced = freshChallenges.remove(rid) != nil
        challenged[rid] = nil
        let wasBorn = rows.removeValue(forKey: rid) == .born
        if !wasBorn { ended.append(Ended(rid: rid, key: key, replaced: replaced)) }
    }

    /// Takes out a row of `order`; nil where it is gone again, or was taken before.
    mutating func take(_ rid: Int64) -> Row? { rows.removeValue(forKey: rid) }

    /// Says that a challenged row is no longer where it was.
    mutating func resolveChallenge(of rid: Int64, tookPlace: Bool) {
        guard let key = challenged.removeValue(forKey: rid), tookPlace else { return }
        rows[rid] = nil
        ended.append(Ended(rid: rid, key: key, replaced: true))
    }
}
