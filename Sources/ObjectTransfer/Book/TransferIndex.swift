internal import ContentHashing
internal import Foundation
internal import GRDB
package import SystemPackage
package import UbiquityContainers

/// Keeps a book across runs of the agent.
package protocol TransferMemory: Sendable {
    /// Reads what is kept; nil if nothing is, or it cannot be read.
    func load(_ account: AccountName) throws -> TransferBook?
    /// Keeps what has changed, as a whole and in order; intents and the state durably.
    func save(_ changes: TransferBook.Changes) throws
}

/// The index: a SQLite file in the device home.
///
/// It may be lost; then bulletins and one listing tell the same.
package final class TransferIndex: TransferMemory {
    private let queue: DatabaseQueue

    /// The format; an index of another one is thrown away.
    private static let format = 2

    /// Opens an index, or begins one where there is none or the file cannot be used.
    ///
    /// - Parameter path: the SQLite file, in a directory that exists.
    /// - Throws: GRDB's errors.
    package init(_ path: FilePath) throws {
        do {
            queue = try Self.open(path)
        } catch let error as DatabaseError where [.SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_SCHEMA].contains(error.resultCode) {
            for suffix in ["", "-wal", "-shm", "-journal"] { try? FileManager.default.removeItem(atPath: path.string + suffix) }
            queue = try Self.open(path)
        }
    }

    private static func open(_ path: FilePath) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA journal_mode = WAL") }
        let queue = try DatabaseQueue(path: path.string, configuration: configuration)
        try queue.write { db in
            let found = try Int.fetchOne(db, sql: "PRAGMA user_version")!
            if found == 1 {
                // The first format knew no documents.
                try db.execute(
                    sql: "CREATE TABLE document (path TEXT NOT NULL PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID; PRAGMA user_version = \(format)"
                )
            } else if found != format {
                guard found == 0 else { throw DatabaseError(resultCode: .SQLITE_SCHEMA) }
                try db.execute(
                    sql: """
                        CREATE TABLE file (path TEXT NOT NULL PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;
                        CREATE TABLE document (path TEXT NOT NULL PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;
                        CREATE TABLE state (state BLOB NOT NULL);
                        PRAGMA user_version = \(format);
                        """)
            }
        }
        return queue
    }

    package func load(_ account: AccountName) throws -> TransferBook? {
        if let book = try read(account) { return book }
        // What cannot be read is begun again, and does not come back.
        try queue.write { db in try db.execute(sql: "DELETE FROM file; DELETE FROM document; DELETE FROM state") }
        return nil
    }

    private func read(_ account: AccountName) throws -> TransferBook? {
        try queue.read { db in
            guard let bytes = try Data.fetchOne(db, sql: "SELECT state FROM state"),
                let state = try? JSONDecoder().decode(StateRow.self, from: bytes).state(account)
            else { return nil }
            var files: [TransferPath: TransferRecord] = [:]
            let rows = try Row.fetchCursor(db, sql: "SELECT path, record FROM file")
            while let row = try rows.next() {
                guard let path = TransferPath(row["path"], of: account),
                    let record = try? JSONDecoder().decode(RecordRow.self, from: row["record"]).record
                else { return nil }
                files[path] = record
            }
            var documents: [DocumentPath: DocumentRecord] = [:]
            let documentRows = try Row.fetchCursor(db, sql: "SELECT path, record FROM document")
            while let row = try documentRows.next() {
                guard let path = DocumentPath(row["path"]), let record = try? JSONDecoder().decode(DocumentRecord.self, from: row["record"]) else {
                    return nil
                }
                documents[path] = record
            }
            return TransferBook(account: account, state, files: files, documents: documents)
        }
    }

    package func save(_ changes: TransferBook.Changes) throws {
        try queue.writeWithoutTransaction { db in
            // That a file has been sent or fetched may be lost in a power failure, but not out of order: it is found out again.
            // So only intents and bulletins wait for the disk.
            let isFoundOut =
                changes.state == nil && changes.files.values.allSatisfy { $0?.intent == nil }
                && changes.documents.values.allSatisfy { $0?.intent == nil }
            try db.execute(sql: "PRAGMA synchronous = \(isFoundOut ? "NORMAL" : "FULL")")
            try db.inTransaction {
                try Self.save(changes, db)
                return .commit
            }
        }
    }

    private static func save(_ changes: TransferBook.Changes, _ db: Database) throws {
        let set = try db.cachedStatement(sql: "INSERT OR REPLACE INTO file VALUES (?,?)")
        let remove = try db.cachedStatement(sql: "DELETE FROM file WHERE path = ?")
        let encoder = JSONEncoder()
        for (path, record) in changes.files {
            if let record {
                try set.execute(arguments: [path.description, try encoder.encode(RecordRow(record))])
            } else {
                try remove.execute(arguments: [path.description])
            }
        }
        let setDocument = try db.cachedStatement(sql: "INSERT OR REPLACE INTO document VALUES (?,?)")
        let removeDocument = try db.cachedStatement(sql: "DELETE FROM document WHERE path = ?")
        for (path, record) in changes.documents {
            if let record {
                try setDocument.execute(arguments: [path.description, try encoder.encode(record)])
            } else {
                try removeDocument.execute(arguments: [path.description])
            }
        }
        if let state = changes.state {
            try db.execute(sql: "DELETE FROM state")
            try db.execute(sql: "INSERT INTO state VALUES (?)", arguments: [try encoder.encode(StateRow(state))])
        }
    }

    /// Closes the file.
    package func close() throws { try queue.close() }
}

