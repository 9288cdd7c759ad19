import Foundation
import SystemPackage
import UbiquityContainers
import UbiquityStores

/// A value of one column of one record that a conflict history lists, or should.
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

/// What a container's logs come to, joined by the rules as they are written down, slowly and without a database.
struct LogModel {
    /// A log's place among its author's; forks have several of one sequence.
    private struct Position: Hashable {
        var peer: String
        var sequence: Int64
    }

    /// One column's write, or with no column a death.
    private struct Write {
        var life: Int64
        var column: String?
        var value: RecordValue
        var time: Int64
        /// Whose stamp it is.
        var peer: String
        /// The log that it stands in.
        var log: ContentHash
    }

    let tables: [SimulatedTable]
    private var writes: [ObjectID: [Write]] = [:]
    /// The logs by their hashes, and what each says that its author had read.
    private var logs: [ContentHash: LogFile] = [:]

    /// Reads every log of a content, in the order of the directory: which is no order at all.
    ///
    /// - Parameters:
    ///   - container: the container.
    ///   - contentName: the content's name.
    ///   - elsewhere: where logs are that are there no more, or never were.
    ///   - known: the logs that some peer has taken in, of those that are elsewhere.
    ///   - isWhole: whether every log that is there is whole.
    ///   - epoch: the one that counts.
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
                // Of what was removed, or came from a device that is lost, some had arrived in part only.
                if directory != content || !isWhole, ContentHash(of: bytes) != parsed.hash { continue }
                if directory != content, !known.contains(parsed.hash) { continue }
                let log = try LogFile(decoding: bytes)
                // What was there before the content was removed shows nowhere.
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

    /// The life of a record that counts: the largest.
    private func life(_ record: ObjectID) -> Int64 { writes[record]!.reduce(0) { max($0, $1.life) } }

    /// The write that a column shows; nil where none does.
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

    /// The life that each record of a table is in, or was in last when it was alive.
    func lives(_ table: String) -> [[RecordValue]: (life: Int64, isAlive: Bool)] {
        var lives: [[RecordValue]: (life: Int64, isAlive: Bool)] = [:]
        for record in writes.keys where record.table == table {
            let life = life(record)
            lives[record.key] = life.isMultiple(of: 2) ? (life - 1, false) : (life, true)
        }
        return lives
    }

    /// When a column of one of several records that are one was written.
    func stamp(of column: String, of keys: [[RecordValue]], in table: SimulatedTable) -> (time: Int64, peer: String) {
        let policy = table.policies[column] ?? .lastWriter
        let winners = keys.compactMap { winner(ObjectID(table: table.name, key: $0), column, policy) }
        return greatest(winners, policy).map { ($0.time, $0.peer) } ?? (0, "")
    }

    /// What a column of one of several records that are one holds: the greatest that any of them does.
    func value(_ column: String, of keys: [[RecordValue]], in table: SimulatedTable) -> RecordValue {
        let policy = table.policies[column] ?? .lastWriter
        let winners = keys.compactMap { winner(ObjectID(table: table.name, key: $0), column, policy) }
        return greatest(winners, policy)?.value ?? .null
    }
}

extension LogModel {
    /// The first value, in no order, that is not in the content, was replaced by nobody who had seen it, and is not listed.
    func firstLost(listed: Set<LostValue>) -> String? {
        var seen: [ContentHash: Set<ContentHash>] = [:]
        for hash in logs.keys { _ = reach(hash, &seen) }
        for (record, all) in writes {
            guard let table = tables.first(where: { $0.name == record.table }) else { continue }
            let life = life(record)
            // What is nobody's loses to anybody's.
            for write in all where write.value != .null && write.time > 0 {
                let column = write.column!
                let policy = table.policies[column] ?? .lastWriter
                guard policy == .lastWriter || policy == .firstWriter else { continue }
                if write.life == life, winner(record, column, policy)?.value == write.value { continue }
                // Whoever had seen the same value there, from whomever, has seen this: a restored backup says again what it had said.
                let twins = all.filter { $0.life == write.life && $0.column == column && $0.value == write.value }
                let isReplaced = all.contains { other in
                    (other.life > write.life || other.life == write.life && other.column == column && other.value != write.value)
                        && twins.contains { other.log != $0.log && seen[other.log]!.contains($0.log) }
                }
                if isReplaced || listed.contains(LostValue(record, column, write.value)) { continue }
                // Within one log, what stands there last has taken the place of what came before.
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

    /// The logs that the author of a log had taken in, its own included.
    private func reach(_ hash: ContentHash, _ seen: inout [ContentHash: Set<ContentHash>]) -> Set<ContentHash> {
        if let known = seen[hash] { return known }
        var found: Set<ContentHash> = [hash]
        let header = logs[hash]!.header
        seen[hash] = found
        var before = [header.predecessor].compactMap { $0 } + header.news.entries.map(\.position.hash)
        if let predecessor = header.predecessor, logs[predecessor] == nil {
            // Lost with its device: behind it lie the others of its author.
            before += logs.filter { $0.value.header.peer == header.peer && $0.value.header.sequence < header.sequence }.map(\.key)
        }
        for other in before where logs[other] != nil { found.formUnion(reach(other, &seen)) }
        seen[hash] = found
        return found
    }
}
