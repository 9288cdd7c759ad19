package import StoreFormat

/// What the notes of one table come to, once a save's are all there: pure, in the order of the notes.
package struct CaptureFold {
    /// A note that holds values from before the change that it tells of.
    package struct Past: Hashable, Sendable {
        /// The note's number.
        package var note: Int64
        /// The columns whose values it holds.
        package var columns: ColumnSet

        package init(note: Int64, columns: ColumnSet) {
            self.note = note
            self.columns = columns
        }
    }

    /// A row that the notes tell of and that may be there still.
    package enum Row: Hashable, Sendable {
        /// It came to be since the last seal.
        case born
        /// It was there, and columns changed: the notes, oldest first.
        case changed(Past, later: [Past])
    }

    /// A record that was there at the last seal and then lost its row.
    package struct Ended: Hashable, Sendable {
        package var place: Place
        package var key: [RecordValue]
        /// By REPLACE or by a change of rowid: if the key is there again, it is the same record, updated.
        package var replaced: Bool
        /// The notes that hold what it was, oldest first; together they hold every column.
        package var past: [Past]
    }

    package private(set) var rows: [Place: Row] = [:]
    /// Their places as they were first told of; one that came back may stand here twice.
    package private(set) var order: [Place] = []
    package private(set) var ended: [Ended] = []
    /// Rows that REPLACE may have taken; nobody but the table can tell.
    package private(set) var challenged: [Place: Ended] = [:]
    /// The rows challenged since the last note of another kind.
    private var freshChallenges: Set<Place> = []
    private let allColumns: ColumnSet

    /// A fold of no notes yet, of a table with these columns.
    package init(allColumns: ColumnSet) { self.allColumns = allColumns }

    package var isEmpty: Bool { order.isEmpty && ended.isEmpty && challenged.isEmpty }

    package mutating func inserted(_ place: Place) {
        freshChallenges = []
        if let taken = challenged.removeValue(forKey: place) { ended.append(taken) }
        if rows.updateValue(.born, forKey: place) == nil { order.append(place) }
    }

    package mutating func updated(_ place: Place, _ columns: ColumnSet, note: Int64) {
        freshChallenges = []
        let past = Past(note: note, columns: columns)
        switch rows[place] {
        case .born: break
        case .changed(let first, var later):
            later.append(past)
            rows[place] = .changed(first, later: later)
        case nil:
            rows[place] = .changed(past, later: [])
            order.append(place)
        }
    }

    package mutating func challenged(_ place: Place, key: [RecordValue], note: Int64) {
        freshChallenges.insert(place)
        guard rows[place] != .born else { return }
        challenged[place] = Ended(place: place, key: key, replaced: true, past: past(of: place, and: note))
    }

    package mutating func deleted(_ place: Place, key: [RecordValue], note: Int64) {
        // With recursive triggers, REPLACE tells of its deletion right after the challenge.
        let replaced = freshChallenges.remove(place) != nil
        challenged[place] = nil
        let past = past(of: place, and: note)
        let wasBorn = rows.removeValue(forKey: place) == .born
        if !wasBorn { ended.append(Ended(place: place, key: key, replaced: replaced, past: past)) }
    }

    /// Takes out a row of `order`; nil where it is gone again, or was taken before.
    package mutating func take(_ place: Place) -> Row? { rows.removeValue(forKey: place) }

    /// Says that a challenged row is no longer where it was, or still is.
    package mutating func resolveChallenge(of place: Place, tookPlace: Bool) {
        guard let taken = challenged.removeValue(forKey: place), tookPlace else { return }
        rows[place] = nil
        ended.append(taken)
    }

    private func past(of place: Place, and note: Int64) -> [Past] {
        let all = Past(note: note, columns: allColumns)
        guard case .changed(let first, let later) = rows[place] else { return [all] }
        return [first] + later + [all]
    }
}
