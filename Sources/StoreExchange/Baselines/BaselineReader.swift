internal import Foundation
internal import GRDB
package import StoreFormat
internal import StoreRecords
internal import SystemPackage
package import UbiquityContainers

/// Reads baselines defensively, because any program may have written or damaged the file.
///
/// Its connection cannot write and runs no function that a schema names (sqlite.org/pragma.html#pragma_trusted_schema).
/// It reads no rows before it has compared the schema, word for word, with the schema of a baseline.
package struct BaselineReader {
    package let contentName: String
    package let epoch: Int64
    /// Returns where a baseline lies.
    let path: @Sendable (BaselineID) -> FilePath
    /// The largest life that a record can have; nil for the limit that follows from a baseline's knowledge.
    var lives: LifeLimit?

    /// Reads the baselines of a content.
    package init(layout: ContentLayout, contentName: String, epoch: Int64) {
        self.init(contentName: contentName, epoch: epoch) { layout.baseline($0, epoch: epoch) }
    }

    /// Reads baselines that lie elsewhere.
    init(contentName: String, epoch: Int64, path: @escaping @Sendable (BaselineID) -> FilePath) {
        (self.contentName, self.epoch, self.path) = (contentName, epoch, path)
    }

    /// Reads the header of a baseline.
    ///
    /// - Parameters:
    ///   - id: the baseline.
    ///   - clock: the highest stamp seen so far.
    /// - Returns: its header.
    /// - Throws: `LogFault` if the file can never be used in this state; `Errno` if it cannot be read now.
    package func header(of id: BaselineID, clock: HybridTime) throws -> BaselineHeader {
        try open(id) { db in
            let header = try readHeader(db)
            guard header.peer == id.peer, header.sequence == id.name.sequence else {
                throw LogFault.damaged("it is baseline \(header.sequence) of \(header.peer)")
            }
            guard header.epoch == epoch else { throw LogFault.damaged("it is a baseline of epoch \(header.epoch)") }
            guard header.contentName == contentName else { throw LogFault.damaged("it is a baseline of the content “\(header.contentName)”") }
            guard header.clock.isPlausible(after: clock) else {
                throw LogFault.damaged("it has a stamp beyond the year 2200: its writer's clock is wrong")
            }
            return header
        }
    }

    /// Reads a whole baseline and checks everything that can be wrong with it.
    ///
    /// - Parameters:
    ///   - id: the baseline.
    ///   - header: its header.
    /// - Throws: `LogFault`, or `Errno`.
    package func verify(_ id: BaselineID, _ header: BaselineHeader) throws {
        // Both parts read the whole file and take about as long.
        let check = check(id, header)
        try check.finish(ContentHash(ofFile: path(id)))
    }

    /// Begins to check a whole baseline, while the caller reads its bytes.
    func check(_ id: BaselineID, _ header: BaselineHeader) -> BaselineCheck {
        BaselineCheck(expecting: id.name.hash) {
            try open(id) { db in
                let faults = try String.fetchAll(db, sql: "PRAGMA quick_check(1)")
                guard faults == ["ok"] else { throw LogFault.damaged("SQLite finds it damaged: \(faults.first ?? "")") }
                try verifyRecords(header, db)
            }
        }
    }

    private func verifyRecords(_ header: BaselineHeader, _ db: Database) throws {
        try verifyLogs(header, db)
        let rows = BaselineRows(header: header, lives: lives)
        for table in header.tables { try rows.verify(table, db) }
    }

    /// Checks that the list of logs is well-formed, and that it contains every log of the knowledge.
    private func verifyLogs(_ header: BaselineHeader, _ db: Database) throws {
        // The header has been read from the same table, so each number is one of a peer.
        let peers = "SELECT number FROM peer"
        let isTime = "typeof(time) = 'integer' AND time BETWEEN 0 AND \(header.clock.rawValue)"
        for (condition, what) in [
            (
                """
                SELECT 1 FROM log WHERE (peer IN (\(peers)) AND typeof(sequence) = 'integer' AND sequence BETWEEN 1 AND \(Knowledge.Position.lastSequence)
                AND typeof(hash) = 'blob' AND length(hash) = 32 AND \(isTime)) IS NOT TRUE
                """, "a log in its list is malformed"
            ),
            (
                "SELECT 1 FROM seen WHERE (author IN (\(peers)) AND peer IN (\(peers)) AND \(isTime)) IS NOT TRUE",
                "the list of stamps that its peers had seen is malformed"
            ),
            (
                "SELECT peer, sequence, hash FROM knowledge EXCEPT SELECT peer, sequence, hash FROM log",
                "its knowledge names a log that it does not list"
            ),
            ("SELECT peer, sequence, hash FROM hole INTERSECT SELECT peer, sequence, hash FROM log", "it lists a log that it also calls missing"),
            (
                "SELECT 1 FROM hole WHERE (typeof(hash) = 'blob' AND length(hash) = 32 AND typeof(followed) = 'integer' AND followed IN (0, 1)) IS NOT TRUE",
                "a log that it calls missing is malformed"
            ),
            (
                "SELECT peer, sequence + 1 FROM hole WHERE followed EXCEPT SELECT peer, sequence FROM log",
                "it does not list the log that follows a missing one"
            ),
            (
                """
                SELECT 1 FROM retired WHERE (peer IN (\(peers)) AND typeof(receipt) = 'integer' AND receipt BETWEEN 0 AND \(Retirement.limit)
                AND typeof(sequence) = 'integer' AND sequence BETWEEN 0 AND \(Retirement.limit)) IS NOT TRUE
                """, "a peer that it retires is malformed"
            ),
        ] where try Bool.fetchOne(db, sql: "SELECT EXISTS (\(condition))")! {
            throw LogFault.damaged(what)
        }
    }

    /// Calls a body with each log that a baseline holds.
    ///
    /// - Parameters:
    ///   - id: the baseline, which has been verified.
    ///   - header: its header.
    ///   - body: receives each log.
    /// - Throws: `LogFault`, or `Errno`.
    package func forEachLog(of id: BaselineID, _ header: BaselineHeader, _ body: (PeerIdentifier, LogFileName) -> Void) throws {
        try open(id) { db in
            let rows = try Row.fetchCursor(db, sql: "SELECT peer, sequence, hash FROM log")
            while let row = try rows.next() {
                if let log = Log(row, header.peers) { body(log.peer, LogFileName(sequence: log.position.sequence, hash: log.position.hash)) }
            }
        }
    }

    /// Returns those of the given logs that a baseline does not hold.
    func lacking(
        _ logs: [(peer: PeerIdentifier, position: Knowledge.Position)], _ id: BaselineID, _ header: BaselineHeader
    ) throws -> [(peer: PeerIdentifier, position: Knowledge.Position)] {
        let numbers = Dictionary(header.peers.map { ($0.value, $0.key) }) { first, _ in first }
        return try open(id) { db in
            let isHeld = try db.makeStatement(sql: "SELECT EXISTS (SELECT 1 FROM log WHERE peer = ? AND sequence = ? AND hash = ?)")
            return try logs.filter { log in
                try !Bool.fetchOne(isHeld, arguments: [numbers[log.peer], log.position.sequence, Data(log.position.hash.bytes)])!
            }
        }
    }

    /// A row of `log`, `hole` or `knowledge`.
    fileprivate struct Log {
        var peer: PeerIdentifier
        var position: Knowledge.Position
    }

    private func open<Result>(_ id: BaselineID, _ body: (Database) throws -> Result) throws -> Result {
        let path = path(id)
        guard try LinuxFileLayer().kind(of: path) == .file else {
            if try LinuxFileLayer().kind(of: path) == nil { throw Errno.noSuchFileOrDirectory }
            throw LogFault.damaged("it is a pipe, a link, a directory or another special file")
        }
        var configuration = Configuration()
        configuration.readonly = true
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA query_only = ON")
        }
        do {
            let queue = try DatabaseQueue(path: AttachedDatabase.readOnly(path, isImmutable: true), configuration: configuration)
            defer { try? queue.close() }
            return try queue.unsafeRead(body)
        } catch let error as DatabaseError {
            throw Self.explained(error)
        } catch is RowDecodingError {
            throw LogFault.damaged("its header is malformed")
        }
    }

    /// Returns the error that an SQLite error while reading a baseline means.
    ///
    /// A device that is short of memory, of disk space or of a lock has not found the baseline damaged.
    static func explained(_ error: DatabaseError) -> any Error {
        switch error.fault {
        case .disk, .memory, .connection, .interruption, .access(.opening), .access(.permission): Errno.ioError
        case .content, .file, .virtualTable, .program, .access(.readOnly), .access(.writing):
            LogFault.damaged("it is not an intact SQLite image of a baseline (\(error.message ?? "damaged"))")
        }
    }

    private func readHeader(_ db: Database) throws -> BaselineHeader {
        guard try Int.fetchOne(db, sql: "PRAGMA application_id") == BaselineSchema.applicationID else { throw LogFault.damaged("it is no baseline") }
        let format = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        guard format <= BaselineSchema.format else { throw LogFault.newer("it has format \(format)") }
        // The indexes of keys and constraints have no statement.
        let found = try String.fetchAll(
            db,
            sql: """
                SELECT coalesce(sql, '') FROM sqlite_master
                WHERE sql IS NOT NULL OR type <> 'index' OR name NOT LIKE 'sqlite\\_autoindex\\_record\\_%' ESCAPE '\\'
                """)
        guard Set(found).isSuperset(of: BaselineSchema.common) else { throw LogFault.damaged("it has other tables than a baseline") }
        let tables = try Row.fetchAll(db, sql: "SELECT number, name, keys, columns FROM synced_table ORDER BY number").map { row in
            guard let number = Int64.fromDatabaseValue(row["number"]), let name = String.fromDatabaseValue(row["name"]),
                let keys = Self.list(row["keys"]), let columns = Self.list(row["columns"]), !keys.isEmpty, columns.count <= ColumnSet.capacity
            else { throw LogFault.damaged("it describes an impossible table") }
            let table = LogBody.Table(name: name, keyColumns: keys, columns: columns)
            guard format > BaselineSchema.joinedFormat else { return BaselineHeader.Table(number: number, table: table) }
            guard let form = RecordForm(among: found, number, keys: keys.count, values: columns.count) else {
                throw LogFault.damaged("it has other tables than a baseline")
            }
            return BaselineHeader.Table(number: number, table: table, form: form)
        }
        guard Set(tables.map(\.table.name)).count == tables.count else { throw LogFault.damaged("it describes a table twice") }
        guard found.sorted() == BaselineSchema.statements(tables).sorted() else { throw LogFault.damaged("it has other tables than a baseline") }
        var peers: [Int64: PeerIdentifier] = [:]
        peers.reserveCapacity(try Int.fetchOne(db, sql: "SELECT count(*) FROM peer")!)
        let names = try RawStatement("SELECT number, name FROM peer", db)
        defer { names.reset() }
        while try names.step() {
            guard (1...Self.lastPeer).contains(names.integer(0)), names.isText(1), let peer = names.text(1).flatMap({ PeerIdentifier($0) }) else {
                throw LogFault.damaged("it names an impossible peer")
            }
            peers[names.integer(0)] = peer
        }
        guard Set(peers.values).count == peers.count else { throw LogFault.damaged("it names a peer twice") }
        var knowledge = Knowledge()
        for row in try Row.fetchAll(db, sql: "SELECT peer, sequence, hash FROM knowledge") {
            guard let log = Log(row, peers) else { throw LogFault.damaged("its knowledge is malformed") }
            knowledge.insert(log.position, of: log.peer)
        }
        for row in try Row.fetchAll(db, sql: "SELECT peer, sequence, hash FROM hole") {
            guard let log = Log(row, peers) else { throw LogFault.damaged("its knowledge is malformed") }
            knowledge.insertHole(log.position, of: log.peer)
        }
        var retired: [PeerIdentifier: Retirement] = [:]
        for row in try Row.fetchAll(db, sql: "SELECT peer, receipt, sequence FROM retired") {
            guard let peer = Int64.fromDatabaseValue(row["peer"]).flatMap({ peers[$0] }), let receipt = Int64.fromDatabaseValue(row["receipt"]),
                let sequence = Int64.fromDatabaseValue(row["sequence"])
            else { throw LogFault.damaged("a peer that it retires is malformed") }
            retired[peer] = Retirement(receipt: receipt, sequence: sequence)
        }
        let logs = try Int64.fetchOne(db, sql: "SELECT count(*) FROM log")!
        guard let row = try Row.fetchOne(db, sql: "SELECT * FROM baseline"), let content = String.fromDatabaseValue(row["content"]),
            let epoch = Int64.fromDatabaseValue(row["epoch"]), let peer = String.fromDatabaseValue(row["peer"]).flatMap({ PeerIdentifier($0) }),
            let sequence = Int64.fromDatabaseValue(row["sequence"]), let schema = String.fromDatabaseValue(row["schema"]),
            let created = Double.fromDatabaseValue(row["created"]), let clock = Int64.fromDatabaseValue(row["clock"]), clock >= 0,
            created <= Self.lastSecond, peers.values.contains(peer)
        else { throw LogFault.damaged("its header is malformed") }
        return BaselineHeader(
            contentName: content, epoch: epoch, peer: peer, sequence: sequence, schema: schema, created: Date(timeIntervalSince1970: max(0, created)),
            clock: HybridTime(rawValue: clock), peers: peers, knowledge: knowledge, retired: retired, logs: logs, tables: tables)
    }

    /// The largest number of a peer.
    ///
    /// A store numbers its peers from 1, and continues after the numbers that it takes from a baseline.
    private static let lastPeer: Int64 = 1 << 32
    /// The last second of a date, in the year 10889, as in a log.
    ///
    /// No calendar accepts a later date. A date before 1970 is a wrong clock's, and counts as 1970.
    private static let lastSecond = Double(1 << 48) / 1000

    private static func list(_ value: DatabaseValue) -> [String]? {
        String.fromDatabaseValue(value).flatMap { try? JSONDecoder().decode([String].self, from: Data($0.utf8)) }
    }
}

extension BaselineReader.Log {
    fileprivate init?(_ row: Row, _ peers: [Int64: PeerIdentifier]) {
        guard let peer = Int64.fromDatabaseValue(row["peer"]).flatMap({ peers[$0] }), let sequence = Int64.fromDatabaseValue(row["sequence"]),
            (1...Knowledge.Position.lastSequence).contains(sequence),
            let hash = Data.fromDatabaseValue(row["hash"]).flatMap({ ContentHash(bytes: $0) })
        else { return nil }
        self.init(peer: peer, position: .init(sequence: sequence, hash: hash))
    }
}
