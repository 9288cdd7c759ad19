internal import Foundation
package import GRDB
internal import StoreExchange
internal import StoreFormat
package import StoreRecords
package import SystemPackage
internal import UbiquityContainers

/// The problems found in a store file and its container; the check writes nothing.
package struct StoreCheck: Sendable, Codable {
    /// One problem.
    package struct Problem: Sendable, Codable, Hashable {
        /// The part of the store with the problem.
        package enum Kind: String, Sendable, Codable {
            case database, clock, outbox, container
        }

        package var kind: Kind
        /// The table or file.
        package var subject: String
        /// The problem and its remedy.
        package var detail: String
    }

    package var file: String
    package var account: String
    package var container: String
    package var content: String
    package var peer: String
    /// The problems that were found.
    package var problems: [Problem] = []
    /// The parts that could not be checked, with the reasons.
    package var remarks: [String] = []
    /// The app's tables that it declares neither as synced nor as local.
    package var undeclared: [String] = []
    /// The numbers of records, sealed logs and published logs that were checked.
    package var records = 0
    package var sealed = 0
    package var published = 0

    package init(
        file: String, account: String, container: String, content: String, peer: String, problems: [Problem] = [], remarks: [String] = [],
        records: Int = 0, sealed: Int = 0, published: Int = 0
    ) {
        self.file = file
        self.account = account
        self.container = container
        self.content = content
        self.peer = peer
        self.problems = problems
        self.remarks = remarks
        self.records = records
        self.sealed = sealed
        self.published = published
    }
}

extension InspectedStore {
    /// Returns the location of the store's container below a containers root.
    ///
    /// - Parameter root: the containers root.
    /// - Returns: the store's account, and the container's directory.
    /// - Throws: GRDB's errors.
    package func container(below root: FilePath) throws -> (account: String, path: FilePath) {
        try read { db in
            let state = try StoreState.read(db)
            return (state.account, root.appending(state.account).appending(state.container))
        }
    }

    /// Returns the files in quarantine.
    ///
    /// - Returns: the list.
    /// - Throws: GRDB's errors.
    package func quarantined() throws -> [QuarantinedLog] { try read { db in try QuarantinedLog.list(db) } }

    /// Checks the file, and compares it with the container's files.
    ///
    /// - Parameter container: the container's directory; nil to check only the file.
    /// - Returns: the result.
    /// - Throws: GRDB's errors, if the file cannot be read at all.
    package func check(container: FilePath?) throws -> StoreCheck {
        try read { db in
            let state = try StoreState.read(db)
            var check = StoreCheck(
                file: file.string, account: state.account, container: state.container, content: state.content, peer: state.peer.description)
            for line in try String.fetchAll(db, sql: "PRAGMA quick_check") where line != "ok" { check.report(.database, file.string, line) }
            try check.compareTables(db)
            check.undeclared = try UndeclaredTables.all(db)
            try check.followOutbox(state, db)
            if let container { try check.comparePublished(state, container, db) }
            return check
        }
    }
}

extension StoreCheck {
    fileprivate mutating func report(_ kind: Problem.Kind, _ subject: String, _ detail: String) {
        problems.append(Problem(kind: kind, subject: subject, detail: detail))
    }

    /// Compares each table with its clocks.
    package mutating func compareTables(_ db: Database) throws {
        for row in try Row.fetchAll(db, sql: "SELECT number, name, key FROM ubiquity_table ORDER BY name") {
            try compareClocks(number: row["number"], table: row["name"], keys: (row["key"] as String).components(separatedBy: "\n"), db)
        }
    }

    /// Checks that each row has a clock of an odd life and each clock a row, and that no key is both dead and alive.
    fileprivate mutating func compareClocks(number: Int64, table: String, keys: [String], _ db: Database) throws {
        guard try db.tableExists(table) else {
            return report(.clock, table, "the table is missing, but its records' stamps exist: restore the schema")
        }
        if try Adopter.isAdopting(Int64(number), db) {
            remarks.append("\(table): its rows are still being adopted, so that rows and stamps were not compared; open the store once")
            return
        }
        let noted = try Int.fetchOne(db, sql: "SELECT count(*) FROM ubiquity_capture_\(number)")!
        guard noted == 0 else {
            remarks.append("\(table): \(noted) writes are noted and not sealed, so that rows and stamps were not compared; open the store once")
            return
        }
        let unresolved = "ubiquity_unresolved_\(number)"
        let marked = try db.tableExists(unresolved) ? Int.fetchOne(db, sql: "SELECT count(*) FROM \(unresolved)")! : 0
        guard marked == 0 else {
            remarks.append("\(table): \(marked) records are not resolved yet, so that rows and stamps were not compared; open the store once")
            return
        }
        let rows = table.quotedIdentifier
        let clocks = "ubiquity_clock_\(number)"
        let same = keys.enumerated().map { "r.\($1.quotedIdentifier) = c.k\($0)" }.joined(separator: " AND ")
        let hasRowid = try db.columns(in: clocks).contains { $0.name == "rid" }
        let place = hasRowid ? "r.rowid = c.rid" : same
        records += try Int.fetchOne(db, sql: "SELECT count(*) FROM \(rows)")!
        let shown = keys.indices.map { "a.s\($0) = c.k\($0)" }.joined(separator: " AND ")
        let shownRow = keys.enumerated().map { "r.\($1.quotedIdentifier) = a.s\($0)" }.joined(separator: " AND ")
        let aside = "ubiquity_aside_\(number)"
        let findings = [
            ("rows have no stamp", "SELECT count(*) FROM \(rows) r WHERE NOT EXISTS (SELECT 1 FROM \(clocks) c WHERE \(place))"),
            ("stamps have no row", "SELECT count(*) FROM \(clocks) c WHERE NOT EXISTS (SELECT 1 FROM \(rows) r WHERE \(place))"),
            ("rows have the stamp of a dead record", "SELECT count(*) FROM \(clocks) WHERE life % 2 = 0"),
            // A row can show a record with another key.
            (
                "rows are listed among the dead",
                """
                SELECT count(*) FROM \(rows) r JOIN ubiquity_dead_\(number) c ON \(same)
                WHERE NOT EXISTS (SELECT 1 FROM \(aside) a WHERE held IS NULL AND \(shown))
                """
            ),
            (
                "records should be shown but are not",
                "SELECT count(*) FROM \(aside) a WHERE held IS NULL AND NOT EXISTS (SELECT 1 FROM \(rows) r WHERE \(shownRow))"
            ),
            ("references dangle", "SELECT count(*) FROM pragma_foreign_key_check('\(table.replacing("'", with: "''"))')"),
        ]
        for (what, sql) in findings {
            let count = try Int.fetchOne(db, sql: sql)!
            if count > 0 { report(.clock, table, "\(count) \(what): move the store file aside, and it is filled again from the container") }
        }
    }

