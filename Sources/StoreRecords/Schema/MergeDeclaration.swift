internal import Foundation
internal import GRDB
internal import StoreFormat

/// How a table's columns merge, and its former names, as a store file keeps them for tools without the app's schema.
struct MergeDeclaration: Hashable, Codable {
    /// The policies other than the last writer's, by column.
    var policies: [String: String] = [:]
    /// The groups of columns that are one value.
    var together: [[String]] = []
    var formerNames: [String] = []
    /// The present names of former columns.
    var formerColumns: [String: String] = [:]

    init() {}

    init(_ shape: TableShape) {
        for (column, policy) in shape.rules.policies { policies[shape.columns[column]] = "\(policy)" }
        together = shape.rules.groups.map { group in group.numbers.map { shape.columns[$0] } }.sorted { $0.lexicographicallyPrecedes($1) }
        (formerNames, formerColumns) = (shape.formerNames, shape.formerColumns)
    }

    /// The declaration as JSON; nil if every column is a register of its own in which the last writer wins.
    var text: String? {
        get throws {
            guard self != MergeDeclaration() else { return nil }
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }

    init(text: String) throws { self = try JSONDecoder().decode(Self.self, from: Data(text.utf8)) }

    /// The policies, as an app declares them.
    var columnPolicies: [String: MergePolicy] {
        policies.compactMapValues { name in MergePolicy.allCases.first { "\($0)" == name } }
    }
}

/// The rows of `ubiquity_declaration` that tools read.
enum DeclaredText {
    /// Returns what the app declared about a table at the last opening; nil if that is nothing.
    static func read(_ kind: String, of table: String, _ db: Database) throws -> String? {
        guard try db.tableExists("ubiquity_declaration", in: "main") else { return nil }
        return try String.fetchOne(db, sql: "SELECT text FROM ubiquity_declaration WHERE kind = ? AND name = ?", arguments: [kind, table])
    }
}

extension MergeDeclaration {
    static let kind = "merging"

    /// Reads how a table's columns merge.
    static func read(of table: String, _ db: Database) throws -> MergeDeclaration {
        try DeclaredText.read(kind, of: table, db).map(MergeDeclaration.init(text:)) ?? MergeDeclaration()
    }
}

/// The accounts that may change a table's rows, as a store file keeps it: `creator` or `role`, and the name of the column or
/// role.
enum AccessDeclaration {
    static let kind = "access"

    static func text(_ access: TableAccess) -> String {
        switch access {
        case .creator(let column): "creator \(column)"
        case .role(let role): "role \(role)"
        }
    }

    /// Reads who may change a table's rows; nil in a store without a scope.
    static func read(of table: String, _ db: Database) throws -> TableAccess? {
        guard let text = try DeclaredText.read(kind, of: table, db), let space = text.firstIndex(of: " ") else { return nil }
        let name = String(text[text.index(after: space)...])
        return text[..<space] == "creator" ? .creator(name) : .role(name)
    }
}
