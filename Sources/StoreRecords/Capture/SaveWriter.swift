package import GRDB
package import StoreFormat

/// Writes one save into logs.
///
/// A log is closed at a size of some megabytes, and the next continues with the same stamp.
///
/// A save of any size is therefore sealed, published and joined in the memory of one log. The transaction that seals
/// the save puts all its logs into the outbox, or none. Each log but the last states that the save continues, so that
/// other peers join them together.
package final class SaveWriter {
    private let sealer: Sealer
    private let time: HybridTime
    private let db: Database
    private(set) var state: StoreState
    private var body = LogBodyBuilder()
    private var part: Int64 = 0

    /// Begins a save.
    ///
    /// - Parameters:
    ///   - sealer: the sealer of the store.
    ///   - time: the stamp of the save.
    ///   - state: the state of the store, which is saved with each log.
    ///   - db: the store, in the transaction of the save.
    package init(_ sealer: Sealer, at time: HybridTime, _ state: StoreState, _ db: Database) {
        (self.sealer, self.time, self.state, self.db) = (sealer, time, state, db)
        self.state.clock = time
    }

    /// Adds changes of one table.
    package func add(_ table: LogBody.Table, count: Int, rows: WireWriter) throws {
        guard count > 0 else { return }
        try makeRoom(for: rows.bytes.count)
        body.add(table, count: count, rows: rows)
    }

    /// Adds a same-as fact of one table.
    func add(_ table: LogBody.Table, _ fact: SameAs) throws {
        try makeRoom(for: 0)
        body.add(table, fact)
    }

    /// Writes the last log.
    ///
    /// - Returns: the state of the store with the last log of the save, or nil if nothing was added.
    package func finish() throws -> StoreState? {
        guard !body.isEmpty else { return nil }
        try post(goesOn: false)
        return state
    }

    /// Closes the log if the next bytes would make it too large.
    private func makeRoom(for bytes: Int) throws {
        guard !body.isEmpty, body.size + bytes > sealer.logSize else { return }
        try post(goesOn: true)
    }

    private func post(goesOn: Bool) throws {
        try sealer.post(body, at: time, part: part, goesOn: goesOn, state: &state, db)
        body = LogBodyBuilder()
        part += 1
    }
}