    /// Checks that the sealed logs are intact and of this peer, and that each names the one before it.
    fileprivate mutating func followOutbox(_ state: StoreState, _ db: Database) throws {
        var before: (sequence: Int64, hash: ContentHash)?
        for name in try Outbox.names(db) {
            sealed += 1
            let bytes = [UInt8](try Data.fetchOne(db, sql: "SELECT bytes FROM ubiquity_outbox WHERE sequence = ?", arguments: [name.sequence])!)
            do throws(LogFault) {
                // A log with rights is signed when it is published.
                let header = try LogFile(unsigned: bytes).header
                guard ContentHash(of: bytes) == name.hash else { throw LogFault.damaged("its bytes do not have the hash beside it") }
                if header.peer != state.peer { report(.outbox, name.description, "it is a log of \(header.peer), and the store is \(state.peer)") }
                if let before, name.sequence != before.sequence + 1 || header.predecessor != before.hash {
                    report(.outbox, name.description, "it does not follow log \(before.sequence)")
                }
            } catch {
                report(.outbox, name.description, error.description)
            }
            before = (name.sequence, name.hash)
        }
        guard let before else { return }
        if before.sequence != state.sequence || before.hash != state.predecessor {
            report(.outbox, "\(before.sequence)", "the store's last log is another one, \(state.sequence)")
        }
    }

    /// Returns the last own log that a baseline contains: it and earlier ones may have been removed.
    private func trimmed(_ state: StoreState, _ layout: ContentLayout, _ register: LogRegister, _ files: LinuxFileLayer) throws -> Int64 {
        let reader = BaselineReader(layout: layout, contentName: state.content, epoch: state.epoch)
        var last: Int64 = 0
        let directories = PeerFolders(layout: layout, files: files)
        for peer in try files.names(in: layout.directory).compactMap({ PeerIdentifier($0) }) {
            // A baseline that cannot be read does not count.
            for name in ((try? directories.names(in: layout.baselines(of: peer, epoch: state.epoch))) ?? []).compactMap({ BaselineName($0) }) {
                guard let header = try? reader.header(of: BaselineID(peer: peer, name: name), clock: state.clock) else { continue }
                last = max(last, try header.knowledge.passed(state.peer) { try register.contains($0, of: state.peer) })
            }
        }
        return last
    }

    /// Checks that the published logs exist and are intact, and that no others exist.
    fileprivate mutating func comparePublished(_ state: StoreState, _ container: FilePath, _ db: Database) throws {
        let directory = ContentLayout(container: container, content: state.content).logs(of: state.peer, epoch: state.epoch)
        let files = LinuxFileLayer()
        let there: [LogFileName]
        do {
            there = try files.names(in: directory).compactMap { LogFileName($0) }.sorted()
        } catch {
            if state.attached { report(.container, directory.string, "it cannot be listed (\(error)); nothing is published until it is back") }
            return
        }
        let register = try LogRegister(own: state.peer, db)
        for name in there {
            let log = (try? files.read(directory.appending(name.description), limit: LogFile.limit)).flatMap {
                try? LogFile(decoding: $0, named: name)
            }
            if try !register.contains(name.position, of: state.peer) {
                let detail =
                    log == nil
                    ? "it has the name of a log of this store, but is not one"
                    : "this store does not remember it: another copy of it is in use, and it will take a new identifier"
                report(.container, directory.appending(name.description).string, detail)
            } else if log == nil {
                report(.container, directory.appending(name.description).string, "it is damaged: devices without it wait for it")
            }
        }
        let remembered = try Row.fetchAll(
            db, sql: "SELECT sequence, hash FROM ubiquity_log JOIN ubiquity_peer ON number = peer WHERE name = ? ORDER BY sequence",
            arguments: [state.peer.description]
        ).compactMap { row in ContentHash(bytes: row["hash"] as Data).map { LogFileName(sequence: row["sequence"], hash: $0) } }
        published = remembered.count
        let names = Set(there)
        let trimmed = try trimmed(state, ContentLayout(container: container, content: state.content), register, files)
        for name in remembered where !names.contains(name) && name.sequence > trimmed {
            report(.container, directory.appending(name.description).string, "it was published and is gone: devices without it wait for it")
        }
    }
}
