internal import Foundation
internal import GRDB
internal import StoreFormat
internal import StoreRecords

/// The limits within which saves wait for each other, to be published as one log.
///
/// Each save is sealed in its own transaction, and keeps its own stamp in the log. `publish()` and `settled()` do not
/// wait.
public struct Coalescing: Sendable, Hashable {
    /// The longest time that a save waits while a process has the store open.
    public var maximumDelay: Duration
    /// The size of the waiting logs at which they are published at once, in bytes.
    ///
    /// It is also the largest size of a log that holds several saves.
    public var maximumSize: Int

    /// Creates limits.
    ///
    /// - Parameters:
    ///   - maximumDelay: the longest time that a save waits.
    ///   - maximumSize: the size of the waiting logs at which they are published at once, in bytes.
    public init(maximumDelay: Duration, maximumSize: Int = 1 << 20) {
        self.maximumDelay = maximumDelay
        self.maximumSize = maximumSize
    }
}

extension Outbox {
    /// Returns the number and the total size of the logs that wait for more saves.
    static func open(_ db: Database) throws -> (count: Int, bytes: Int) {
        let row = try Row.fetchOne(db.cachedStatement(sql: "SELECT count(*), total(length(bytes)) FROM ubiquity_outbox WHERE open"))!
        return (row[0], Int(row[1] as Double))
    }

    /// Merges the last logs, which wait for more saves, into one, and releases all logs for publishing.
    ///
    /// A released log is never written again, because it may have been published.
    static func close(maximumSize: Int, _ db: Database) throws {
        let rows = try Row.fetchAll(db.cachedStatement(sql: "SELECT sequence, length(bytes), open FROM ubiquity_outbox ORDER BY sequence"))
        let waiting = rows.suffix(from: (rows.lastIndex { !($0[2] as Bool) } ?? -1) + 1)
        try db.cachedStatement(sql: "UPDATE ubiquity_outbox SET open = 0 WHERE open").execute()
        guard waiting.count > 1, let first: Int64 = waiting.first?[0] else { return }
        var state = try StoreState.read(db)
        state.sequence = first - 1
        state.predecessor = try log(first, db).log.header.predecessor
        var merger = LogMerger()
        var (time, size, merged) = (HybridTime.least, 0, [] as [Int64])
        func post() throws {
            // A log that stays as it is needs no rewrite.
            if merged == [state.sequence + 1], try log(merged[0], db).log.header.predecessor == state.predecessor {
                state.sequence += 1
                state.predecessor = try hash(of: state.sequence, db)
            } else {
                let (header, body) = merger.finish(sequence: state.sequence + 1, predecessor: state.predecessor)
                // A new sequence is never above the old one, so the row is free.
                for sequence in merged {
                    try db.cachedStatement(sql: "DELETE FROM ubiquity_outbox WHERE sequence = ?").execute(arguments: [sequence])
                }
                state.predecessor = try append(header, body: body, time: time, db)
                state.sequence = header.sequence
            }
            (merger, time, size, merged) = (LogMerger(), .least, 0, [])
        }
        for row in waiting {
            let next = try log(row[0], db)
            if size > 0, size + (row[1] as Int) > maximumSize || !merger.takes(next.log) { try post() }
            try merger.add(next.log)
            time = max(time, next.time)
            size += row[1] as Int
            merged.append(row[0])
        }
        try post()
        try state.update(db)
    }
}
