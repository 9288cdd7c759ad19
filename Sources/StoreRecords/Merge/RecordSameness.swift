internal import StoreFormat

/// The SQL condition that a store's row `t` and clock `c` equal a record `r` of a baseline.
struct RecordSameness {
    private let peer: String
    private let others: String

    /// Creates the condition for expressions of the numbers in the store of a baseline's peers.
    init(peer: (String) -> String, others: (String) -> String) {
        self.init(peer: "c.peer = \(peer("r.peer"))", others: "c.others IS \(others("r.others"))")
    }

    private init(peer: String, others: String) { (self.peer, self.others) = (peer, others) }

    /// Creates the condition for the numbers in the store of those peers of a baseline that the store knows.
    init(numbers: [Int64: Int64]) {
        if numbers.allSatisfy({ $0.key == $0.value }) {
            self.init(peer: { $0 }, others: { $0 })
        } else {
            let cases = numbers.sorted { $0.key < $1.key }.map { " WHEN \($0.key) THEN \($0.value)" }.joined()
            // Stamps of several peers are packed with the numbers of the baseline.
            self.init(peer: "c.peer = CASE r.peer WHEN 0 THEN 0\(cases) END", others: "c.others IS NULL AND r.others IS NULL")
        }
    }

    /// Returns the condition that the store does not hold a record as it is.
    ///
    /// - Parameters:
    ///   - shape: the table.
    ///   - knowsPlace: whether the record has a rowid, which is often that of the store's row: then both are read in
    ///     their order.
    /// - Returns: the condition.
    func isNews(_ shape: TableShape, knowsPlace: Bool) -> String {
        let ownKeys = shape.keyColumns.indices.map { "c.k\($0) = r.k\($0)" }.joined(separator: " AND ")
        let isClock = shape.hasRowid ? "c.rid = t.rowid" : ownKeys
        let keys = shape.keyColumns.enumerated().map { "t.\($1.quotedIdentifier) = r.k\($0)" }
        let clock = ["life", "time", "columns"].map { "c.\($0) = r.\($0)" } + [peer, others]
        // Two branches of one peer may have given the same stamp to two values.
        let values = shape.columns.enumerated().flatMap { number, column in
            let name = "t.\(column.quotedIdentifier)"
            let isSame = "NOT (\(ExactComparison.differ(name, "r.v\(number)")))"
            // For zeros, only the merge itself sees the sign.
            return shape.untyped.contains(ColumnSet(column: number)) ? [isSame, "NOT (\(ExactComparison.isZero(name)))"] : [isSame]
        }
        func isMissing(_ place: [String]) -> String {
            """
            NOT EXISTS (SELECT 1 FROM main.\(shape.name.quotedIdentifier) t CROSS JOIN main.\(shape.clockTable) c
            WHERE \((place + [isClock] + clock + values).joined(separator: " AND ")))
            """
        }
        guard knowsPlace, !shape.isRowidKey else { return isMissing(keys) }
        // The sign keeps SQLite from finding the row by its key.
        return "\(isMissing(["t.rowid = r.place"] + keys.map { "+\($0)" })) AND \(isMissing(keys))"
    }
}
