import UbiquityStores
import UbiquityTesting

/// Makes a schema from a seed: composite and natural keys, keys with references, circular references, uniqueness over
/// several columns, generated columns, tables without rowids, columns of each affinity, and up to three versions.
struct RandomSchema {
    private var random: SeededRandom
    private var tables: [SimulatedTable] = []
    private let versions: Int

    static func make(seed: UInt64) -> SimulatedSchema {
        var maker = RandomSchema(seed: seed)
        return maker.make()
    }

    private init(seed: UInt64) {
        random = SeededRandom(seed: seed ^ 0x5C4E_3A00)
        versions = [1, 2, 3][Int.random(in: 0..<3, using: &random)]
    }

    private mutating func make() -> SimulatedSchema {
        let count = Int.random(in: 3...5, using: &random)
        for number in 0..<count { tables.append(keyed("t\(number)")) }
        // The last table may come with a later version, because no earlier table refers to it.
        let late = versions > 1 && oneIn(3)
        if late { tables[count - 1].since = Int.random(in: 2...versions, using: &random) }
        for index in tables.indices {
            for number in 0..<Int.random(in: 1...4, using: &random) { addColumn("c\(number)", to: index) }
            let parents = late && index < count - 1 ? count - 1 : count
            for number in 0..<[0, 1, 1, 2][Int.random(in: 0..<4, using: &random)] {
                refer(index, to: Int.random(in: 0..<parents, using: &random), number: number)
            }
            addRules(to: index)
        }
        let seeds = tables.filter { table in
            table.references.isEmpty && table.since == 1 && !table.constraints.contains { $0.hasPrefix("CHECK") }
        }.flatMap { table in
            (0..<2).map { number in
                SeedRecord(table: table.name, values: Dictionary(uniqueKeysWithValues: zip(table.keys, table.key(number))))
            }
        }
        if oneIn(2) { tables.reverse() }
        return SimulatedSchema(tables: tables, versions: versions, seed: seeds, isModelled: false)
    }

