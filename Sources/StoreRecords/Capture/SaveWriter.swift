package import GRDB
package import StoreFormat

/// Writes what one save says into logs: one is closed once it has some megabytes, and the next goes on with the same stamp.
///
/// So a save of any size is sealed, published and joined in the memory of one log. Its logs are in the outbox with the transaction that seals it, all or
/// none, and each but the last says that the save goes on: other peers join them together.
package final class SaveWriter {
    private let sealer: Sealer
    private let time: HybridTime
    private let db: Database
    private(set) var state: StoreState
    private var body = LogBodyBuilder()
    private var part: Int64 = 0

    /// Begins.
    ///
    /// - Parameters:
    ///   - sealer: whose store it is.
    ///   - time: the save's stamp.
    ///   - state: the store's state, which is saved with each log.
    ///   - db: in the transaction of the save.
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

    /// Adds that two records of a table are one.
    func add(_ table: LogBody.Table, _ fact: SameAs) throws {
        try makeRoom(for: 0)
        body.add(table, fact)
    }

    /// Writes what is left.
    ///
    /// - Returns: the store's state with the save's last log; nil where nothing was added.
    package func finish() throws -> StoreState? {
        guard !body.isEmpty else { return nil }
        try post(goesOn: false)
        return state
    }

    /// Closes the log where what comes next makes it too large.
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
