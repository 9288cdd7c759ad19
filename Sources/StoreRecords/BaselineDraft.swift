internal import Foundation
package import GRDB
internal import Glibc
package import StoreFormat
package import SystemPackage

/// The next content of a store file, made of the pages of a baseline.
///
/// It is a copy of the baseline, whose tables of records and clocks get the names and the statements of the store's
/// tables: only pages of the schema change, which is what SQLite's documentation allows for such a change
/// (sqlite.org/lang_altertable.html, “making other kinds of table schema changes”). Everything else that the store
/// holds is copied from the store: its state, and the app's other tables.
///
/// No other program knows the draft. After a crash the next opening of the store removes it.
package struct BaselineDraft {
    private let baseline: FilePath
    private let header: BaselineHeader
    private let file: StoreFile
    private let target: Target

    private var path: FilePath { Self.path(of: file.path) }

    /// The name under which the store is attached to the draft.
    package static let store = "ubiquity_store"

    private static func path(of store: FilePath) -> FilePath { FilePath(store.string + "-joining") }

    /// Removes a draft that a killed process has left.
    static func remove(of store: FilePath) { for suffix in ["", "-journal"] { unlink(path(of: store).string + suffix) } }

    /// The part of a store's schema that the draft takes over.
    private struct Target {
        /// The names of an entry of the schema in the baseline and in the store, and its statement there.
        struct Entry {
            var baseline: String
            var name: String
            var table: String
            var sql: String?
        }

        var entries: [Entry]
        /// `PRAGMA schema_version` of the store when the entries were read.
        var version: Int
    }

    // MARK: Whether it can be made

    /// Prepares a draft; nothing is written yet.
    ///
    /// It is nil if a table of the store has another form than in the baseline, or if more than the tables depends on the
    /// rows: a trigger of the app, or a table that is computed from them.
    ///
    /// - Parameters:
    ///   - baseline: the file of the baseline.
    ///   - header: its header.
    ///   - file: the store.
    /// - Throws: GRDB's errors.
    package init?(_ baseline: FilePath, _ header: BaselineHeader, for file: StoreFile) throws {
        // With a rollback journal, nobody could read the store meanwhile.
        guard file.pool.isConcurrent, header.tables.allSatisfy({ $0.form != nil }), header.schema == file.migrations.last ?? "",
            header.tables.count == file.shapes.count, let format = Self.format(of: baseline)
        else { return nil }
        let found = try file.pool.read { db in try Self.target(header, file, format, db) }
        guard let found else { return nil }
        (self.baseline, self.header, self.file, target) = (baseline, header, file, found)
    }

    private static func target(_ header: BaselineHeader, _ file: StoreFile, _ format: Format, _ db: Database) throws -> Target? {
        let names = Set(file.shapes.map { $0.name.lowercased() })
        guard try format == Format(db), try !AppTrigger.all(db).contains(where: { names.contains($0.table) }),
            try !Bool.fetchOne(
                db, sql: "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND upper(sql) LIKE 'CREATE VIRTUAL %')")!
        else { return nil }
        let statements = try Row.fetchAll(db, sql: "SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'index')")
            .reduce(into: [String: String]()) { $0[$1["name"]] = $1["sql"] }
        var entries: [Target.Entry] = []
        for table in header.tables {
            guard let shape = file.shapes.first(where: { $0.name == table.table.name }), table.table == shape.logTable, shape.derived.isEmpty,
                let found = try RecordForm.find(shape, db), found.form == table.form
            else { return nil }
            let record = RecordForm.table(table.number)
            entries.append(.init(baseline: record, name: shape.name, table: shape.name, sql: statements[shape.name]))
            for place in found.form.constraints.indices.map({ $0 + 1 }) {
                // A WITHOUT ROWID table has no entry for its key; then nothing is renamed.
                let name = "sqlite_autoindex_\(shape.name)_\(place)"
                entries.append(.init(baseline: "sqlite_autoindex_\(record)_\(place)", name: name, table: shape.name))
            }
            for (place, name) in found.indexNames.enumerated() {
                entries.append(.init(baseline: RecordForm.index(place, of: table.number), name: name, table: shape.name, sql: statements[name]))
            }
            let own = [("clock_\(table.number)", shape.clockTable), ("dead_\(table.number)", shape.deadTable)]
            for ((baseline, name), statement) in zip(own, CaptureTriggers(shape).tables) {
                // SQLite stores the statement without its condition.
                guard statements[name] == statement.replacing("TABLE IF NOT EXISTS", with: "TABLE") else { return nil }
                entries.append(.init(baseline: baseline, name: name, table: name, sql: statements[name]))
            }
        }
        return Target(entries: entries, version: try Int.fetchOne(db, sql: "PRAGMA schema_version")!)
    }

    /// What two files must share so that one can use the other's pages.
    private struct Format: Equatable {
        var pageSize: Int
        var encoding: String
        var isVacuumed: Bool

        init(pageSize: Int, encoding: String, isVacuumed: Bool) { (self.pageSize, self.encoding, self.isVacuumed) = (pageSize, encoding, isVacuumed) }

        init(_ db: Database) throws {
            self.init(
                pageSize: try Int.fetchOne(db, sql: "PRAGMA page_size")!, encoding: try String.fetchOne(db, sql: "PRAGMA encoding")!,
                isVacuumed: try Int.fetchOne(db, sql: "PRAGMA auto_vacuum") != 0)
        }
    }

    /// Reads the format from the first bytes of a file (sqlite.org/fileformat2.html#the_database_header).
    ///
    /// - Returns: nil if the file cannot be read, or reserves bytes in each page.
    private static func format(of file: FilePath) -> Format? {
        guard let descriptor = try? FileDescriptor.open(file, .readOnly, options: [.noFollow, .closeOnExec]) else { return nil }
        let bytes = try? descriptor.closeAfter {
            try [UInt8](unsafeUninitializedCapacity: 100) { buffer, count in count = try descriptor.read(into: .init(buffer)) }
        }
        guard let bytes, bytes.count == 100, bytes[20] == 0 else { return nil }
        func number(_ place: Int, _ count: Int) -> Int { bytes[place..<place + count].reduce(0) { $0 << 8 | Int($1) } }
        guard let encoding = [1: "UTF-8", 2: "UTF-16le", 3: "UTF-16be"][number(56, 4)] else { return nil }
        return Format(pageSize: number(16, 2) == 1 ? 65536 : number(16, 2), encoding: encoding, isVacuumed: number(52, 4) != 0)
    }

    // MARK: Making it

    /// Copies the baseline, and returns the hash of its bytes.
    private func copy() throws(Errno) -> ContentHash {
        do {
            Self.remove(of: file.path)
            let source = try FileDescriptor.open(baseline, .readOnly, options: [.noFollow, .closeOnExec])
            return try source.closeAfter {
                let target = try FileDescriptor.open(
                    path, .writeOnly, options: [.create, .exclusiveCreate, .closeOnExec], permissions: [.ownerReadWrite])
                return try target.closeAfter {
                    let hash = ContentHasher()
                    let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
                    defer { piece.deallocate() }
                    while true {
                        let count = try source.read(into: piece)
                        guard count > 0 else { return hash.value }
                        let bytes = UnsafeRawBufferPointer(rebasing: piece[..<count])
                        hash.update(bytes)
                        try target.writeAll(bytes)
                    }
                }
            }
        } catch let error as Errno {
            throw error
        } catch {
            throw .ioError
        }
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA main.journal_mode = MEMORY; PRAGMA main.synchronous = OFF; PRAGMA main.cache_size = -32768")
        }
        return configuration
    }

    /// Gives the tables of the copy their names and statements in the store.
    private func rename() throws {
        let queue = try DatabaseQueue(path: path.string, configuration: Self.configuration)
        defer { try? queue.close() }
        try queue.writeWithoutTransaction { db in
            let version = try Int.fetchOne(db, sql: "PRAGMA schema_version")!
            try db.execute(sql: "PRAGMA writable_schema = ON")
            try db.inTransaction {
                let entry = try db.makeStatement(sql: "UPDATE sqlite_master SET name = ?, tbl_name = ?, sql = ? WHERE name = ?")
                for target in target.entries { try entry.execute(arguments: [target.name, target.table, target.sql, target.baseline]) }
                return .commit
            }
            try db.execute(sql: "PRAGMA schema_version = \(version + 1); PRAGMA writable_schema = OFF")
        }
        try queue.close()
    }

    /// Runs a body on the draft, with the store and the baselines attached.
    private func withConnection<Result>(attaching baselines: [FilePath], _ body: (Database) throws -> Result) throws -> Result {
        let queue = try DatabaseQueue(path: path.string, configuration: Self.configuration)
        defer { try? queue.close() }
        return try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA ignore_check_constraints = 1")
            let attached =
                [(Self.store, AttachedDatabase.readOnly(file.path))]
                + baselines.enumerated().map { (BaselineJoiner.schema($0), AttachedDatabase.readOnly($1, isImmutable: true)) }
            for (name, path) in attached { try db.execute(sql: "ATTACH DATABASE ? AS \(name)", arguments: [path]) }
            return try body(db)
        }
    }

    /// Adds everything that the store holds besides the records.
    ///
    /// - Parameters:
    ///   - replaced: the tables whose rows the baseline replaces.
    ///   - db: the draft, in a transaction, with the store and the baseline attached.
    /// - Throws: GRDB's errors.
    private func complete(replacing replaced: Set<String>, _ db: Database) throws {
        let own = try Set(String.fetchAll(db, sql: "SELECT name FROM main.sqlite_master"))
        let entries = try Row.fetchAll(db, sql: "SELECT type, name, sql FROM \(Self.store).sqlite_master ORDER BY rowid")
            .map { (type: $0["type"] as String, name: $0["name"] as String, sql: $0["sql"] as String?) }
        let tables = entries.filter { $0.type == "table" }
        for table in tables where !own.contains(table.name) && !table.name.hasPrefix("sqlite_") { try db.execute(sql: table.sql!) }
        if tables.contains(where: { $0.name == "sqlite_stat1" }) { try db.execute(sql: "ANALYZE main.sqlite_master") }
        try copyPeers(db)
        let moved: Set = ["ubiquity_peer", "ubiquity_retired", "sqlite_sequence"]
        let kept = tables.filter { !own.contains($0.name) && !replaced.contains($0.name) && !moved.contains($0.name) }
        // The numbers that AUTOINCREMENT has reached change with the rows, so they are copied last.
        for name in kept.map(\.name) + (tables.contains { $0.name == "sqlite_sequence" } ? ["sqlite_sequence"] : []) {
            if name == "sqlite_sequence" { try db.execute(sql: "DELETE FROM main.sqlite_sequence") }
            try db.execute(sql: CopiedTable(name, in: db).copying(from: Self.store))
        }
        if !replaced.contains("ubiquity_retired") { try copyRetirements(db) }
        try renumberConflicts(db)
        try renumberHistory(db)
        let common = ["baseline", "peer", "knowledge", "hole", "retired", "log", "seen", "synced_table"]
        let spent = common + header.tables.flatMap { ["other_\($0.number)", "same_\($0.number)"] }
        for name in spent { try db.execute(sql: "DROP TABLE main.\(name)") }
        for entry in entries where entry.type != "table" && !own.contains(entry.name) { if let sql = entry.sql { try db.execute(sql: sql) } }
        for pragma in ["application_id", "user_version"] {
            let value = try Int.fetchOne(db, sql: "PRAGMA \(Self.store).\(pragma)") ?? 0
            try db.execute(sql: "PRAGMA main.\(pragma) = \(value)")
        }
    }

    // MARK: Using it

    /// Runs an import's transaction on the draft, and replaces the store's pages by the draft's.
    ///
    /// It costs about as much as copying the file, whatever the number of records. As with
    /// ``StoreFile/importing(attaching:_:)``, readers in every process see the former rows until it returns, saves wait,
    /// and a crash or an error leaves the store as it was.
    ///
    /// - Parameters:
    ///   - others: more baselines, which are attached after that of the draft.
    ///   - replaced: the tables whose rows the baseline replaces.
    ///   - isAllowed: returns whether the rows of the store can be replaced. It is called with the name under which the
    ///     store is attached, while nobody can write to the store.
    ///   - verify: called with the hash of the baseline's bytes before the pages are replaced; throws if the baseline is
    ///     not sound.
    ///   - body: imports into the draft.
    /// - Returns: the result of the body; nil if the rows cannot be replaced. Nothing has changed then.
    /// - Throws: `Errno`, the errors of the closures, or GRDB's errors; nothing has changed then.
    package func importing<Result>(
        attaching others: [FilePath] = [], replacing replaced: [String], if isAllowed: (_ store: String, Database) throws -> Bool,
        verify: (ContentHash) throws -> Void, _ body: (Database) throws -> Result
    ) throws -> Result? {
        defer { Self.remove(of: file.path) }
        let hash = try copy()
        try rename()
        Waypoint.joinCopied.pass()
        return try file.pool.writeWithoutTransaction { store in
            let result = try withConnection(attaching: [baseline] + others) { db -> Result? in
                let pages = try PageReplacement(from: db, to: store)
                guard try Int.fetchOne(db, sql: "PRAGMA \(Self.store).schema_version") == target.version, try isAllowed(Self.store, db)
                else { return nil }
                var result: Result?
                try db.inTransaction(.immediate) {
                    try complete(replacing: Set(replaced), db)
                    result = try body(db)
                    try db.execute(sql: "\(Capture.statement(.noting)) WHERE active <> \(Capture.Mode.noting.rawValue)")
                    return .commit
                }
                try verify(hash)
                Waypoint.joinReplacing.pass()
                try pages.run()
                return result
            }
            guard let result else { return nil }
            try file.checkpoint.begin(file.path, file.pool, after: store)
            // SQLite tells nobody about replaced pages.
            store.clearSchemaCache()
            try store.inTransaction {
                for shape in file.shapes { try store.notifyChanges(in: Table(shape.name)) }
                return .commit
            }
            return result
        }
    }
}

