internal import StoreFormat

/// Computes the rows of records that relate to others, and writes them, in the caller's transaction.
///
/// The rows are a function of the registers and the same-as facts:
///
/// - Records that are one by a fact, or because their keys refer to records that are one, make one entity. It is shown
///   under its smallest living key, with its columns joined by stamp.
/// - A reference to a record that is shown under another key is shown with that key.
/// - An entity whose parent is not shown shows NULL or the default instead, or is held.
/// - If two entities hold a value that only one can hold, one of them shows another value.
/// - An entity that the overlay hides is held.
///
/// Entities that refer to each other in a circle are all shown: of all choices of held entities that leave no reference
/// dangling, the smallest applies.
///
/// The resolver computes only what may have changed: the marked records, those that are one with them, and those that
/// refer to these. Foreign keys must be off in the connection, because single rows need not have a valid order.
final class Resolver {
    private let tables: RelatedTables
    private let peers: PeerTable
    /// The tables, each after those to which its keys refer.
    private let order: [Int]
    private let elections: Elections
    private let choices: [String: [String: SyncedTable.Exclusive.Choice]]
    private let equalRecords: EqualRecords
    private let refused = RefusedRows()
    private let overlay: Overlay?
    private let writer: RowWriter

    init(
        _ tables: RelatedTables, peers: PeerTable, elections: [String: SyncedTable.Election], now: Double, stamp: Stamp,
        choices: [String: [String: SyncedTable.Exclusive.Choice]] = [:], unites: Bool = true, rights: WriteRights? = nil,
        overlay: Overlay? = nil
    ) {
        self.tables = tables
        self.peers = peers
        self.choices = choices
        self.overlay = overlay
        order = RelationOrder(tables.shapes).tables
        self.elections = Elections(elections, peers: peers, stamp: stamp)
        equalRecords = EqualRecords(tables, elections: self.elections, now: now, unites: unites, rights: rights)
        writer = RowWriter(tables, equalRecords: equalRecords, refused: refused)
    }

    /// The notice about the rows that the transaction has changed.
    var changes: RecordChanges { writer.changes }

    /// The facts that two records are one, found here and to be written into a log.
    var facts: [(table: Int, fact: SameAs)] { equalRecords.facts }

    /// The columns that elections have set, for a log.
    var elected: [(table: Int, registers: Registers, columns: ColumnSet)] { elections.elected }

    /// The number of records in a batch.
    private static let batch = 5000

    /// Resolves the marked records, and marks the postponed ones afterwards.
    ///
    /// - Parameter batches: the maximum number of full batches; the facts found stay in memory until the transaction
    ///   ends.
    /// - Returns: whether no record is marked any more.
    /// - Throws: GRDB's errors, and errors of an election.
    func resolve(batches: Int = .max) throws -> Bool {
        let isDone = try resolveMarked(batches)
        let hasPostponed = try equalRecords.markPostponed()
        return isDone && !hasPostponed
    }

    private func resolveMarked(_ limit: Int) throws -> Bool {
        var batches = limit
        while batches > 0 {
            var marked: [RecordName] = []
            for table in tables.shapes.indices where marked.count < Self.batch {
                marked += try tables[table].takeUnresolved(Self.batch - marked.count).map { RecordName(table: table, key: $0) }
            }
            guard !marked.isEmpty else { return true }
            if marked.count >= Self.batch { batches -= 1 }
            // Each round leaves fewer entities.
            while !marked.isEmpty { marked = try resolve(marked) }
        }
        return false
    }

    /// Runs one round, and returns the records that were found to be one, for the next round.
    private func resolve(_ marked: [RecordName]) throws -> [RecordName] {
        let search = EntitySearch(tables, peers: peers, elections: elections, marked: Set(marked))
        let evaluator = RowEvaluator(search, refused: refused, overlay: overlay)
        let exclusions = ExclusionRound(evaluator, peers: peers, choices: choices)
        try search.composeMarked(in: order)
        try evaluator.recall()
        try evaluator.evaluate()
        try exclusions.exclude()
        return try writer.show(search.entities, evaluator, exclusions)
    }
}
