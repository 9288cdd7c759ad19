import ArgumentParser
import Foundation
import GRDB
import SystemPackage
import UbiquityContainers
import UbiquityStores
import UbiquityTesting

/// Every history of three writes by two peers in a small world: two records that a uniqueness rule makes one, and a
/// child of either.
///
/// Before each write its peer has or has not read the other's writes. Many histories share two stores, each with its
/// own keys.
struct Exhaustive {
    private static let tables = [
        SimulatedTable(
            name: "child", keys: ["id"], columns: ["parent", "text"],
            definitions: ["parent": "TEXT REFERENCES parent (id) ON DELETE CASCADE"],
            references: [.init(columns: ["parent"], parent: "parent", orphan: .held)]),
        SimulatedTable(name: "parent", keys: ["id"], columns: ["email", "name"], definitions: ["email": "TEXT UNIQUE"], indexed: [["email"]]),
    ]

    /// The possible writes; `#` is the history's number.
    private static let statements = [
        "INSERT INTO parent VALUES ('#a', '#', '1')", "INSERT INTO parent VALUES ('#b', '#', '2')", "DELETE FROM parent WHERE id IN ('#a', '#b')",
        "UPDATE parent SET name = '3', email = '#' WHERE id IN ('#a', '#b')", "UPDATE parent SET email = NULL WHERE id IN ('#a', '#b')",
        "INSERT INTO child VALUES ('#c', '#a', '4')", "INSERT INTO child VALUES ('#c', '#b', '5')", "DELETE FROM child WHERE id = '#c'",
    ]

    private struct Step {
        var peer: Int
        var reads: Bool
        var statement: Int
    }

    let every: Int
    private static let historiesPerStore = 200

    init(every: Int) { self.every = every }

    /// The histories; the first write belongs to the first peer, because the peers are interchangeable.
    private var histories: [[Step]] {
        let choices = (0..<2).flatMap { peer in
            [true, false].flatMap { reads in Self.statements.indices.map { Step(peer: peer, reads: reads, statement: $0) } }
        }
        let first = Self.statements.indices.map { Step(peer: 0, reads: false, statement: $0) }
        let all = first.flatMap { one in choices.flatMap { two in choices.map { [one, two, $0] } } }
        // A prefix of four writes gives both peers their record and their child first.
        let made = [Step(peer: 0, reads: false, statement: 0), Step(peer: 1, reads: false, statement: 1)]
        return (all + all.map { made + $0 }).enumerated().filter { $0.offset % every == 0 }.map(\.element)
    }

    /// Runs all histories, and returns their number.
    func run() async throws -> Int {
        let histories = histories
        for start in stride(from: 0, to: histories.count, by: Self.historiesPerStore) {
            let part = Array(histories[start..<min(start + Self.historiesPerStore, histories.count)])
            guard let failure = try await failure(part, from: start) else { continue }
            print(failure)
            throw ExitCode(1)
        }
        return histories.count
    }

    private func failure(_ histories: [[Step]], from start: Int) async throws -> String? {
        let base = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : FileManager.default.temporaryDirectory.path
        let directory = FilePath(base).appending("ubiquity-simulate-\(UUID().uuidString)")
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            for statement in Self.tables.flatMap({ $0.statements(ofVersion: 1) }) { try db.execute(sql: statement) }
        }
        let schema = SyncedSchema(migrator: migrator) { Self.tables.map { $0.synced(version: 1) } }
        let devices = try (0..<2).map { try SimulatedDevice("device\($0)", in: directory) }
        var synchroniser = FaultySynchroniser(devices, seed: 1)
        var stores: [UbiquitousStore] = []
        for device in devices { stores.append(try await device.openStore(schema: schema)) }
        for (offset, history) in histories.enumerated() {
            for step in history {
                if step.reads {
                    try await stores[1 - step.peer].publish()
                    try synchroniser.deliverAll()
                    try await stores[step.peer].settled()
                }
                let sql = Self.statements[step.statement].replacing("#", with: "h\(start + offset)")
                do {
                    try await stores[step.peer].write { db in try db.execute(sql: sql) }
                } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
                    // The schema rejects the write, so there was no save.
                }
            }
            for _ in 0..<3 {
                for store in stores { try await store.settled() }
                try synchroniser.deliverAll()
            }
        }
        let shown = RelationModel(try LogModel(container: await devices[0].container().path, contentName: "Store", tables: Self.tables))
        let expected = Self.tables.flatMap { shown.rows($0) }
        for (peer, store) in stores.enumerated() {
            let rows = try await store.read { db in try Self.tables.flatMap { try $0.rows(db) } }
            switch rows.difference(from: expected).first {
            case .insert(_, let row, _): return "peer \(peer) shows \(row)\(story(row, histories, start))"
            case .remove(_, let row, _): return "peer \(peer) lacks \(row)\(story(row, histories, start))"
            case nil: break
            }
            try await store.close()
        }
        return nil
    }

    /// Returns the history of a row.
    private func story(_ row: String, _ histories: [[Step]], _ start: Int) -> String {
        guard let number = row.split(separator: "/h").last.flatMap({ Int($0.prefix { $0.isNumber }) }) else { return "" }
        return ":\n"
            + histories[number - start].map { "  \($0.reads ? "reads, " : "")peer \($0.peer): \(Self.statements[$0.statement])" }.joined(
                separator: "\n")
    }
}