// MARK: Rows

private struct VersionRow: Codable {
    var size: Int64
    var sha256: String

    init(_ version: FileDigest) { (size, sha256) = (version.size, version.hash.description) }

    var version: FileDigest {
        get throws { FileDigest(size: size, hash: try ContentHash(hexadecimal: sha256).required) }
    }
}

private struct RecordRow: Codable {
    var local: VersionRow?
    var here: Bool?
    var missed: Bool?
    var intent: VersionRow?
    var uploaded: VersionRow?
    var removed: Bool?
    var vouches: [String: VersionRow]?
    var withdrawn: [String]?
    var doomed: Date?

    init(_ record: TransferRecord) {
        (local, here, intent) = (record.local.map(VersionRow.init), record.isHere ? true : nil, record.intent.map(VersionRow.init))
        missed = record.isMissed ? true : nil
        switch record.untold {
        case .uploaded(let version): uploaded = VersionRow(version)
        case .removed: removed = true
        case nil: break
        }
        if !record.vouches.isEmpty {
            vouches = Dictionary(uniqueKeysWithValues: record.vouches.map { ($0.description, VersionRow($1)) })
        }
        if !record.withdrawn.isEmpty { withdrawn = record.withdrawn.map(\.description) }
        doomed = record.doomed
    }

    var record: TransferRecord {
        get throws {
            var record = TransferRecord()
            (record.local, record.isHere, record.isMissed) = (try local?.version, here ?? false, missed ?? false)
            (record.intent, record.doomed) = (try intent?.version, doomed)
            if let uploaded { record.untold = .uploaded(try uploaded.version) }
            if removed == true { record.untold = .removed }
            for (device, version) in vouches ?? [:] { record.vouches[try TransferDevice(device).required] = try version.version }
            for device in withdrawn ?? [] { record.withdrawn.insert(try TransferDevice(device).required) }
            return record
        }
    }
}

private struct StateRow: Codable {
    struct Seen: Codable {
        var inventory: Int64
        var names: [String]
        var peers: [String]
    }

    var device: String
    var number: Int64
    var newest: String?
    var bulletins: Int
    var entries: Int
    var draft: String?
    var draftBytes: Data?
    var canary: UUID?
    var seen: [String: Seen]
    var doomed: [String: Date]?

    init(_ state: TransferBook.State) {
        (device, number, newest) = (state.device.description, state.number, state.newest?.description)
        (bulletins, entries, canary) = (state.bulletinsSinceInventory, state.entriesSinceInventory, state.canary)
        doomed = state.doomed.isEmpty ? nil : Dictionary(uniqueKeysWithValues: state.doomed.map { ($0.description, $1) })
        (draft, draftBytes) = (state.draft?.name.description, state.draft.map { Data($0.bytes) })
        seen = Dictionary(
            uniqueKeysWithValues: state.seen.map { device, seen in
                (device.description, Seen(inventory: seen.inventory, names: seen.names.map(\.description), peers: seen.peers.map(\.description)))
            })
    }

    func state(_ account: AccountName) throws -> TransferBook.State {
        var state = TransferBook.State(
            device: try TransferDevice(device).required, number: number, newest: try newest.map { try ContentHash(hexadecimal: $0).required },
            bulletinsSinceInventory: bulletins, entriesSinceInventory: entries, draft: nil, canary: canary, seen: [:])
        for (piece, date) in doomed ?? [:] { state.doomed[try ContentHash(hexadecimal: piece).required] = date }
        if let draft, let draftBytes { state.draft = .init(name: try BulletinName(draft).required, bytes: [UInt8](draftBytes)) }
        for (device, row) in seen {
            var seen = TransferBook.Seen()
            seen.inventory = row.inventory
            seen.names = Set(try row.names.map { try BulletinName($0).required })
            seen.peers = Set(try row.peers.map { try PeerIdentifier($0).required })
            state.seen[try TransferDevice(device).required] = seen
        }
        return state
    }
}

extension Optional {
    /// The value that a row of the index must have.
    fileprivate var required: Wrapped {
        get throws {
            guard let self else { throw DatabaseError(resultCode: .SQLITE_CORRUPT) }
            return self
        }
    }
}
