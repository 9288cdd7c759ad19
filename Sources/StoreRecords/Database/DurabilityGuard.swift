internal import GRDB
internal import GRDBSQLite

/// Keeps an app's pragmas from making its saves less durable than a store promises.
///
/// Inside a transaction SQLite refuses a change of `synchronous` itself (sqlite.org/pragma.html#pragma_synchronous). Outside of one, which GRDB's ways of writing without a
/// transaction allow, the level is looked at before each statement begins, and put back where it is lower than it must be; so it is at the end of what the app does. SQLite sets the level while it prepares
/// the pragma and tells of the statement when it begins to run (sqlite.org/c3ref/trace_v2.html): the level is back before the pragma itself has run. A rollback journal that was changed for one in
/// memory, or for none, is back before the next statement. A write-ahead log can be put back only when no statement runs, at the end, and stays in any case while another connection has the file open. An app may raise
/// the level.
///
/// A write in a transaction over a write-ahead log costs no look at its statements. The first other one sets the connection's trace; if an app sets one of its own after that, the level
/// is put back at the end alone.
package final class DurabilityGuard: @unchecked Sendable {
    // All of it is touched on the writer's queue only.
    private let mode: JournalMode
    /// The schemas whose files the store writes.
    private let schemas: [String]
    private var connection: OpaquePointer?
    private var isWatching = false
    /// Whether each statement is told of.
    private var isTraced = false

    init(_ mode: JournalMode, attached: [AttachedDatabase]) {
        self.mode = mode
        schemas = ["main"] + attached.filter(\.isWritten).map(\.name)
    }

    /// Takes note of a file's writer.
    ///
    /// - Parameters:
    ///   - configuration: of the file's connections.
    ///   - isTraced: whether the connection has a trace already, which calls ``statementBegins()``.
    func install(in configuration: inout Configuration, isTraced: Bool) {
        configuration.prepareDatabase { [self] db in
            guard !db.configuration.readonly else { return }
            connection = db.sqliteConnection
            self.isTraced = isTraced
        }
    }

    /// Looks at the writer's statements from now on, if the level can be changed before the end of what the app does.
    private func trace() {
        guard !isTraced, let connection, mode == .delete || sqlite3_get_autocommit(connection) != 0 else { return }
        isTraced = true
        sqlite3_trace_v2(
            connection, UInt32(SQLITE_TRACE_STMT),
            { _, context, _, _ in
                Unmanaged<DurabilityGuard>.fromOpaque(context!).takeUnretainedValue().statementBegins()
                return 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Does what an app wants done, and sees that it leaves the level as it must be.
    package func watching<Result>(_ body: () throws -> Result) rethrows -> Result {
        trace()
        let wasWatching = isWatching
        isWatching = true
        defer {
            isWatching = wasWatching
            restore()
        }
        return try body()
    }

    /// Is called before each statement of the writer runs.
    func statementBegins() {
        guard isWatching else { return }
        isWatching = false
        restore()
        isWatching = true
    }

    private func restore() {
        guard let connection else { return }
        // Within a transaction SQLite changes no level, nor a write-ahead log for another journal, but one rollback journal for another.
        let isInTransaction = sqlite3_get_autocommit(connection) == 0
        guard !isInTransaction || mode == .delete else { return }
        for schema in schemas.map(\.quotedIdentifier) {
            let level = isInTransaction ? nil : value("PRAGMA \(schema).synchronous", { sqlite3_column_int($0, 0) }, connection)
            if let level, level < mode.synchronousLevel { set("PRAGMA \(schema).synchronous = \(mode.synchronous)", connection) }
            let journal = value("PRAGMA \(schema).journal_mode", { sqlite3_column_text($0, 0).map { String(cString: $0) } }, connection)
            if let journal, journal != mode.rawValue { set("PRAGMA \(schema).journal_mode = \(mode.rawValue)", connection) }
        }
    }

    private func value<Value>(_ pragma: String, _ read: (OpaquePointer?) -> Value?, _ connection: OpaquePointer) -> Value? {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(connection, pragma, -1, &statement, nil) == SQLITE_OK else { return nil }
        defer { sqlite3_finalize(statement) }
        return sqlite3_step(statement) == SQLITE_ROW ? read(statement) : nil
    }

    /// Sets a pragma; one that cannot be set now is set another time.
    private func set(_ pragma: String, _ connection: OpaquePointer) { _ = value(pragma, { _ in () }, connection) }
}