    private mutating func oneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }

    private mutating func pick<Element>(_ list: [Element]) -> Element { list[Int.random(in: list.indices, using: &random)] }

    /// Returns a table with only its key.
    private mutating func keyed(_ name: String) -> SimulatedTable {
        var table = SimulatedTable(name: name, keys: ["id"], columns: [])
        table.hasRowid = !oneIn(3)
        let single = tables.filter { $0.keys.count == 1 }
        let composite = tables.filter { $0.keys.count > 1 }
        func type(_ parent: SimulatedTable, _ column: Int) -> String { parent.keyTypes[parent.keys[column]] ?? "TEXT" }
        func domain(_ parent: SimulatedTable, _ column: Int) -> [String] { parent.domains[parent.keys[column]]! }
        func action() -> String { pick(["CASCADE", "RESTRICT", "NO ACTION", "CASCADE ON UPDATE CASCADE"]) }
        switch Int.random(in: 0..<9, using: &random) {
        case 0, 1: table.domains = ["id": ["k0", "k1", "k2"]]
        case 2:
            table.keyTypes = ["id": "INTEGER"]
            table.domains = ["id": ["1", "2", "3"]]
            table.assignsIntegerKeys = table.hasRowid
        case 3:
            table.keyTypes = ["id": "BLOB"]
            table.domains = ["id": ["k0", "k1", "k2"]]
        case 4, 5:
            table.keyTypes = ["b": "INTEGER"]
            table.domains = ["a": ["k0", "k1"], "b": ["1", "2"]]
            table.setKeys(["a", "b"])
        case 6 where !single.isEmpty:
            let parent = pick(single)
            table.keyTypes = ["r": type(parent, 0)]
            table.domains = ["r": domain(parent, 0), "n": ["n0", "n1"]]
            table.setKeys(oneIn(2) ? ["r", "n"] : ["n", "r"])
            table.constraints = ["FOREIGN KEY (r) REFERENCES \(parent.name) (\(parent.keys[0])) ON DELETE \(action())"]
            table.references = [.init(columns: ["r"], parent: parent.name, orphan: .held)]
        case 7 where !single.isEmpty:
            table.setKeys(["l", "r"])
            for column in ["l", "r"] {
                let parent = pick(single)
                table.keyTypes[column] = type(parent, 0)
                table.domains[column] = domain(parent, 0)
                table.constraints.append("FOREIGN KEY (\(column)) REFERENCES \(parent.name) (\(parent.keys[0])) ON DELETE \(action())")
                table.references.append(.init(columns: [column], parent: parent.name, orphan: .held))
            }
        case 8 where !composite.isEmpty:
            let parent = pick(composite)
            let columns = parent.keys.map { "\($0)x" }
            table.setKeys(columns)
            for (place, column) in columns.enumerated() {
                table.keyTypes[column] = type(parent, place)
                table.domains[column] = domain(parent, place)
            }
            table.constraints = [
                "FOREIGN KEY (\(columns.joined(separator: ", "))) REFERENCES \(parent.name) (\(parent.keys.joined(separator: ", "))) ON DELETE \(action())"
            ]
            table.references = [.init(columns: columns, parent: parent.name, orphan: .held)]
        default: table.domains = ["id": ["k0", "k1", "k2"]]
        }
        return table
    }

    private static let literals = [
        "REAL": ["0.0", "-0.0", "1", "1.5", "2", "-3.25", "1e300", "9e999", "'7'"],
        "INTEGER": ["0", "1", "2", "-5", "9007199254740993", "1.0", "2.5"],
        "TEXT": ["'a'", "'A'", "'b'", "''", "10", "'a' || char(0) || 'b'"],
        "BLOB": ["x''", "x'00'", "x'ff'", "'text'", "1"],
        "NUMERIC": ["0", "1.0", "'1'", "2.5", "'x'"],
        "": ["1", "1.0", "'1'", "x'31'", "0.0", "-0.0"],
    ]

    private mutating func addColumn(_ name: String, to index: Int) {
        let type = pick(["REAL", "REAL", "INTEGER", "TEXT", "BLOB", "NUMERIC", ""])
        let literals = Self.literals[type]!
        var definition = type
        let since = tables[index].since
        let isLate = name != "c0" && since < versions && oneIn(4)
        if type == "TEXT", oneIn(4) { definition += " COLLATE NOCASE" }
        if oneIn(4) {
            definition += " NOT NULL DEFAULT \(pick(["0", "1.5", "'7'", "''", "-1"]))"
        } else if !isLate, oneIn(5) {
            definition += " DEFAULT \(pick(["0", "1.5", "'7'", "''"]))"
        }
        tables[index].addColumn(name)
        tables[index].definitions[name] = definition
        tables[index].literals[name] = literals
        if isLate { tables[index].later[name] = Int.random(in: since + 1...versions, using: &random) }
    }

    /// Gives a table a reference outside of its key, to any table, including itself.
    private mutating func refer(_ index: Int, to parentIndex: Int, number: Int) {
        let parent = tables[parentIndex]
        let columns = parent.keys.map { "f\(number)\($0)" }
        let action = pick(["CASCADE", "CASCADE", "SET NULL", "SET NULL", "SET DEFAULT", "RESTRICT", "NO ACTION"])
        let isRequired = oneIn(6) && action != "SET NULL"
        for (column, key) in zip(columns, parent.keys) {
            let domain = parent.domains[key]!
            tables[index].addColumn(column)
            tables[index].domains[column] = domain
            tables[index].definitions[column] =
                (parent.keyTypes[key] ?? "TEXT") + (isRequired ? " NOT NULL" : "") + (action == "SET DEFAULT" ? " DEFAULT '\(domain[0])'" : "")
        }
        let update = pick(["", "", " ON UPDATE CASCADE", " ON UPDATE SET NULL"])
        let deferral = oneIn(2) ? " DEFERRABLE INITIALLY DEFERRED" : ""
        tables[index].constraints.append(
            "FOREIGN KEY (\(columns.joined(separator: ", "))) REFERENCES \(parent.name) (\(parent.keys.joined(separator: ", "))) ON DELETE \(action)\(isRequired && update.hasSuffix("NULL") ? "" : update)\(deferral)"
        )
        tables[index].references.append(.init(columns: columns, parent: parent.name, orphan: .held))
    }

    private mutating func addRules(to index: Int) {
        let first = tables[index].columns.filter { tables[index].later[$0] == nil }
        for _ in 0..<[0, 1, 1, 2][Int.random(in: 0..<4, using: &random)] {
            let columns = Array(Set((0..<Int.random(in: 1...3, using: &random)).map { _ in pick(first) })).sorted()
            guard !tables[index].unique.contains(columns) else { continue }
            tables[index].unique.append(columns)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: tables[index].constraints.append("UNIQUE (\(columns.joined(separator: ", ")))")
            case 1:
                tables[index].indexes.append(
                    "CREATE UNIQUE INDEX \(tables[index].name)_\(columns.joined()) ON \(tables[index].name) (\(columns.joined(separator: ", ")))")
            default: break
            }
        }
        let plain = tables[index].columns.filter { $0.hasPrefix("c") }
        if oneIn(3) {
            // The value is NULL, a number or text: any value of any column is possible.
            tables[index].generate(oneIn(2) ? "g0 REAL AS (c0 * 2) STORED" : "g0 TEXT AS (coalesce(c0, '') || '!') VIRTUAL")
            if oneIn(2) {
                tables[index].indexes.append("CREATE INDEX \(tables[index].name)_g0 ON \(tables[index].name) (g0)")
            }
        }
        if oneIn(4) { tables[index].constraints.append("CHECK (c0 IS NULL OR c0 IS NOT \(pick(tables[index].literals["c0"]!)))") }
        if oneIn(3), plain.count > 1 {
            let group = plain.filter { tables[index].later[$0] == nil }.prefix(2)
            if group.count == 2 { tables[index].groups = [Array(group)] }
        }
        for column in plain where oneIn(5) && !tables[index].groups.joined().contains(column) {
            tables[index].policies[column] = pick([.maximum, .minimum, .firstWriter])
        }
        if oneIn(5) {
            tables[index].excluded = ["x0"]
            tables[index].definitions["x0"] = "REAL DEFAULT 3"
        }
        if !tables[index].unique.isEmpty, oneIn(5), tables[index].policies["c0"] == nil { tables[index].elected = "c0" }
    }
}
