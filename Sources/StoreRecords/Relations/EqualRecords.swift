internal import StoreFormat

/// The records that are found to be equal in one resolution.
///
/// They become one by a same-as fact, or stay marked until that is allowed.
final class EqualRecords {
    private let tables: RelatedTables
    private let elections: Elections
    private let now: Double
    /// Whether records that are found to be equal become one; if not, the next resolver examines them again.
    private let unites: Bool
    /// The rights of the account, in a store with a scope.
    ///
    /// A same-as fact goes into a log, so only an account that may change the records states it. Until then one of them
    /// is held here.
    private let rights: WriteRights?
    /// The facts that were found, for a log.
    private(set) var facts: [(table: Int, fact: SameAs)] = []
    /// The records that are equal to others but do not become one yet.
    private var postponed: Set<RecordName> = []

    init(_ tables: RelatedTables, elections: Elections, now: Double, unites: Bool, rights: WriteRights? = nil) {
        self.tables = tables
        self.elections = elections
        self.now = now
        self.unites = unites
        self.rights = rights
    }

    /// Returns whether an entity becomes one with those that are equal to it.
    func unites(_ entity: Entity) -> Bool { unites && isOurs(entity.shownKey, in: entity.table) }

    private func isOurs(_ key: [RecordValue], in table: Int) -> Bool { rights?.allows(key, in: tables.shapes[table]) ?? true }

    /// Stores a same-as fact about two records, and lists them for an election.
    func unite(_ table: Int, _ one: RecordNode, _ other: RecordNode) throws -> [RecordName] {
        let fact = SameAs(one, other)
        if try tables[table].enter(fact, since: now) { facts.append((table, fact)) }
        let names = [one, other].map { RecordName(table: table, key: $0.key) }
        elections.contest(names[0], tables.shapes[table])
        return names
    }

    /// Postpones records of a table that are equal to others, unless another account has to unite them.
    func postpone(_ keys: [[RecordValue]], in table: Int) {
        postponed.formUnion(keys.filter { isOurs($0, in: table) }.map { RecordName(table: table, key: $0) })
    }

    /// Marks the postponed records, and returns whether there are any.
    func markPostponed() throws -> Bool {
        for name in postponed { try tables[name.table].markUnresolved(name.key) }
        return !postponed.isEmpty
    }
}
