import Foundation
import SystemPackage
import UbiquityContainers
import UbiquityStores

/// A value of a record's column that a conflict history lists, or should list.
struct LostValue: Hashable {
    var record: String
    var column: String
    var value: String

    init(_ record: ObjectID, _ column: String, _ value: RecordValue) {
        self.record = record.description
        self.column = column
        self.value = value.description
    }
}

/// The result of a container's logs by the written rules, computed slowly and without a database.
struct LogModel {
    /// A log's position among its author's logs; forks have several logs with one sequence.
    private struct Position: Hashable {
        var peer: String
        var sequence: Int64
    }

    /// A write of one column, or without a column a deletion.
    private struct Write {
        var life: Int64
        var column: String?
        var value: RecordValue
        var time: Int64
        /// The peer of the stamp.
        var peer: String
        /// The log that contains it.
        var log: ContentHash
    }

    let tables: [SimulatedTable]
    private var writes: [ObjectID: [Write]] = [:]
    /// The logs by their hashes, with the positions that their authors had read.
    private var logs: [ContentHash: LogFile] = [:]

    /// Reads every log of a content, in the arbitrary order of the directory.
    ///
    /// - Parameters:
    ///   - container: the container.
    ///   - contentName: the content's name.
    ///   - elsewhere: the directories of logs that are not in the content any more, or never were.
    ///   - known: the logs among those elsewhere that some peer has joined.
    ///   - isWhole: whether every log in the content is complete.
    ///   - epoch: the current epoch.
    ///   - tables: the synced tables.
    /// - Throws: `LogFault`, or Foundation's errors.
    init(
        container: FilePath, contentName: String, elsewhere: [FilePath] = [], known: Set<ContentHash> = [], isWhole: Bool = true, epoch: Int64 = 1,
        tables: [SimulatedTable]
    ) throws {
        self.tables = tables
        let content = container.appending("CoreData").appending(contentName)
        for directory in [content] + elsewhere {
            for path in try FileManager.default.subpathsOfDirectory(atPath: directory.string) {
                guard let name = FilePath(path).lastComponent?.string, let parsed = LogFileName(name), logs[parsed.hash] == nil else { continue }
                let bytes = [UInt8](try Data(contentsOf: URL(filePath: directory.appending(path).string)))
                // Some logs that were removed, or came from a lost device, had arrived only partly.
                if directory != content || !isWhole, ContentHash(of: bytes) != parsed.hash { continue }
                if directory != content, !known.contains(parsed.hash) { continue }
                let log = try LogFile(decoding: bytes)
                // Logs from before the removal of the content have no effect.
                guard log.header.epoch == epoch else { continue }
                logs[parsed.hash] = log
                try take(log, parsed.hash)
            }
        }
    }

    private mutating func take(_ log: LogFile, _ hash: ContentHash) throws {
        let contents = try LogBody.decode(log)
        for group in contents.groups {
            let peer = (group.peer ?? log.header.peer).description
            for entry in group.same { same[contents.tables[entry.table].name, default: []].insert(entry.fact) }
            for rows in group.rows {
                let table = contents.tables[rows.table]
                try rows.forEach(in: table) { change in
                    let id = ObjectID(table: table.name, key: change.key.map(\.detached))
                    func note(_ column: String?, _ value: RecordValue) {
                        writes[id, default: []].append(
                            Write(
                                life: change.life, column: column, value: value.detached, time: group.time.rawValue,
                                peer: group.time == .least ? "" : peer, log: hash))
                    }
                    if change.columns.isEmpty { note(nil, .null) }
                    var values = change.values.makeIterator()
                    change.columns.forEach { note(table.columns[$0], values.next()!) }
                }
            }
        }
    }

    /// Returns the current life of a record: the largest.
    private func life(_ record: ObjectID) -> Int64 { writes[record]!.reduce(0) { max($0, $1.life) } }

    /// Returns the write that a column shows; nil if there is none.
    private func winner(_ record: ObjectID, _ column: String, _ policy: MergePolicy) -> Write? {
        let life = life(record)
        return greatest(writes[record]!.filter { $0.life == life && $0.column == column }, policy)
    }

