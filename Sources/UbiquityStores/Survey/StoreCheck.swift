internal import Foundation
internal import GRDB
package import SystemPackage
internal import UbiquityContainers

/// What a look at a store file and its container finds wrong; it writes nothing.
package struct StoreCheck: Sendable, Codable {
    /// One thing that is not as it should be.
    package struct Problem: Sendable, Codable, Hashable {
        /// What is concerned.
        package enum Kind: String, Sendable, Codable {
            case database, clock, outbox, container
        }

        package var kind: Kind
        /// The table or file.
        package var subject: String
        /// What is wrong with it, and what to do.
        package var detail: String
    }

    package var file: String
    package var account: String
    package var container: String
    package var content: String
    package var peer: String
    /// What was found wrong.
    package var problems: [Problem] = []
    /// What could not be looked at, and why.
    package var remarks: [String] = []
    /// How many records, sealed logs and published logs were looked at.
    package var records = 0
    package var sealed = 0
    package var published = 0
}

extension StoreInspection {
    /// Where the store's container is, below a containers root.
    ///
    /// - Parameter root: the containers root.
    /// - Returns: the account whose store it is, and the container's directory.
    /// - Throws: GRDB's errors.
    package func container(below root: FilePath) throws -> (account: String, path: FilePath) {
        try read { db in
            let state = try StoreState.read(db)
            return (state.account, root.appending(state.account).appending(state.container))
        }
    }

    /// The files that the store cannot use.
    ///
    /// - Returns: the list.
    /// - Throws: GRDB's errors.
    package func quarantined() throws -> [QuarantinedLog] { try read { db in try QuarantinedLog.list(db) } }

    /// Compares the file with itself, and with what lies in the container.
    ///
    /// - Parameter container: the container's directory; nil to look at the file alone.
    /// - Returns: what was found.
    /// - Throws: GRDB's errors, where the file cannot be read at all.
    package func check(container: FilePath?) throws -> StoreCheck {
        try read { db in
            let state = try StoreState.read(db)
            var check = StoreCheck(
                file: file.string, account: state.account, container: state.container, content: state.content, peer: state.peer.description)
            for line in try String.fetchAll(db, sql: "PRAGMA quick_check") where line != "ok" { check.report(.database, file.string, line) }
            try check.compareTables(db)
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

    /// Compares each table with what is kept of its records.
    mutating func compareTables(_ db: Database) throws {
        for row in try Row.fetchAll(db, sql: "SELECT number, name, key FROM ubiquity_table ORDER BY name") {
            try compareClocks(number: row["number"], table: row["name"], keys: (row["key"] as String).components(separatedBy: "\n"), db)
        }
    }

    /// Each row has a clock of an odd life, and each clock a row; no key is among the dead and the living.
    fileprivate mutating func compareClocks(number: Int64, table: String, keys: [String], _ db: Database) throws {
        guard try db.tableExists(table) else {
            return report(.clock, table, "the table is gone, and its records' stamps are there: put the schema back")
        }
        if try Adopter.isAdopting(Int64(number), db) {
            remarks.append("\(table): its rows are still being taken over, so that rows and stamps were not compared; open the store once")
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
            remarks.append("\(table): what \(marked) records show is not found out, so that rows and stamps were not compared; open the store once")
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
            // A row may show a record whose key it has not.
            (
                "rows are listed among the dead",
                """
                SELECT count(*) FROM \(rows) r JOIN ubiquity_dead_\(number) c ON \(same)
                WHERE NOT EXISTS (SELECT 1 FROM \(aside) a WHERE held IS NULL AND \(shown))
                """
            ),
            (
                "records should be shown and are not",
                "SELECT count(*) FROM \(aside) a WHERE held IS NULL AND NOT EXISTS (SELECT 1 FROM \(rows) r WHERE \(shownRow))"
            ),
            ("references dangle", "SELECT count(*) FROM pragma_foreign_key_check('\(table.replacing("'", with: "''"))')"),
        ]
        for (what, sql) in findings {
            let count = try Int.fetchOne(db, sql: sql)!
            if count > 0 { report(.clock, table, "\(count) \(what): move the store file aside, and it is filled again from the container") }
        }
    }

    /// The sealed logs are whole, of this peer, and each names the one before it.
    fileprivate mutating func followOutbox(_ state: StoreState, _ db: Database) throws {
        var before: (sequence: Int64, hash: ContentHash)?
        for name in try Outbox.names(db) {
            sealed += 1
            let bytes = [UInt8](try Data.fetchOne(db, sql: "SELECT bytes FROM ubiquity_outbox WHERE sequence = ?", arguments: [name.sequence])!)
            do {
                let header = try LogFile(decoding: bytes, named: name).header
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
            report(.outbox, "\(before.sequence)", "the store's last log is \(state.sequence), another one")
        }
    }

    /// The last own log that a baseline holds: that and those before it may be gone.
    private func trimmed(_ state: StoreState, _ layout: ContentLayout, _ register: LogRegister, _ files: LinuxFileLayer) throws -> Int64 {
        let reader = BaselineReader(layout: layout, contentName: state.content, epoch: state.epoch)
        var last: Int64 = 0
        let directories = PeerFolders(layout: layout, files: files)
        for peer in try files.names(in: layout.directory).compactMap({ PeerIdentifier($0) }) {
            // A baseline that nobody here can read is none.
            for name in ((try? directories.names(in: layout.baselines(of: peer, epoch: state.epoch))) ?? []).compactMap({ BaselineName($0) }) {
                guard let header = try? reader.header(of: BaselineID(peer: peer, name: name), clock: state.clock) else { continue }
                last = max(last, try header.knowledge.passed(state.peer) { try register.contains($0, of: state.peer) })
            }
        }
        return last
    }

    /// The published logs are there and whole, and no others are.
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
                    ? "it has the name of a log of this store's, and is none"
                    : "this store does not remember it: another copy of it is in use, and it will take a new identifier"
                report(.container, directory.appending(name.description).string, detail)
            } else if log == nil {
                report(.container, directory.appending(name.description).string, "it is damaged: other devices that lack it wait for it")
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
            report(.container, directory.appending(name.description).string, "it was published and is gone: other devices that lack it wait for it")
        }
    }
}
