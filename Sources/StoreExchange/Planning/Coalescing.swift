internal import Foundation
internal import GRDB
internal import StoreFormat
internal import StoreRecords

/// How saves wait for each other, to go out as one log.
///
/// Each is sealed by itself, in its own transaction; a log of several holds each with its own stamp. `publish()` and `settled()` wait
/// for nothing.
public struct Coalescing: Sendable, Hashable {
    /// How long a save waits at most, while a process has the store open.
    public var maximumDelay: Duration
    /// The bytes of waiting logs at which they go out at once, and the most that one log of several holds.
    public var maximumSize: Int

    /// Limits.
    ///
    /// - Parameters:
    ///   - maximumDelay: how long a save waits at most.
    ///   - maximumSize: in bytes; from there on they go out at once.
    public init(maximumDelay: Duration, maximumSize: Int = 1 << 20) {
        self.maximumDelay = maximumDelay
        self.maximumSize = maximumSize
    }
}

extension Outbox {
    /// What waits for more saves: how many logs, of how many bytes.
    static func open(_ db: Database) throws -> (count: Int, bytes: Int) {
        let row = try Row.fetchOne(db, sql: "SELECT count(*), total(length(bytes)) FROM ubiquity_outbox WHERE open")!
        return (row[0], Int(row[1] as Double))
    }

    /// Makes one log of the logs at the end that wait for more, and lets all go out.
    ///
    /// What has once been let go is never written again, for it may have been published.
    static func close(maximumSize: Int, _ db: Database) throws {
        let rows = try Row.fetchAll(db, sql: "SELECT sequence, length(bytes), open FROM ubiquity_outbox ORDER BY sequence")
        let waiting = rows.suffix(from: (rows.lastIndex { !($0[2] as Bool) } ?? -1) + 1)
        try db.execute(sql: "UPDATE ubiquity_outbox SET open = 0 WHERE open")
        guard waiting.count > 1, let first: Int64 = waiting.first?[0] else { return }
        var state = try StoreState.read(db)
        state.sequence = first - 1
        state.predecessor = try log(first, db).log.header.predecessor
        var merger = LogMerger()
        var (time, size, merged) = (HybridTime.least, 0, [] as [Int64])
        func post() throws {
            // One that stays as it is need not be written again.
            if merged == [state.sequence + 1], try log(merged[0], db).log.header.predecessor == state.predecessor {
                state.sequence += 1
                state.predecessor = try hash(of: state.sequence, db)
            } else {
                let (header, body) = merger.finish(sequence: state.sequence + 1, predecessor: state.predecessor)
                // New sequences are never above old ones: the row to be written is free.
                for sequence in merged { try db.execute(sql: "DELETE FROM ubiquity_outbox WHERE sequence = ?", arguments: [sequence]) }
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
