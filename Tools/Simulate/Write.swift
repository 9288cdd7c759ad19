import GRDB
import UbiquityTesting

/// One statement of a save: data, so that a history prints and repeats.
struct Write: Sendable {
    enum Kind: Sendable {
        case insert([Int?])
        case replace([Int?])
        case upsert(column: Int, Int?)
        case update(column: Int, Int?)
        case updateAll(column: Int, Int?)
        case delete
        case rekey(to: Int)
        case overwrite(to: Int)
        case move(rowid: Int)
    }

    var table: Int
    var key: Int
    var kind: Kind

    private static let keys = 0..<6

    /// Writes it, unless a rule of the schema refuses it.
    func perform(_ db: Database) throws {
        try db.inSavepoint {
            do {
                try db.execute(sql: sql)
                return .commit
            } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT || error.message?.contains("column") == true {
                // A column that this peer's version has not yet.
                return .rollback
            }
        }
    }

    /// Which records a run is about.
    enum World: Sendable {
        /// A quarter of all is in the plain table.
        case all
        /// Few keys of the tables that relate.
        case related
    }

    static func random(_ world: World, _ random: inout SeededRandom) -> Write {
        let isRelated = world == .related
        let keys = isRelated ? 0..<3 : keys
        let table =
            isRelated
            ? Int.random(in: SimulatedTable.plain.count..<SimulatedTable.all.count, using: &random)
            : Int.random(in: 0..<4, using: &random) == 0 ? 0 : Int.random(in: 1..<SimulatedTable.all.count, using: &random)
        let count = SimulatedTable.all[table].columns.count
        let column = Int.random(in: 0..<count, using: &random)
        func value(_ random: inout SeededRandom) -> Int? {
            Int.random(in: 0..<8, using: &random) < (isRelated ? 7 : 4) ? Int.random(in: isRelated ? 0..<3 : 0..<1000, using: &random) : nil
        }
        func values(_ random: inout SeededRandom) -> [Int?] { (0..<count).map { _ in value(&random) } }
        let key = Int.random(in: keys, using: &random)
        let kind: Kind
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<6: kind = .insert(values(&random))
        case 6..<8: kind = .replace(values(&random))
        case 8..<10: kind = .upsert(column: column, value(&random))
        case 10..<14: kind = .update(column: column, value(&random))
        case 14: kind = .updateAll(column: column, value(&random))
        case 15..<18: kind = .delete
        case 18:
            let other = Int.random(in: keys, using: &random)
            kind = Bool.random(using: &random) ? .rekey(to: other) : .overwrite(to: other)
        default: kind = .move(rowid: Int.random(in: 1..<12, using: &random))
        }
        return Write(table: table, key: key, kind: kind)
    }

    /// The statement; only the schema's own rules may refuse it.
    var sql: String {
        let shape = SimulatedTable.all[table]
        let condition = shape.condition(key)
        let keyNames = shape.keys.joined(separator: ", ")
        func text(_ value: Int?, _ column: Int) -> String { shape.value(value, of: shape.columns[column]) }
        func keyValues(_ key: Int) -> String { shape.key(key).map { "'\($0)'" }.joined(separator: ", ") }
        func newKey(_ other: Int) -> String { zip(shape.keys, shape.key(other)).map { "\($0) = '\($1)'" }.joined(separator: ", ") }
        func row(_ values: [Int?]) -> String {
            "INTO \(shape.name) (\(keyNames), \(shape.columns.joined(separator: ", "))) VALUES (\(keyValues(key)), \(values.indices.map { text(values[$0], $0) }.joined(separator: ", ")))"
        }
        switch kind {
        case .insert(let values): return "INSERT OR IGNORE \(row(values))"
        case .replace(let values): return "REPLACE \(row(values))"
        case .upsert(let column, let value):
            let name = shape.columns[column]
            return
                "INSERT INTO \(shape.name) (\(keyNames), \(name)) VALUES (\(keyValues(key)), \(text(value, column))) ON CONFLICT (\(keyNames)) DO UPDATE SET \(name) = \(text(value, column))"
        case .update(let column, let value): return "UPDATE \(shape.name) SET \(shape.columns[column]) = \(text(value, column)) WHERE \(condition)"
        case .updateAll(let column, let value):
            // What stays on the device changes too, which nobody else may see.
            let local = shape.excluded.map { ", \($0) = \(text(value, column))" }.joined()
            return "UPDATE \(shape.name) SET \(shape.columns[column]) = \(text(value, column))\(local)"
        case .delete: return "DELETE FROM \(shape.name) WHERE \(condition)"
        case .rekey(let other): return "UPDATE OR IGNORE \(shape.name) SET \(newKey(other)) WHERE \(condition)"
        case .overwrite(let other): return "UPDATE OR REPLACE \(shape.name) SET \(newKey(other)) WHERE \(condition)"
        case .move(let rowid):
            return shape.hasRowid
                ? "UPDATE OR REPLACE \(shape.name) SET rowid = \(rowid) WHERE \(condition)"
                : "UPDATE OR REPLACE \(shape.name) SET \(newKey(rowid % 6)) WHERE \(condition)"
        }
    }
}
