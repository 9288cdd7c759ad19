internal import StoreFormat

/// The records that are found to be equal in one resolution.
///
/// They become one by a same-as fact, or stay marked until that is allowed.
final class EqualRecords {
    private let tables: RelatedTables
    private let elections: Elections
    private let now: Double
    /// Whether records that are found to be equal become one; if not, the next resolver examines them again.
    let unites: Bool
    /// The facts that were found, for a log.
    private(set) var facts: [(table: Int, fact: SameAs)] = []
    /// The records that are equal to others but do not become one yet.
    private var postponed: Set<RecordName> = []

    init(_ tables: RelatedTables, elections: Elections, now: Double, unites: Bool) {
        self.tables = tables
        self.elections = elections
        self.now = now
        self.unites = unites
    }

    /// Stores a same-as fact about two records, and lists them for an election.
    func unite(_ table: Int, _ one: RecordNode, _ other: RecordNode) throws -> [RecordName] {
        let fact = SameAs(one, other)
        if try tables[table].enter(fact, since: now) { facts.append((table, fact)) }
        let names = [one, other].map { RecordName(table: table, key: $0.key) }
        elections.contest(names[0], tables.shapes[table])
        return names
    }

    /// Postpones records of a table that are equal to others.
    func postpone(_ keys: [[RecordValue]], in table: Int) { postponed.formUnion(keys.map { RecordName(table: table, key: $0) }) }

    /// Marks the postponed records, and returns whether there are any.
    func markPostponed() throws -> Bool {
        for name in postponed { try tables[name.table].markUnresolved(name.key) }
        return !postponed.isEmpty
    }
}
