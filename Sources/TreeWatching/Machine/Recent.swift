/// Things that were noted, by the read of events after which they were.
///
/// What is noted while events are worked on concerns the file system as it is, which is ahead of the events that are known. Only when a later read has
/// found the queue empty, and all of it is taken in, has the index caught up with the note.
struct Recent<Note> {
    private var notes: [(note: Note, read: UInt32)] = []
    private var read: UInt32 = 0

    var isEmpty: Bool { notes.isEmpty }
    var all: [Note] { notes.map(\.note) }

    mutating func append(_ note: Note) { notes.append((note, read)) }
    mutating func removeAll() { notes.removeAll() }
    mutating func removeAll(where isMeant: (Note) -> Bool) { notes.removeAll { isMeant($0.note) } }

    /// Events have been read.
    mutating func beginNext() { if !notes.isEmpty { read &+= 1 } }

    /// Removes what was noted before the last read.
    mutating func takeOlder() -> [Note] {
        if notes.isEmpty { return [] }
        let older = notes.filter { $0.read != read }.map(\.note)
        if !older.isEmpty { notes.removeAll { $0.read != read } }
        return older
    }
}
