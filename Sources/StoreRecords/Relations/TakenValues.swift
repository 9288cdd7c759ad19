internal import GRDB
internal import StoreFormat

/// Finds the row that holds equal values by a uniqueness rule of the schema, for one transaction.
///
/// It searches the rules whose terms are columns. An insert finds the collisions by all other rules, and costs several
/// times as much if it fails.
final class TakenValues {
    private let shape: TableShape
    private let db: Database
    private var rules: [(places: [ForeignKey.Column], statement: RawStatement)]?

    init(_ shape: TableShape, _ db: Database) {
        self.shape = shape
        self.db = db
    }

    /// Returns the key of a row that holds the values of a record by one of these rules, or nil if none is found.
    func holder(of record: Registers) throws -> [RecordValue]? {
        for (places, statement) in try rules ?? prepare() {
            let terms = places.map { place in
                switch place {
                case .key(let place): record.key[place]
                case .value(let number): record.values[number]
                }
            }
            guard !terms.contains(.null) else { continue }
            for (index, term) in terms.enumerated() { statement.bind(index + 1, term) }
            defer { statement.reset() }
            if try statement.step() { return shape.keyColumns.indices.map { statement.value($0) } }
        }
        return nil
    }

    private func prepare() throws -> [(places: [ForeignKey.Column], statement: RawStatement)] {
        let keys = shape.keyColumns.map(\.quotedIdentifier).joined(separator: ", ")
        let prepared = try shape.uniques.compactMap { unique -> (places: [ForeignKey.Column], statement: RawStatement)? in
            let places = unique.terms.compactMap { $0.isColumn ? $0.place : nil }
            guard unique.isEnforced, unique.condition == nil, places.count == unique.terms.count else { return nil }
            let condition = unique.terms.map { "\($0.sql) COLLATE \($0.collation) = ?" }.joined(separator: " AND ")
            return (places, try RawStatement("SELECT \(keys) FROM \(shape.name.quotedIdentifier) WHERE \(condition)", db))
        }
        rules = prepared
        return prepared
    }
}
