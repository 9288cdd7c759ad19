/// The columns that a conversion of keys replaces, and all that prevents it, from the schema alone.
struct StableKeyPlan {
    /// A table whose old keys are counted, and get new ones.
    struct Root {
        var table: KeyedSchema.Table
        var key: String
        /// The rules for rows that the app ships.
        var shipped: [ShippedKeys] = []
    }

    /// The rows of a column that hold keys of one root.
    struct Source {
        /// The number of the root.
        var root: Int
        /// An SQL condition on the rows; nil for all.
        var condition: String?
    }

    let schema: KeyedSchema
    let request: StableKeys
    private(set) var roots: [Root] = []
    /// The columns to convert, keys included.
    private(set) var columns: [ColumnName: [Source]] = [:]
    /// The keys of the listed tables.
    private(set) var keys: Set<ColumnName> = []
    /// The statements that create the tables to make again.
    private(set) var statements: [String: String] = [:]
    private(set) var obstacles: [String] = []

    /// The tables to make again, in the order of their creation.
    var rebuilt: [KeyedSchema.Table] {
        let names = Set(columns.keys.map(\.table))
        return schema.tables.filter { names.contains($0.name.lowercased()) }
    }

    /// Reads the request of an app against a schema.
    init(_ request: StableKeys, of schema: KeyedSchema) {
        (self.request, self.schema) = (request, schema)
        readTables()
        let links = schema.links + readReferences()
        let groups = KeyGroups(links)
        for key in keys where columns[key] == nil { addGroup(groups.group(of: key), links) }
        addConditional(links)
        readShipped()
        // Without a sound list of columns, what follows would report faults that the app did not make.
        guard obstacles.isEmpty else { return }
        writeStatements()
        obstacles += LooseReferences(self).obstacles
        obstacles += IntegerUses(self).obstacles
        checkAccepted()
    }

    /// The columns of a key in the order of the listed tables.
    private var orderedKeys: [ColumnName] {
        request.tables.compactMap { name in schema.table(name)?.key.first.map { ColumnName(name, $0.name) } }
    }

    private mutating func readTables() {
        for (place, name) in request.tables.enumerated() {
            if request.tables[..<place].contains(where: { $0.lowercased() == name.lowercased() }) {
                obstacles.append("“\(name)” is listed twice: list it once.")
            } else if let table = schema.table(name), !table.isVirtual {
                if let obstacle = Self.obstacle(of: table) { obstacles.append(obstacle) } else { keys.insert(ColumnName(name, table.key[0].name)) }
            } else {
                obstacles.append("“\(name)” is no ordinary table: list tables that the migrations before have created.")
            }
        }
    }

    private static func obstacle(of table: KeyedSchema.Table) -> String? {
        let name = table.name
        guard let key = table.key.first else {
            return "“\(name)” has no primary key: give it one, for example a TEXT column that a migration fills, and do not list it."
        }
        if table.key.count > 1 {
            return "The key of “\(name)” has \(table.key.count) columns: do not list it; those that refer to listed tables are converted."
        }
        if ColumnAffinity(key.type) != .integer {
            return "The key “\(key.name)” of “\(name)” is no INTEGER, so that nothing counts it: do not list it."
        }
        if ["rowid", "oid", "_rowid_"].contains(key.name.lowercased()) {
            return "The key “\(key.name)” of “\(name)” has a name of SQLite's rowid, which a store needs: rename it in a migration before."
        }
        return nil
    }

    /// Reads the references that the app names, and returns those that hold for all rows.
    private mutating func readReferences() -> [(from: ColumnName, to: ColumnName)] {
        var links: [(from: ColumnName, to: ColumnName)] = []
        for reference in request.references {
            let (table, column) = (reference.column.table, reference.column.column)
            let what = "referring(column: \"\(column)\", in: \"\(table)\", to: \"\(reference.parent)\")"
            guard schema.table(table)?.column(column) != nil else {
                obstacles.append("\(what) names a column that does not exist: spell it as in the schema.")
                continue
            }
            guard let key = schema.table(reference.parent)?.key.first, keys.contains(ColumnName(reference.parent, key.name)) else {
                obstacles.append("\(what) refers to a table that is not listed, or cannot be: list it in StableKeys, or remove the call.")
                continue
            }
            if reference.condition == nil { links.append((reference.column, ColumnName(reference.parent, key.name))) }
        }
        return links
    }

    /// Adds the columns that refer to each other.
    private mutating func addGroup(_ group: Set<ColumnName>, _ links: [(from: ColumnName, to: ColumnName)]) {
        let inner = links.filter { $0.from != $0.to && group.contains($0.from) && group.contains($0.to) }
        let ends = group.subtracting(inner.map(\.from))
        for end in ends.subtracting(keys).sorted(by: Self.isBefore) {
            let referring = inner.filter { $0.to == end }.map { spelled($0.from) }.sorted().joined(separator: ", ")
            let name = schema.table(end.table)?.name ?? end.table
            obstacles.append("\(referring) refers to \(spelled(end)) too, which keeps its integers: list “\(name)”, or drop that foreign key.")
        }
        guard ends.count < 2 else {
            let names = ends.sorted(by: Self.isBefore).map(spelled).joined(separator: " and ")
            let both = inner.map(\.from).filter { from in inner.filter { $0.from == from }.count > 1 }
            let who = Set(both).sorted(by: Self.isBefore).map(spelled).joined(separator: ", ")
            return obstacles.append("\(who) refers to \(names), whose rows get different keys: drop one of the foreign keys in a migration before.")
        }
        // Keys that refer to each other in a circle are one set of keys: the first listed table counts them.
        guard let root = ends.first ?? orderedKeys.first(where: group.contains), let table = schema.table(root.table) else { return }
        roots.append(Root(table: table, key: table.column(root.column)!.name))
        for column in group { columns[column] = [Source(root: roots.count - 1, condition: nil)] }
    }

