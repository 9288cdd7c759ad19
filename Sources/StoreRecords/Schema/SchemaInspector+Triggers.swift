internal import Foundation
internal import GRDB

extension SchemaInspector {
    /// Rejects app triggers that write a synced table during imports: they would repeat writes of the originating
    /// device.
    mutating func checkTriggers(_ triggers: [AppTrigger], writing tables: [String]) {
        for trigger in triggers where !trigger.isGuarded {
            if let table = tables.first(where: { $0.lowercased() == trigger.table }) {
                // If a trigger skips a row of an import, another device's write is silently lost. If it prevents a
                // deletion, the import cannot replace a row.
                let isHindering = trigger.event == .delete ? !trigger.raised.isEmpty : !trigger.raised.isDisjoint(with: ["ignore", "rollback"])
                if isHindering {
                    violations.append(
                        "Trigger “\(trigger.name)” could hinder an import that writes the synced table “\(table)” (RAISE): add WHEN (SELECT active FROM ubiquity_import) = 0."
                    )
                }
            }
            for table in tables where trigger.written.contains(table.lowercased()) {
                violations.append(
                    "Trigger “\(trigger.name)” writes the synced table “\(table)” during an import too: add WHEN (SELECT active FROM ubiquity_import) = 0."
                )
            }
        }
    }

    /// Rejects a guard on a trigger that computes a derived table, which has to follow imports to stay current.
    mutating func checkDerived(_ tables: [SyncedTable], _ triggers: [AppTrigger]) throws {
        let declared = Set(tables.flatMap(\.derived).map { $0.lowercased() })
        for trigger in triggers where trigger.isGuarded {
            guard let table = tables.first(where: { $0.name.lowercased() == trigger.table }) else { continue }
            for name in trigger.written.sorted() {
                guard try declared.contains(name) || DerivedTable.isIndex(name, db) else { continue }
                let declaration = declared.contains(name) ? "" : ", and declare derived: [\"\(name)\"] in SyncedTable(\"\(table.name)\")"
                violations.append(
                    "Trigger “\(trigger.name)” keeps “\(name)” and skips the writes of imports (ubiquity_import), so that “\(name)” goes stale: take the guard out of it, because a trigger that writes no synced table needs none\(declaration). The table is then filled again once."
                )
            }
        }
        for table in tables { for name in table.derived { try checkDerived(name, of: table, tables, triggers, declared) } }
    }

    private mutating func checkDerived(
        _ name: String, of table: SyncedTable, _ tables: [SyncedTable], _ triggers: [AppTrigger], _ declared: Set<String>
    ) throws {
        let what = "“\(name)”, which is declared as derived from “\(table.name)”,"
        if tables.contains(where: { $0.name.lowercased() == name.lowercased() }) || name.lowercased().hasPrefix("ubiquity_") {
            violations.append("\(what) syncs by itself: remove one of the declarations.")
            return
        }
        guard let derived = try DerivedTable(name, db) else {
            violations.append("\(what) is no table: create it in the migrator, spelled alike.")
            return
        }
        if let obstacle = derived.obstacle { violations.append("\(what) \(obstacle)") }
        let own = triggers.filter { $0.table == table.name.lowercased() && $0.written.contains(name.lowercased()) }
        let wanted: [AppTrigger.Event] = derived.isVirtual ? [.insert, .update, .delete] : [.insert]
        let missing = wanted.filter { event in !own.contains { $0.event == event } }
        if !missing.isEmpty {
            let events = missing.map { $0.rawValue.uppercased() }.joined(separator: ", ")
            violations.append(
                "\(what) is kept by no trigger of “\(table.name)” for \(events): make one in the migrator, so that it follows that table.")
        }
        for trigger in own where trigger.event == .insert {
            let others = trigger.written.subtracting(declared).sorted().joined(separator: ", ")
            if !others.isEmpty {
                violations.append(
                    "Trigger “\(trigger.name)” keeps the derived “\(name)” and writes \(others) too, which would be written again whenever “\(name)” is filled again: move that to a separate trigger."
                )
            }
        }
    }
}
