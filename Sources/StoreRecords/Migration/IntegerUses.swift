/// SQL of the app that uses converted keys as numbers: in views, triggers, indexes, tables and virtual tables.
///
/// What compares keys with each other, or copies them, works with text too. A number beside a key, arithmetic, or the
/// rowid in its place does not.
struct IntegerUses {
    private(set) var obstacles: [String] = []
    private let plan: StableKeyPlan
    /// The names of the tables to make again, and of the columns to convert, in lower case.
    private let tables: Set<String>
    private let columns: Set<String>
    /// The names of the tables to make again, and of the views that read them, in lower case.
    private let readable: Set<String>

    private static let functions: Set<String> = [
        "abs", "avg", "cast", "format", "max", "min", "printf", "round", "sum", "total", "typeof", "char", "hex",
    ]
    private static let rowids: Set<String> = ["rowid", "oid", "_rowid_", "docid", "last_insert_rowid", "sqlite_sequence"]

    init(_ plan: StableKeyPlan) {
        self.plan = plan
        tables = Set(plan.rebuilt.map { $0.name.lowercased() })
        columns = Set(plan.columns.keys.map(\.column))
        readable = Self.readable(tables, plan.schema.objects.filter { $0.type == "view" })
        for table in plan.schema.tables where !plan.request.accepted.contains(table.name.lowercased()) { check(table) }
        for object in plan.schema.objects where !plan.request.accepted.contains(object.name.lowercased()) { check(object) }
    }

    /// Adds the views that read tables, or other views of them.
    private static func readable(_ tables: Set<String>, _ views: [KeyedSchema.Object]) -> Set<String> {
        var readable = tables
        let names = views.map { view in (view: view.name.lowercased(), all: Set(SQLToken.all(in: view.sql).compactMap(\.identifier))) }
        // A chain of views is no longer than their number.
        for _ in names {
            let found = names.filter { !readable.isDisjoint(with: $0.all) }.map(\.view)
            readable.formUnion(found)
        }
        return readable
    }

    private mutating func check(_ table: KeyedSchema.Table) {
        if table.isVirtual { return checkVirtual(table) }
        guard tables.contains(table.name.lowercased()) else { return }
        let own = Set(plan.columns.keys.filter { $0.table == table.name.lowercased() }.map(\.column))
        guard let use = Self.expressions(of: table.sql).lazy.compactMap({ Self.use(of: own, in: $0) }).first else { return }
        obstacles.append(
            "A CHECK or a computed column of “\(table.name)” uses “\(use)” as a number: make the table again without it in a migration before, or call accepting(\"\(table.name)\") if it is right with text."
        )
    }

    /// Returns the expressions of a table's statement: all that stands in parentheses after CHECK or AS.
    private static func expressions(of sql: String) -> [[SQLToken]] {
        let tokens = SQLToken.all(in: sql)
        return tokens.indices.filter { tokens[$0].isWord("check") || tokens[$0].isWord("as") }.map { start in
            var depth = 0
            return Array(
                tokens[(start + 1)...].prefix { token in
                    if token == .symbol("(") { depth += 1 }
                    if token == .symbol(")") { depth -= 1 }
                    return depth > 0
                })
        }
    }

    private mutating func check(_ object: KeyedSchema.Object) {
        if object.name.lowercased().hasPrefix("ubiquity_") { return }
        let tokens = SQLToken.all(in: object.sql)
        if object.type == "trigger" { checkInsertions(tokens, of: object) }
        let names = Set(tokens.compactMap(\.identifier))
        guard !names.isDisjoint(with: readable) else { return }
        let rowid = object.type == "index" ? nil : names.intersection(Self.rowids).min()
        guard let use = Self.use(of: columns, in: tokens) ?? (names.isDisjoint(with: columns) ? nil : rowid) else { return }
        let remedy = object.type == "index" ? "" : " (the rowids of converted tables stay: new.rowid is what new.id was)"
        obstacles.append(
            "The \(object.type) “\(object.name)” uses “\(use)” as a number: drop it in this migration before the conversion, and create it afterwards with text keys\(remedy), or call accepting(\"\(object.name)\") if it is right with text."
        )
    }

