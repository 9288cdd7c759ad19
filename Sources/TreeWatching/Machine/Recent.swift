/// Notes, grouped by the read of events before them.
///
/// A note that is made while events are handled describes the current file system, which is ahead of the known events.
/// The index has reached the state of the note only after a later read found the queue empty and all its events were
/// handled.
struct Recent<Note> {
    private var notes: [(note: Note, read: UInt32)] = []
    private var read: UInt32 = 0

    var isEmpty: Bool { notes.isEmpty }
    var all: [Note] { notes.map(\.note) }

    mutating func append(_ note: Note) { notes.append((note, read)) }
    mutating func removeAll() { notes.removeAll() }
    mutating func removeAll(where isMeant: (Note) -> Bool) { notes.removeAll { isMeant($0.note) } }

    /// Records that events have been read.
    mutating func beginNext() { if !notes.isEmpty { read &+= 1 } }

    /// Removes and returns the notes from before the last read.
    mutating func takeOlder() -> [Note] {
        if notes.isEmpty { return [] }
        let older = notes.filter { $0.read != read }.map(\.note)
        if !older.isEmpty { notes.removeAll { $0.read != read } }
        return older
    }
}