extension BaselineDraft {
    // The clocks of the baseline hold the baseline's numbers of peers.

    private func copyPeers(_ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO main.ubiquity_peer SELECT number, name FROM \(BaselineJoiner.schema(0)).peer;
                INSERT INTO main.ubiquity_peer (name) SELECT name FROM \(Self.store).ubiquity_peer
                WHERE name NOT IN (SELECT name FROM main.ubiquity_peer) ORDER BY number;
                """)
    }

    /// Returns a query for the number in the draft of a peer, by its number in the store.
    package static func peer(_ number: String) -> String {
        "(SELECT here.number FROM \(store).ubiquity_peer there JOIN main.ubiquity_peer here ON here.name = there.name WHERE there.number = \(number))"
    }

    private func copyRetirements(_ db: Database) throws {
        try db.execute(
            sql: "INSERT INTO main.ubiquity_retired SELECT \(Self.peer("r.peer")), receipt, sequence, told FROM \(Self.store).ubiquity_retired r")
    }

    private func renumberHistory(_ db: Database) throws {
        guard try ChangeJournal.isInstalled(db) else { return }
        let numbers = try Row.fetchAll(db, sql: "SELECT p.number, \(Self.peer("p.number")) AS here FROM \(Self.store).ubiquity_peer p")
            .reduce(into: [Int64: Int64]()) { $0[$1["number"]] = $1["here"] }
        guard numbers.contains(where: { $0.key != $0.value }) else { return }
        try ChangeJournal.renumberPeers(db) { number in numbers[number.rawValue].map { PeerNumber(rawValue: $0) } }
    }

    private func renumberConflicts(_ db: Database) throws {
        try db.execute(
            sql: """
                UPDATE main.ubiquity_conflict SET author = coalesce(\(Self.peer("ubiquity_conflict.author")), author),
                winner = coalesce(\(Self.peer("ubiquity_conflict.winner")), winner)
                """)
    }
}