    /// Adds the columns that refer to several tables.
    private mutating func addConditional(_ links: [(from: ColumnName, to: ColumnName)]) {
        for reference in request.references {
            guard let condition = reference.condition, let key = schema.table(reference.parent)?.key.first,
                let root = columns[ColumnName(reference.parent, key.name)]?.first?.root
            else { continue }
            let column = reference.column
            if columns[column]?.contains(where: { $0.condition == nil }) ?? false || links.contains(where: { $0.to == column || $0.from == column }) {
                obstacles.append("\(spelled(column)) refers under a condition, and has a foreign key too: remove one of them.")
            } else {
                columns[column, default: []].append(Source(root: root, condition: condition))
            }
        }
    }

    private mutating func readShipped() {
        for rule in request.shipped {
            if let number = roots.firstIndex(where: { $0.table.name.lowercased() == rule.table.lowercased() }) {
                roots[number].shipped.append(rule)
            } else if let key = schema.table(rule.table)?.key.first, let source = columns[ColumnName(rule.table, key.name)]?.first {
                obstacles.append("derived(…, in: \"\(rule.table)\"): its keys are those of “\(roots[source.root].table.name)”: name that table.")
            } else if obstacles.isEmpty {
                obstacles.append("derived(…, in: \"\(rule.table)\") names a table that is not listed: list it in StableKeys, or remove the call.")
            }
        }
        for root in roots where root.shipped.count > 1 {
            obstacles.append("derived(…) names “\(root.table.name)” twice: call it once for each table.")
        }
    }

    private mutating func writeStatements() {
        for table in rebuilt {
            let foreign = schema.objects.first { $0.table.lowercased() == table.name.lowercased() && $0.name.lowercased().hasPrefix("ubiquity_") }
            if foreign != nil || table.name.lowercased().hasPrefix("ubiquity_") {
                obstacles.append("“\(table.name)” syncs in this file: call convert(_:) in a migration of the schema, which the store runs on a copy.")
                continue
            }
            guard var statement = TableStatement(table.sql, columns: table.columns.map(\.name)) else {
                obstacles.append("The statement of “\(table.name)” in sqlite_master cannot be read: make the table again in a migration before.")
                continue
            }
            for column in table.columns {
                let name = ColumnName(table.name, column.name)
                guard let sources = columns[name] else { continue }
                convert(column, name, sources, isKey: table.key.map(\.name) == [column.name], &statement)
            }
            if table.key.contains(where: { columns[ColumnName(table.name, $0.name)] != nil }) {
                statement.removeAutoincrement()
            }
            statements[table.name.lowercased()] = statement.edited
        }
    }

    private mutating func convert(
        _ column: KeyedSchema.Column, _ name: ColumnName, _ sources: [Source], isKey: Bool, _ statement: inout TableStatement
    ) {
        if column.isComputed {
            obstacles.append("\(spelled(name)) refers to a converted key and is computed: make it an ordinary column in a migration before.")
        }
        // A key that is no rowid alias may be NULL unless it forbids it.
        statement.setType(isKey && !column.isNotNull ? "TEXT NOT NULL" : "TEXT", of: column.name)
        guard let standard = column.standard, standard.uppercased() != "NULL" else { return }
        let number = Int64(standard.filter { !"() ".contains($0) })
        if sources.count == 1, sources[0].condition == nil, let number, let key = roots[sources[0].root].shipped.first?.key(number) {
            statement.setDefault("'\(key)'", of: column.name)
        } else {
            obstacles.append(
                "\(spelled(name)) has the default \(standard), which names no row once keys are random: make it NULL, or declare the row with derived(_:in:upTo:)."
            )
        }
    }

    private mutating func checkAccepted() {
        var known = Set(schema.objects.map { $0.name.lowercased() })
        for table in schema.tables {
            known.insert(table.name.lowercased())
            known.formUnion(table.columns.map { "\(table.name).\($0.name)".lowercased() })
        }
        for name in request.accepted.subtracting(known).sorted() {
            obstacles.append("accepting(\"\(name)\") names nothing in the schema: write “table.column”, or the name of an object, or remove it.")
        }
    }

    /// Returns a column as messages name it, spelled as in the schema.
    func spelled(_ column: ColumnName) -> String {
        let table = schema.table(column.table)
        return "“\(table?.name ?? column.table).\(table?.column(column.column)?.name ?? column.column)”"
    }

    private static func isBefore(_ left: ColumnName, _ right: ColumnName) -> Bool { (left.table, left.column) < (right.table, right.column) }
}
