internal import GRDB
internal import StoreAuthority
internal import StoreFormat
package import StoreRecords
internal import UbiquityContainers

/// The schema of a store as it syncs: tables, who changes their records, and indexes.
package struct SchemaReport: Sendable, Codable {
    package var content: String
    /// The container with a scope; nil for a container of one account.
    package var container: String?
    /// The app's migrations that have run, in their order.
    package var migrations: [String]
    package var tables: [TableDescription]
    /// What the container's policy says of each table, as `creator:COLUMN` or `role:ROLE`; nil without a scope.
    package var policy: [String: String]?

    /// The tables that the policy does not know, or of which it says something else than the app.
    package var contradicted: [TableDescription] {
        guard let policy else { return [] }
        return tables.filter { table in table.access.map { policy[table.name] != Self.text($0) } ?? false }
    }

    static func text(_ access: TableAccess) -> String {
        switch access {
        case .creator(let column): "creator:\(column)"
        case .role(let role): "role:\(role)"
        }
    }
}

extension InspectedStore {
    /// Returns the schema of the store as it syncs.
    ///
    /// - Returns: the schema.
    /// - Throws: GRDB's errors.
    package func schemaReport() throws -> SchemaReport {
        try read { db in
            let hasScope = try ScopeState.exists(db)
            let policy = try hasScope ? ScopeState.authority(db).flatMap { Authority(saved: $0.bytes) }?.policy?.value : nil
            return SchemaReport(
                content: try StoreState.read(db).content, container: try hasScope ? ScopeState.read(db).container.description : nil,
                migrations: try SyncedSchema.migrations(db), tables: try TableDescription.all(db),
                policy: policy.map { $0.access.mapValues(SchemaReport.text) })
        }
    }
}
