package import StoreFormat

/// Combines the notes of one table into the changes of a save.
///
/// It is pure, and takes the notes in their order.
package struct CaptureFold {
    /// A note that holds values from before its change.
    package struct Past: Hashable, Sendable {
        /// The number of the note.
        package var note: Int64
        /// The columns whose values it holds.
        package var columns: ColumnSet

        package init(note: Int64, columns: ColumnSet) {
            self.note = note
            self.columns = columns
        }
    }

    /// A row that the notes mention and that may still exist.
    package enum Row: Hashable, Sendable {
        /// The row was inserted after the last seal.
        case born
        /// The row existed, and columns changed.
        ///
        /// The notes are in order, oldest first.
        case changed(Past, later: [Past])
    }

    /// A record that existed at the last seal and then lost its row.
    package struct Ended: Hashable, Sendable {
        package var place: Place
        package var key: [RecordValue]
        /// Whether REPLACE or a change of rowid removed the row.
        ///
        /// If the key exists again, it is the same record, updated.
        package var replaced: Bool
        /// The notes with the former values, oldest first.
        ///
        /// Together they hold every column.
        package var past: [Past]
    }

    package private(set) var rows: [Place: Row] = [:]
    /// The places in the order of their first notes.
    ///
    /// A row that came back may be listed twice.
    package private(set) var order: [Place] = []
    package private(set) var ended: [Ended] = []
    /// The keys of rows that were inserted after the last seal, and are gone again.
    ///
    /// A row of another program may have been read in between.
    package private(set) var vanished: [[RecordValue]] = []
    /// Rows that REPLACE may have removed.
    ///
    /// Only the table itself shows whether it did.
    package private(set) var challenged: [Place: Ended] = [:]
    /// The rows challenged since the last note of another kind.
    private var freshChallenges: Set<Place> = []
    private let allColumns: ColumnSet

    /// Creates an empty fold for a table with these columns.
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
        // With recursive triggers, REPLACE reports its deletion right after the challenge.
        let replaced = freshChallenges.remove(place) != nil
        challenged[place] = nil
        let past = past(of: place, and: note)
        let wasBorn = rows.removeValue(forKey: place) == .born
        if wasBorn {
            vanished.append(key)
        } else {
            ended.append(Ended(place: place, key: key, replaced: replaced, past: past))
        }
    }

    /// Removes a row of `order`.
    ///
    /// Returns nil if the row is deleted again or was removed before.
    package mutating func take(_ place: Place) -> Row? { rows.removeValue(forKey: place) }

    /// Records whether a challenged row has left its place.
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
