import GRDBSQLite
import Synchronization
import SystemPackage

/// Counts the work of SQLite on the database files below a directory, in every connection of this process that is opened later.
///
/// It counts by sqlite3_trace_v2(), which it sets when a connection opens (sqlite.org/c3ref/auto_extension.html). A connection that GRDB traces is not
/// counted.
final class SQLiteMeter: Sendable {
    /// One run of a statement, from its first step to its reset.
    struct Run: Sendable {
        /// The database file of the connection.
        var file: FilePath
        var sql: String
        /// How many rows it returned.
        var rows: Int
        /// How many instructions SQLite's virtual machine executed; they grow with the rows that are looked at, returned or not.
        var steps: Int
        /// How often it sorted.
        var sorts: Int
    }

    private struct State {
        var runs: [Run] = []
        var rows: [UInt: Int] = [:]
        var connections: [FilePath] = []
    }

    private let directory: FilePath
    private let state = Mutex(State())
    /// Called on the connection's thread with each statement that begins to run.
    private let willRun: (@Sendable (_ file: FilePath, _ sql: String) -> Void)?

    /// Connections may outlive a test, so meters are kept.
    private static let meters = Mutex<[SQLiteMeter]>([])

    /// Counts from now on.
    ///
    /// - Parameters:
    ///   - directory: the directory, or one database file.
    ///   - willRun: is called with each statement that begins to run, on the thread that runs it.
    init(below directory: FilePath, willRun: (@Sendable (_ file: FilePath, _ sql: String) -> Void)? = nil) {
        self.directory = directory
        self.willRun = willRun
        _ = Self.isInstalled
        Self.meters.withLock { $0.append(self) }
    }

    /// The runs that have ended, in the order in which they did.
    var runs: [Run] { state.withLock { $0.runs } }
    /// The database file of each connection that was opened.
    var connections: [FilePath] { state.withLock { $0.connections } }
    /// How many instructions all runs executed.
    var steps: Int { runs.reduce(0) { $0 + $1.steps } }

    /// Forgets what was counted.
    func reset() { state.withLock { ($0.runs, $0.connections) = ([], []) } }

    // MARK: What SQLite calls

    private static let isInstalled: Bool = {
        let entry: @convention(c) (OpaquePointer?, UnsafeMutablePointer<UnsafePointer<CChar>?>?, OpaquePointer?) -> CInt = { db, _, _ in
            guard let meter = SQLiteMeter.meter(of: db), let file = file(of: db) else { return SQLITE_OK }
            meter.state.withLock { $0.connections.append(file) }
            return sqlite3_trace_v2(
                db, CUnsignedInt(SQLITE_TRACE_STMT | SQLITE_TRACE_ROW | SQLITE_TRACE_PROFILE),
                { event, meter, statement, text in
                    Unmanaged<SQLiteMeter>.fromOpaque(meter!).takeUnretainedValue().take(event, OpaquePointer(statement!), text)
                    return 0
                }, Unmanaged.passUnretained(meter).toOpaque())
        }
        return sqlite3_auto_extension(unsafeBitCast(entry, to: (@convention(c) () -> Void).self)) == SQLITE_OK
    }()

    private static func file(of db: OpaquePointer?) -> FilePath? { sqlite3_db_filename(db, "main").map { FilePath(platformString: $0) } }

    private static func meter(of db: OpaquePointer?) -> SQLiteMeter? {
        guard let file = file(of: db) else { return nil }
        return meters.withLock { $0.last { file.starts(with: $0.directory) } }
    }

    private func take(_ event: CUnsignedInt, _ statement: OpaquePointer, _ text: UnsafeMutableRawPointer?) {
        let key = UInt(bitPattern: statement)
        switch CInt(event) {
        case SQLITE_TRACE_STMT:
            guard let text else { return }
            let sql = String(cString: text.assumingMemoryBound(to: CChar.self))
            // What a trigger runs is told as a comment, and counted with the statement that fires it.
            guard !sql.hasPrefix("--"), let willRun, let file = Self.file(of: sqlite3_db_handle(statement)) else { return }
            willRun(file, sql)
        case SQLITE_TRACE_ROW: state.withLock { $0.rows[key, default: 0] += 1 }
        case SQLITE_TRACE_PROFILE:
            let run = Run(
                file: Self.file(of: sqlite3_db_handle(statement)) ?? directory, sql: sqlite3_sql(statement).map { String(cString: $0) } ?? "",
                rows: 0,
                steps: Int(sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1)),
                sorts: Int(sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_SORT, 1)))
            state.withLock { state in
                state.runs.append(run)
                state.runs[state.runs.count - 1].rows = state.rows.removeValue(forKey: key) ?? 0
            }
        default: break
        }
    }
}
