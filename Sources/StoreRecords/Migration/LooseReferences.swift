/// Columns that look like references to converted tables and are none by the schema.
///
/// They would keep integers that name no row any more.
struct LooseReferences {
    let obstacles: [String]

    /// A listed table, and the usual names of columns that refer to it.
    private struct Parent {
        var table: KeyedSchema.Table
        var names: Set<String>
    }

    /// Searches the columns that a plan leaves alone.
    init(_ plan: StableKeyPlan) {
        var obstacles: [String] = []
        let listed = plan.schema.tables.filter { table in plan.keys.contains { $0.table == table.name.lowercased() } }
            .map { Parent(table: $0, names: Self.names($0)) }
        for table in plan.schema.tables where !table.isVirtual && !table.name.lowercased().hasPrefix("ubiquity_") {
            for column in table.columns {
                let name = ColumnName(table.name, column.name)
                guard plan.columns[name] == nil, !plan.request.accepted.contains("\(name.table).\(name.column)"),
                    column.type.isEmpty || [ColumnAffinity.integer, .numeric, .real].contains(ColumnAffinity(column.type)),
                    let parent = Self.parent(of: column, in: table, isLinked: plan.schema.links.contains { $0.from == name }, listed)
                else { continue }
                obstacles.append(
                    "\(plan.spelled(name)) looks like a reference to “\(parent.name)” without a foreign key: call referring(column: \"\(column.name)\", in: \"\(table.name)\", to: \"\(parent.name)\"), or accepting(\"\(table.name).\(column.name)\") if it is none."
                )
            }
        }
        self.obstacles = obstacles
    }

    /// Returns the table to which a column refers by its name: `artist_id`; and without a foreign key also
    /// `favorite_artist_id`, or `parent_id` in the table itself.
    private static func parent(
        of column: KeyedSchema.Column, in table: KeyedSchema.Table, isLinked: Bool, _ listed: [Parent]
    ) -> KeyedSchema.Table? {
        let spelling = folded(column.name)
        if let parent = listed.first(where: { $0.names.contains(spelling) }) { return parent.table }
        if isLinked { return nil }
        if ["parent", "parentid"].contains(spelling), let own = listed.first(where: { $0.table.name == table.name }) { return own.table }
        let ended = listed.first { parent in
            parent.names.contains { name in name.count > 4 && name.hasSuffix("id") && spelling.hasSuffix(name) }
        }
        return ended?.table
    }

    /// Returns the usual names of columns that refer to a table: `artist`, `artist_id`, `idArtist`, and the key's own.
    private static func names(_ table: KeyedSchema.Table) -> Set<String> {
        let key = folded(table.key[0].name)
        var names: Set<String> = ["id", "key", "pk", "uid", "number", "no"].contains(key) ? [] : [key]
        for name in singular(folded(table.name)) { names.formUnion([name, name + "id", "id" + name, name + key, name + "key", name + "fk"]) }
        return names
    }

    /// Returns a name, and what may be its singular.
    private static func singular(_ name: String) -> [String] {
        var names = [name]
        if name.hasSuffix("s") { names.append(String(name.dropLast())) }
        if name.hasSuffix("es") { names.append(String(name.dropLast(2))) }
        if name.hasSuffix("ies") { names.append(name.dropLast(3) + "y") }
        return names
    }

    /// Returns a name in lower case, without underscores and spaces.
    private static func folded(_ name: String) -> String { name.lowercased().filter { !"_ ".contains($0) } }
}