    private func greatest(_ candidates: [Write], _ policy: MergePolicy) -> Write? {
        func isEarlier(_ left: Write, _ right: Write) -> Bool {
            if (left.time, left.peer) == (right.time, right.peer) { return left.value.compare(right.value) == .less }
            return (left.time, left.peer) < (right.time, right.peer)
        }
        switch policy {
        case .lastWriter: return candidates.max(by: isEarlier)
        case .firstWriter: return candidates.filter { $0.time > 0 }.min(by: isEarlier)
        case .maximum: return candidates.max { $0.value.compare($1.value) == .less }
        case .minimum: return candidates.filter { $0.value != .null }.min { $0.value.compare($1.value) == .less }
        }
    }

    /// The pairs of records that some peer found to be one, by table.
    private(set) var same: [String: Set<SameAs>] = [:]

    /// Returns the life of each record of a table; for dead records the last life.
    func lives(_ table: String) -> [[RecordValue]: (life: Int64, isAlive: Bool)] {
        var lives: [[RecordValue]: (life: Int64, isAlive: Bool)] = [:]
        for record in writes.keys where record.table == table {
            let life = life(record)
            lives[record.key] = life.isMultiple(of: 2) ? (life - 1, false) : (life, true)
        }
        return lives
    }

    /// Returns the stamp of a column among several records that are one.
    func stamp(of column: String, of keys: [[RecordValue]], in table: SimulatedTable) -> (time: Int64, peer: String) {
        let policy = table.policies[column] ?? .lastWriter
        let winners = keys.compactMap { winner(ObjectID(table: table.name, key: $0), column, policy) }
        return greatest(winners, policy).map { ($0.time, $0.peer) } ?? (0, "")
    }

    /// Returns the value of a column among several records that are one: the greatest of theirs.
    func value(_ column: String, of keys: [[RecordValue]], in table: SimulatedTable) -> RecordValue {
        let policy = table.policies[column] ?? .lastWriter
        let winners = keys.compactMap { winner(ObjectID(table: table.name, key: $0), column, policy) }
        return greatest(winners, policy)?.value ?? .null
    }
}

extension LogModel {
    /// Returns a value that is not in the content, was not replaced by a peer that had seen it, and is not listed.
    func firstLost(listed: Set<LostValue>) -> String? {
        var seen: [ContentHash: Set<ContentHash>] = [:]
        for hash in logs.keys { _ = reach(hash, &seen) }
        for (record, all) in writes {
            guard let table = tables.first(where: { $0.name == record.table }) else { continue }
            let life = life(record)
            // A write without an author loses to every other write.
            for write in all where write.value != .null && write.time > 0 {
                let column = write.column!
                let policy = table.policies[column] ?? .lastWriter
                guard policy == .lastWriter || policy == .firstWriter else { continue }
                if write.life == life, winner(record, column, policy)?.value == write.value { continue }
                // A peer that had seen an equal value there, from any author, has seen this one: a restored backup
                // repeats its writes.
                let twins = all.filter { $0.life == write.life && $0.column == column && $0.value == write.value }
                let isReplaced = all.contains { other in
                    (other.life > write.life || other.life == write.life && other.column == column && other.value != write.value)
                        && twins.contains { other.log != $0.log && seen[other.log]!.contains($0.log) }
                }
                if isReplaced || listed.contains(LostValue(record, column, write.value)) { continue }
                // Within one log, the last write replaces earlier ones.
                let isRewritten = all.contains { other in
                    other.log == write.log && other.time > write.time
                        && (other.life > write.life || other.life == write.life && other.column == column)
                }
                if isRewritten { continue }
                return "\(record) lost \(column) = \(write.value) of life \(write.life) by \(write.peer)"
            }
        }
        return nil
    }

    /// Returns the logs that the author of a log had joined, including its own.
    private func reach(_ hash: ContentHash, _ seen: inout [ContentHash: Set<ContentHash>]) -> Set<ContentHash> {
        if let known = seen[hash] { return known }
        var found: Set<ContentHash> = [hash]
        let header = logs[hash]!.header
        seen[hash] = found
        var before = [header.predecessor].compactMap { $0 } + header.news.entries.map(\.position.hash)
        if let predecessor = header.predecessor, logs[predecessor] == nil {
            // The log was lost with its device; the author's earlier logs come before it.
            before += logs.filter { $0.value.header.peer == header.peer && $0.value.header.sequence < header.sequence }.map(\.key)
        }
        for other in before where logs[other] != nil { found.formUnion(reach(other, &seen)) }
        seen[hash] = found
        return found
    }
}
