import Foundation
import GRDB
import SystemPackage
import UbiquityStores

/// Interprets bytes as writes to a valid baseline's tables.
///
/// Bytes that are changed directly in the image rarely pass SQLite's own check; wrong values in a row do.
struct BaselineScript {
    private var bytes: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

    /// Seeds with one write to each table of each baseline.
    static var seeds: [[UInt8]] {
        var seeds: [[UInt8]] = []
        for baseline: UInt8 in 0..<3 {
            for table: UInt8 in 0..<26 { seeds.append([baseline, table % 4, table, 1, table / 3, 2 + table % 8, 9, 1, 5]) }
        }
        return seeds
    }

    /// Makes a baseline.
    ///
    /// - Parameters:
    ///   - baselines: the valid ones; the bytes choose one of them.
    ///   - directory: a directory for the file.
    /// - Returns: the changed baseline; nil if nothing was written.
    consuming func run(on baselines: [[UInt8]], in directory: FilePath) -> [UInt8]? {
        guard bytes.count > 2 else { return nil }
        let file = directory.appending("script").string
        defer { for suffix in ["", "-journal"] { try? FileManager.default.removeItem(atPath: file + suffix) } }
        do {
            try Data(baselines[Int(next()) % baselines.count]).write(to: URL(filePath: file))
            let queue = try DatabaseQueue(path: file)
            try queue.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
                try db.inTransaction {
                    let tables = try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
                    // A few writes have as much effect as many, and late writes would hide the effects of early ones.
                    for _ in 0..<12 where !bytes.isEmpty { try write(tables, db) }
                    return .commit
                }
            }
            try queue.close()
            return [UInt8](try Data(contentsOf: URL(filePath: file)))
        } catch {
            fatalError("the script fails: \(error)")
        }
    }

    private mutating func next() -> UInt8 { bytes.popFirst() ?? 0 }

    private mutating func write(_ tables: [String], _ db: Database) throws {
        let kind = next()
        let table = tables[Int(next()) % tables.count]
        let columns = try db.columns(in: table).map(\.name)
        let key = try db.primaryKey(table)
        let hasRowid = try Bool.fetchOne(db, sql: "SELECT NOT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?", arguments: [table])!
        let place = hasRowid ? "rowid" : key.columns.joined(separator: ", ")
        let row = "(\(place)) = (SELECT \(place) FROM \(table) LIMIT 1 OFFSET (\(next()) % (SELECT max(count(*), 1) FROM \(table))))"
        do {
            switch kind % 4 {
            case 0: try db.execute(sql: "DELETE FROM \(table) WHERE \(row)")
            case 1:
                // Make a row that nearly equals another.
                let changed = columns[Int(next()) % columns.count]
                let value = try value(db)
                try db.execute(
                    sql: "INSERT INTO \(table) SELECT \(columns.map { $0 == changed ? "?" : $0 }.joined(separator: ", ")) FROM \(table) WHERE \(row)",
                    arguments: [value])
            default:
                let column = columns[Int(next()) % columns.count]
                try db.execute(sql: "UPDATE \(table) SET \(column) = ? WHERE \(row)", arguments: [try value(db)])
            }
        } catch let error as DatabaseError where [.SQLITE_CONSTRAINT, .SQLITE_MISMATCH].contains(error.resultCode) {}
    }

    /// Returns a value, often one that exists elsewhere, or one at a limit.
    private mutating func value(_ db: Database) throws -> DatabaseValue {
        switch next() % 10 {
        case 0: return .null
        case 1: return Int64(next()).databaseValue
        case 2: return (Int64.max - Int64(next())).databaseValue
        case 3: return (Int64.min + Int64(next())).databaseValue
        case 4: return (1 << Int64(next() % 64)).databaseValue
        case 5: return (0..<8).reduce(Int64(0)) { number, _ in number << 8 | Int64(next()) }.databaseValue
        case 6: return Double(bitPattern: (0..<8).reduce(UInt64(0)) { number, _ in number << 8 | UInt64(next()) }).databaseValue
        case 7: return String(decoding: take(), as: UTF8.self).databaseValue
        case 8: return Data(take()).databaseValue
        default:
            // Packed stamps contain column, time and peer.
            var stamps: [UInt8] = []
            for _ in 0..<next() % 4 {
                stamps += [next(), next(), next(), 0, 0, 0, 0, 0, next()]
                stamps += [next() % 4, 0, 0, 0, 0, 0, 0, next()]
            }
            return Data(stamps).databaseValue
        }
    }

    private mutating func take() -> ArraySlice<UInt8> {
        let count = min(Int(next() % 40), bytes.count)
        defer { bytes = bytes.dropFirst(count) }
        return bytes.prefix(count)
    }
}
