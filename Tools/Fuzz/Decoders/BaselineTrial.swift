internal import Foundation
package import GRDB
internal import StoreExchange
internal import StoreFormat
internal import StoreInspection
package import StoreRecords
package import SystemPackage
package import UbiquityContainers

/// A store without a container, into which baselines are joined and rolled back again.
///
/// A test can find out quickly, and many times, what a file from any source does to a store.
package final class BaselineTrial {
    private let peer: PeerIdentifier
    private let file: StoreFile
    private let sealer: Sealer
    private let layout: ContentLayout
    private let files = LinuxFileLayer()
    /// Another connection, which detects whether the first has committed anything.
    private let witness: DatabaseQueue
    private var rolled: Int64 = 0

    private static let contentName = "Trial"
    private static let epoch: Int64 = 1

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - directory: an existing directory for its files.
    ///   - peer: the peer that owns the store.
    ///   - schema: the app's migrator and synced tables.
    /// - Throws: `UbiquitousStoreError`, `Errno`, or GRDB's errors.
    package init(in directory: FilePath, of peer: PeerIdentifier, schema: SyncedSchema) throws {
        self.peer = peer
        let state = StoreState(
            account: "trial", container: "trial", content: Self.contentName, peer: peer, epoch: Self.epoch, sequence: 0, predecessor: nil,
            clock: .least, attached: true, receipt: 0)
        file = try StoreFile.open(directory.appending("\(peer).sqlite"), schema: schema, newState: state)
        witness = try DatabaseQueue(path: file.path.string)
        sealer = Sealer(
            shapes: file.shapes, schemaVersion: file.migrations.last ?? "", now: { Date(timeIntervalSince1970: 1_800_000_000) },
            elections: schema.tables.reduce(into: [:]) { $0[$1.name] = $1.election },
            choices: schema.tables.reduce(into: [:]) { $0[$1.name] = $1.choices })
        layout = ContentLayout(container: directory, content: Self.contentName)
        try FileManager.default.createDirectory(atPath: layout.temporary(of: peer, epoch: Self.epoch).string, withIntermediateDirectories: true)
    }

    /// Saves and publishes.
    ///
    /// - Parameter updates: receives the database.
    /// - Throws: the error of the body, or GRDB's errors.
    package func save(_ updates: (Database) throws -> Void) throws {
        try file.pool.write { db in
            try updates(db)
            try sealer.seal(db)
        }
        try publish()
    }

    private func publish() throws {
        try file.resolve(by: sealer)
        try Publisher(layout: layout, storeFile: file.path, files: files).publish(from: file.pool)
    }

    /// Writes a baseline of the store.
    ///
    /// - Returns: its bytes, or nil if something is not published yet.
    /// - Throws: GRDB's errors, or `Errno`.
    package func roll() throws -> [UInt8]? {
        let draft = layout.temporary(of: peer, epoch: Self.epoch).appending("draft")
        defer { try? files.remove(draft) }
        let writer = BaselineWriter(store: file.path, shapes: file.shapes, schemaVersion: file.migrations.last ?? "", now: sealer.now())
        guard try writer.write(to: draft, sequence: rolled + 1) != nil else { return nil }
        rolled += 1
        return try files.read(draft, limit: .max)
    }

    /// Joins a baseline.
    ///
    /// - Parameters:
    ///   - baseline: its bytes.
    ///   - author: the peer whose baseline it is.
    ///   - sequence: its number among the author's baselines.
    /// - Returns: why the baseline is refused, or nil if it is joined.
    /// - Throws: an error that no file may cause.
    package func join(_ baseline: [UInt8], of author: PeerIdentifier, sequence: Int64 = 1) throws -> String? {
        let refusal = try take(baseline, of: author, sequence) { _ in }
        try publish()
        return refusal
    }

    /// Joins a baseline, writes to every table, and rolls all of it back.
    ///
    /// - Parameters:
    ///   - baseline: its bytes.
    ///   - author: the peer whose baseline it is.
    ///   - sequence: its number among the author's baselines.
    /// - Returns: why the baseline is refused, or nil if it could be joined.
    /// - Throws: an error that no file may cause.
    package func attempt(_ baseline: [UInt8], of author: PeerIdentifier, sequence: Int64 = 1) throws -> String? {
        let version = try dataVersion
        do {
            let refusal = try take(baseline, of: author, sequence) { db in
                try check(db)
                try useAll(db)
                throw TakenBack()
            }
            guard try dataVersion == version else { throw Fault("the baseline is refused, but has changed the store") }
            return refusal
        } catch is TakenBack {
            return nil
        }
    }

    /// Rolls a transaction back.
    private struct TakenBack: Error {}

    /// A fault that no file may cause.
    private struct Fault: Error {
        var what: String
        init(_ what: String) { self.what = what }
    }

    private func take(_ baseline: [UInt8], of author: PeerIdentifier, _ sequence: Int64, _ body: (Database) throws -> Void) throws -> String? {
        // The name contains the hash of the bytes, as for any valid file.
        let id = BaselineID(peer: author, name: BaselineName(sequence: sequence, hash: ContentHash(of: baseline)))
        let path = layout.baseline(id, epoch: Self.epoch)
        try FileManager.default.createDirectory(atPath: path.removingLastComponent().string, withIntermediateDirectories: true)
        try Data(baseline).write(to: URL(filePath: path.string))
        defer { try? files.remove(path) }
        let reader = BaselineReader(layout: layout, contentName: Self.contentName, epoch: Self.epoch)
        let joiner = BaselineJoiner(shapes: file.shapes, sealer: sealer, migrations: file.migrations)
        do {
            let (clock, knowledge) = try file.pool.read { db in
                let state = try StoreState.read(db)
                return (state.clock, try StoreKnowledge.all(state, db))
            }
            let header = try reader.header(of: id, clock: clock)
            // The exchange makes these comparisons before it chooses a baseline.
            _ = (header.knowledge.count(beyond: knowledge), knowledge.holds(header.knowledge, orIsEqual: true, within: knowledge))
            if let obstacle = joiner.obstacle(to: header) { return obstacle }
            try reader.verify(id, header)
            try reader.forEachLog(of: id, header) { _, log in _ = log.description }
            try copy(path, header, by: joiner)
            try file.importing(attaching: [path]) { db in
                _ = try joiner.join(header, db)
                _ = try file.resolveBatch(by: sealer, batches: .max, db)
                try body(db)
            }
            return nil
        } catch {
            if let refusal = ImportFault.refusal(error) { return refusal }
            throw error
        }
    }

    /// Joins a baseline into a draft of its pages, writes to every table, and drops the draft.
    private func copy(_ path: FilePath, _ header: BaselineHeader, by joiner: BaselineJoiner) throws {
        guard let draft = try BaselineDraft(path, header, for: file) else { return }
        var joiner = joiner
        joiner.isCopied = true
        do {
            try draft.importing(
                replacing: StoreTables.content(file.shapes, keepingFacts: false), if: { _, _ in true }, verify: { _ in }
            ) { db in
                _ = try joiner.join(header, db)
                _ = try file.resolveBatch(by: sealer, batches: .max, db)
                try check(db)
                try useAll(db)
                throw TakenBack()
            }
        } catch is TakenBack {}
    }

    /// Checks that the store is sound after a join, whatever was joined.
    private func check(_ db: Database) throws {
        var check = StoreCheck(file: "", account: "", container: "", content: "", peer: "")
        try check.compareTables(db)
        guard check.problems.isEmpty else { throw Fault(check.problems.map { "\($0.subject): \($0.detail)" }.joined(separator: "; ")) }
        guard try !RelatedTables.hasUnresolved(file.shapes, db) else { throw Fault("records are left unresolved") }
    }

    /// Writes every row, deletes it, and inserts it again, as an app might.
    private func useAll(_ db: Database) throws {
        func useEach(_ sql: (TableShape) -> String) throws {
            for shape in file.shapes { try db.execute(sql: sql(shape)) }
            try sealer.seal(db)
        }
        try useEach { shape in
            let column = (shape.columns.first ?? shape.keyColumns[0]).quotedIdentifier
            return "UPDATE main.\(shape.name.quotedIdentifier) SET \(column) = \(column)"
        }
        try useEach { "DELETE FROM main.\($0.name.quotedIdentifier)" }
        try useEach { shape in
            let keys = shape.keyColumns.map(\.quotedIdentifier).joined(separator: ", ")
            return "INSERT OR IGNORE INTO main.\(shape.name.quotedIdentifier) (\(keys)) SELECT \(shape.ownKeyColumns) FROM main.\(shape.deadTable)"
        }
        guard let related = RelatedTables(file.shapes, db) else { return }
        var (state, changes) = (try StoreState.read(db), RecordChanges())
        try sealer.resolve(related, peers: StoreKnowledge.peers(db), state: &state, changes: &changes, db)
    }

    /// The data version.
    ///
    /// Another value means that something was committed (sqlite.org/pragma.html#pragma_data_version).
    private var dataVersion: Int64? {
        get throws { try witness.inDatabase { db in try Int64.fetchOne(db, sql: "PRAGMA data_version") } }
    }
}
