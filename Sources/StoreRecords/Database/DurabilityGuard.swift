internal import GRDB
internal import GRDBSQLite

/// Keeps an app's pragmas from making its saves less durable than a store promises.
///
/// Inside a transaction SQLite itself refuses a change of `synchronous` (sqlite.org/pragma.html#pragma_synchronous).
/// Outside of one, which GRDB's methods without a transaction allow, the guard reads the level before each statement
/// begins and at the end of the app's work, and restores it if it is too low. SQLite sets the level while it prepares
/// the pragma, and calls the trace when the statement begins to run (sqlite.org/c3ref/trace_v2.html): the guard
/// restores the level before the pragma itself has run. If an app replaces the rollback journal by one in memory or by
/// none, the guard restores it before the next statement. A write-ahead log can be restored only when no statement
/// runs, at the end, and SQLite keeps it anyway while another connection has the file open. An app may raise the level.
///
/// A write in a transaction over a write-ahead log costs no check of its statements. The first other write sets the
/// connection's trace. If an app sets its own trace after that, the guard restores the level only at the end.
package final class DurabilityGuard: @unchecked Sendable {
    // All properties are used on the writer's queue only.
    private let mode: JournalMode
    /// The schemas whose files the store writes.
    private let schemas: [String]
    private var connection: OpaquePointer?
    private var isWatching = false
    /// Whether the connection's trace reports each statement.
    private var isTraced = false

    init(_ mode: JournalMode, attached: [AttachedDatabase]) {
        self.mode = mode
        schemas = ["main"] + attached.filter(\.isWritten).map(\.name)
    }

    /// Remembers a file's writer.
    ///
    /// - Parameters:
    ///   - configuration: the configuration of the file's connections.
    ///   - isTraced: whether the connection already has a trace that calls ``statementBegins()``.
    func install(in configuration: inout Configuration, isTraced: Bool) {
        configuration.prepareDatabase { [self] db in
            guard !db.configuration.readonly else { return }
            connection = db.sqliteConnection
            self.isTraced = isTraced
        }
    }

    /// Traces the writer's statements from now on, if a statement can change the level before the app's work ends.
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

    /// Runs an app's work, and restores the level afterwards.
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

    /// Restores the level; the trace calls it before each statement of the writer runs.
    func statementBegins() {
        guard isWatching else { return }
        isWatching = false
        restore()
        isWatching = true
    }

    private func restore() {
        guard let connection else { return }
        // In a transaction SQLite changes no level and does not leave a write-ahead log, but it replaces one rollback
        // journal by another.
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

    /// Sets a pragma; one that cannot be set now is set at the next restore.
    private func set(_ pragma: String, _ connection: OpaquePointer) { _ = value(pragma, { _ in () }, connection) }
}