    /// Refuses a trigger that lets SQLite count up the key of a row.
    private mutating func checkInsertions(_ tokens: [SQLToken], of trigger: KeyedSchema.Object) {
        for place in tokens.indices where tokens[place].isWord("into") && place + 1 < tokens.count {
            guard let table = tokens[place + 1].identifier, let key = plan.keys.first(where: { $0.table == table }) else { continue }
            let list = tokens[(place + 2)...].prefix { $0 != .symbol(")") && !$0.isWord("values") && !$0.isWord("select") }
            if list.contains(where: { $0.identifier == key.column }) { continue }
            obstacles.append(
                "The trigger “\(trigger.name)” inserts into “\(table)” without a key, which nothing counts any more: drop it in this migration before the conversion, and create it afterwards with a value for “\(key.column)”, or call accepting(\"\(trigger.name)\") if it gives one."
            )
        }
    }

    /// Returns a name of a converted column beside a number, an operator of numbers, or in a function of numbers.
    private static func use(of names: Set<String>, in tokens: [SQLToken]) -> String? {
        for (place, token) in tokens.enumerated() {
            guard let name = token.identifier, names.contains(name) else { continue }
            if case .string = token { continue }
            // The name can follow those of its table and database.
            var first = place
            while first > 1, tokens[first - 1] == .symbol("."), tokens[first - 2].identifier != nil { first -= 2 }
            let before = tokens[..<first].suffix(3).reversed() as [SQLToken]
            let after = Array(tokens[(place + 1)...].prefix(4))
            if isNumeric(before, isBefore: true) || isNumeric(after, isBefore: false) { return name }
            // CASE name WHEN 1
            if before.first?.isWord("case") ?? false, isNumber(after.dropFirst().first) { return name }
        }
        return nil
    }

    private static func isNumeric(_ neighbors: [SQLToken], isBefore: Bool) -> Bool {
        guard let next = neighbors.first else { return false }
        switch next {
        case .symbol(let character):
            if "+-/%&~".contains(character) { return true }
            // All columns of a table are no product.
            if character == "*" { return !isBefore || neighbors.dropFirst().first != .symbol(".") }
            if character == "(", isBefore {
                guard let name = neighbors.dropFirst().first?.identifier else { return false }
                return functions.contains(name)
            }
            if "<>".contains(character) {
                // `<>` compares for equality.
                let second = neighbors.dropFirst().first
                let isInequality = second == .symbol(character == "<" ? ">" : "<")
                return isInequality ? isNumber(neighbors.dropFirst(2).first) : true
            }
            guard "=!".contains(character) else { return false }
            let operand = neighbors.first { $0 != .symbol("=") && $0 != .symbol("!") }
            return operand == .symbol("<") || operand == .symbol(">") || isNumber(operand) || operand == .symbol("-")
        case .word(let word):
            switch word.lowercased() {
            case "between": return true
            case "in": return !isBefore && isNumber(neighbors.dropFirst(2).first)
            case "is": return isNumber(neighbors.dropFirst().first { !$0.isWord("not") })
            default: return false
            }
        default: return false
        }
    }

    private static func isNumber(_ token: SQLToken?) -> Bool { if case .symbol(let character) = token { character.isNumber } else { false } }

    /// Checks an index of a converted table for its rowid column.
    private mutating func checkVirtual(_ table: KeyedSchema.Table) {
        let tokens = SQLToken.all(in: table.sql)
        guard let using = tokens.firstIndex(where: { $0.isWord("using") }), using + 1 < tokens.count else { return }
        let module = tokens[using + 1].identifier ?? ""
        func option(_ name: String) -> String? {
            guard
                let place = tokens.indices.first(where: { place in
                    tokens[place].isWord(name) && place + 2 < tokens.count && tokens[place + 1] == .symbol("=")
                })
            else { return nil }
            return tokens[place + 2].identifier
        }
        if module.hasPrefix("rtree") || module == "geopoly" {
            obstacles.append(
                "“\(table.name)” is an R*Tree, whose rows have integers: if these are keys of converted tables, join them with the rowid, which stays; then call accepting(\"\(table.name)\")."
            )
        } else if let content = option("content"), tables.contains(content) || isView(content), let rowid = option("content_rowid"),
            columns.contains(rowid)
        {
            obstacles.append(
                "“\(table.name)” reads “\(content)” by “\(rowid)”, which becomes text: drop it in this migration before the conversion, and create it afterwards with content_rowid='rowid' and triggers that use new.rowid; the rowids stay."
            )
        }
    }

    private func isView(_ name: String) -> Bool { plan.schema.objects.contains { $0.type == "view" && $0.name.lowercased() == name } }
}
