import UbiquityTesting

/// Makes the statements of a run from its seed.
struct RandomWrite {
    /// The records that a run uses.
    enum World: Sendable {
        /// All tables; a quarter of the writes concern the plain table.
        case all
        /// Few keys of the related tables.
        case related
        /// The tables of a random schema.
        case random
    }

    private enum Kind {
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

    let world: World
    let schema: SimulatedSchema

    /// Returns the statements of one save.
    func writes(_ random: inout SeededRandom) -> [Write] {
        (0..<Int.random(in: 1...4, using: &random)).map { _ in Write(sql: sql(&random)) }
    }

    private func sql(_ random: inout SeededRandom) -> String {
        let shape = schema.tables[table(&random)]
        let isRelated = world == .related
        let keys = 0..<(shape.keyCount ?? (isRelated ? 3 : 6))
        // In a random schema a writer of an earlier version names fewer columns.
        let version = world == .random ? Int.random(in: 1...schema.versions, using: &random) : schema.versions
        let columns = shape.columns.filter { (shape.later[$0] ?? 1) <= version }
        let count = columns.count
        let column = Int.random(in: 0..<count, using: &random)
        let isFull = isRelated || world == .random
        func value(_ random: inout SeededRandom) -> Int? {
            Int.random(in: 0..<8, using: &random) < (isFull ? 7 : 4) ? Int.random(in: isRelated ? 0..<3 : 0..<1000, using: &random) : nil
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
        return sql(kind, shape, columns, key)
    }

    private func table(_ random: inout SeededRandom) -> Int {
        switch world {
        case .all: Int.random(in: 0..<4, using: &random) == 0 ? 0 : Int.random(in: 1..<schema.tables.count, using: &random)
        case .related: Int.random(in: SimulatedTable.plain.count..<schema.tables.count, using: &random)
        case .random: Int.random(in: schema.tables.indices, using: &random)
        }
    }

    private func sql(_ kind: Kind, _ shape: SimulatedTable, _ columns: [String], _ key: Int) -> String {
        let condition = shape.condition(key)
        let keyNames = shape.keys.joined(separator: ", ")
        func text(_ value: Int?, _ column: Int) -> String { shape.value(value, of: columns[column]) }
        func keyValues(_ key: Int) -> String { shape.key(key).map { "'\($0)'" }.joined(separator: ", ") }
        func newKey(_ other: Int) -> String { zip(shape.keys, shape.key(other)).map { "\($0) = '\($1)'" }.joined(separator: ", ") }
        func row(_ values: [Int?]) -> String {
            "INTO \(shape.name) (\(keyNames), \(columns.joined(separator: ", "))) VALUES (\(keyValues(key)), \(values.indices.map { text(values[$0], $0) }.joined(separator: ", ")))"
        }
        switch kind {
        case .insert(let values): return "INSERT OR IGNORE \(row(values))"
        case .replace(let values): return "REPLACE \(row(values))"
        case .upsert(let column, let value):
            let name = columns[column]
            return
                "INSERT INTO \(shape.name) (\(keyNames), \(name)) VALUES (\(keyValues(key)), \(text(value, column))) ON CONFLICT (\(keyNames)) DO UPDATE SET \(name) = \(text(value, column))"
        case .update(let column, let value): return "UPDATE \(shape.name) SET \(columns[column]) = \(text(value, column)) WHERE \(condition)"
        case .updateAll(let column, let value):
            // Columns that stay on the device change too; no other device may see that.
            let local = shape.excluded.map { ", \($0) = \(text(value, column))" }.joined()
            return "UPDATE \(shape.name) SET \(columns[column]) = \(text(value, column))\(local)"
        case .delete: return "DELETE FROM \(shape.name) WHERE \(condition)"
        case .rekey(let other): return "UPDATE OR IGNORE \(shape.name) SET \(newKey(other)) WHERE \(condition)"
        case .overwrite(let other): return "UPDATE OR REPLACE \(shape.name) SET \(newKey(other)) WHERE \(condition)"
        case .move(let rowid):
            return shape.hasRowid && !shape.assignsIntegerKeys
                ? "UPDATE OR REPLACE \(shape.name) SET rowid = \(rowid) WHERE \(condition)"
                : "UPDATE OR REPLACE \(shape.name) SET \(newKey(rowid % (shape.keyCount ?? 6))) WHERE \(condition)"
        }
    }
}
