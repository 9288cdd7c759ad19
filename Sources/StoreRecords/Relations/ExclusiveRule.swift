internal import GRDB
internal import StoreFormat

/// A rule by which no two records of a table hold equal values, for one transaction.
///
/// It computes the values that a record holds by the rule, and finds the rows that hold given values.
final class ExclusiveRule {
    let exclusion: TableShape.Unique.Exclusion
    private let unique: TableShape.Unique
    private let shape: TableShape
    private let db: Database
    private var evaluation: RawStatement?
    private var holding: RawStatement?

    /// Creates a rule for a transaction.
    ///
    /// - Parameters:
    ///   - unique: the rule.
    ///   - shape: its table.
    ///   - db: the transaction.
    init?(_ unique: TableShape.Unique, _ shape: TableShape, _ db: Database) {
        guard let exclusion = unique.exclusion else { return nil }
        (self.exclusion, self.unique, self.shape, self.db) = (exclusion, unique, shape, db)
    }

    /// The column whose value is moved.
    var moved: String { shape.columns[exclusion.column] }

    /// Returns the values that a record holds, in the order of the terms, or nil if they cannot collide.
    func terms(_ key: [RecordValue], _ values: [RecordValue]) throws -> [RecordValue]? {
        let places = unique.terms.compactMap(\.place)
        guard places.count == unique.terms.count, unique.condition == nil else { return try evaluated(key + values) }
        let terms = places.map { place in
            switch place {
            case .key(let place): key[place]
            case .value(let number): values[number]
            }
        }
        return terms.contains(.null) ? nil : terms
    }

    private func evaluated(_ values: [RecordValue]) throws -> [RecordValue]? {
        if evaluation == nil {
            let record = (shape.keyColumns + shape.columns).map { "? AS \($0.quotedIdentifier)" }.joined(separator: ", ")
            let terms = unique.terms.map { "(\($0.sql))" }.joined(separator: ", ")
            evaluation = try RawStatement("SELECT \(terms) FROM (SELECT \(record)) WHERE \(unique.condition.map { "(\($0))" } ?? "1")", db)
        }
        guard let evaluation else { return nil }
        for (index, value) in values.enumerated() { evaluation.bind(index + 1, value) }
        defer { evaluation.reset() }
        do {
            guard try evaluation.step() else { return nil }
        } catch let error as DatabaseError where error.fault.isContent {
            // The index cannot be computed: the schema refuses the row itself.
            return nil
        }
        let terms = unique.terms.indices.map { evaluation.value($0).detached }
        return terms.contains(.null) ? nil : terms
    }

    /// Returns the terms in a form that is equal where SQLite treats them as equal.
    func collated(_ terms: [RecordValue]) -> [RecordValue] { zip(terms, unique.terms).map { $0.collated($1.collation) } }

    /// Returns the collated terms that do not involve the moved column.
    func scope(_ terms: [RecordValue]) -> [RecordValue] { fixed.map { terms[$0].collated(unique.terms[$0].collation) } }

    private var fixed: [Int] {
        unique.terms.indices.filter { index in
            let term = unique.terms[index]
            return term.place != .value(exclusion.column)
                && (term.place != nil || !SQLToken.all(in: term.sql).contains { $0.identifier == moved.lowercased() })
        }
    }

    /// Returns the latest stamp among the columns of the rule.
    func stamp(of clock: RecordClock, _ peers: PeerTable) -> Stamp {
        var columns = ColumnSet(column: exclusion.column)
        for case .value(let number) in unique.terms.compactMap(\.place) { columns.insert(ColumnSet(column: number)) }
        return columns.numbers.map { clock.stamp(of: $0) }.reduce(.least) { peers.compare($1, $0) == .greater ? $1 : $0 }
    }

    private func condition(_ terms: [Int]) -> String {
        let equal = terms.map { index in
            let term = unique.terms[index]
            return "\(term.isColumn ? term.sql : "(\(term.sql))") COLLATE \(term.collation) = ?"
        }
        return (equal + [unique.condition.map { "(\($0))" } ?? "1"]).joined(separator: " AND ")
    }

    /// Returns the keys of the rows that currently hold the terms.
    func holders(of terms: [RecordValue]) throws -> [[RecordValue]] {
        if holding == nil {
            let keys = shape.keyColumns.map(\.quotedIdentifier).joined(separator: ", ")
            holding = try RawStatement(
                "SELECT \(keys) FROM \(shape.name.quotedIdentifier) WHERE \(condition(Array(unique.terms.indices)))", db)
        }
        guard let holding else { return [] }
        for (index, term) in terms.enumerated() { holding.bind(index + 1, term) }
        defer { holding.reset() }
        var keys: [[RecordValue]] = []
        while try holding.step() { keys.append(shape.keyColumns.indices.map { holding.value($0).detached }) }
        return keys
    }

    /// Returns the rows that hold terms of an equal scope, with the value of the moved column in each.
    func rows(with terms: [RecordValue]) throws -> [(key: [RecordValue], value: RecordValue)] {
        let columns = (shape.keyColumns + [moved]).map(\.quotedIdentifier).joined(separator: ", ")
        let statement = try RawStatement("SELECT \(columns) FROM \(shape.name.quotedIdentifier) WHERE \(condition(fixed))", db)
        for (index, place) in fixed.enumerated() { statement.bind(index + 1, terms[place]) }
        defer { statement.reset() }
        var rows: [(key: [RecordValue], value: RecordValue)] = []
        while try statement.step() {
            let value = statement.value(shape.keyColumns.count).detached
            if value != .null { rows.append((shape.keyColumns.indices.map { statement.value($0).detached }, value)) }
        }
        return rows
    }
}
