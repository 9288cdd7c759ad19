import CLinux
import Foundation
import GRDB
import Glibc
import Synchronization
import SystemPackage
import UbiquityContainers
import UbiquityStores
import UbiquityTesting

/// Runs a body with a directory of its own, and removes it.
@discardableResult
func withTemporaryDirectory<Result>(_ body: (FilePath) async throws -> Result) async throws -> Result {
    let path = FileManager.default.temporaryDirectory.appending(path: "ubiquity-test-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try await body(FilePath(path))
}

/// A device: a home that is signed in, a clock, and a place for store files.
struct TestDevice: Sendable {
    let directory: FilePath
    let home: DeviceHome
    let clock = ManualClock()

    init(_ name: String, in directory: FilePath, account: String = "alice", root: FilePath) throws {
        self.directory = directory.appending(name)
        home = DeviceHome(self.directory.appending("home"))
        try home.signIn(AccountName(account), containers: root)
    }

    func container() async throws -> UbiquityContainer { try await UbiquityContainer("org.example.test", home: home) }

    func open(
        _ schema: SyncedSchema = personSchema, contentName: String = "People", automatically: Bool = false,
        conflictRetention: ConflictRetention = ConflictRetention(), existing: FilePath? = nil, silenceLimit: Duration? = nil,
        baselines: BaselinePolicy? = BaselinePolicy(), history: HistoryRetention? = HistoryRetention()
    ) async throws -> UbiquitousStore {
        var options = UbiquitousStore.Options(contentName: contentName, exchangesAutomatically: automatically)
        options.existingDatabase = existing
        options.advanced.silenceLimit = silenceLimit
        options.advanced.baselines = baselines
        options.advanced.conflictRetention = conflictRetention
        options.advanced.historyRetention = history
        return try await UbiquitousStore.open(
            at: directory.appending("People.sqlite"), options: options, in: container(), schema: schema, now: { [clock] in clock.now })
    }

    /// Opens the store that follows the account, over file operations that something may befall.
    func open(over files: any FileLayer) async throws -> UbiquitousStore {
        try await UbiquitousStore.open(
            at: directory.appending("People.sqlite"), options: .init(contentName: "People", exchangesAutomatically: false),
            container: "org.example.test", home: home, schema: personSchema, now: { [clock] in clock.now }, files: files)
    }
}

/// Runs a body with devices that share a containers root.
func withDevices(_ count: Int, _ body: ([TestDevice], FilePath) async throws -> Void) async throws {
    try await withTemporaryDirectory { directory in
        let root = directory.appending("root")
        try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
        try await body(try (0..<count).map { try TestDevice("device\($0)", in: directory, root: root) }, root)
    }
}

/// The content of the devices' store, below the containers root that they share.
func contentDirectory(_ root: FilePath) -> FilePath { root.appending("alice/org.example.test/CoreData/People") }

/// Settles stores by turns until all that each has said has reached the others.
func settle(_ stores: UbiquitousStore...) async throws {
    for _ in 0..<2 {
        for store in stores { try await store.settled() }
    }
}

func migrator(_ sql: String) -> DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("v1") { db in try db.execute(sql: sql) }
    return migrator
}

let personSchema = SyncedSchema(
    migrator: migrator("CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, first TEXT, last TEXT COLLATE NOCASE, email TEXT, age)")
) {
    SyncedTable("person")
}

extension UbiquitousStore {
    /// Runs SQL in one save.
    func execute(_ sql: String, _ arguments: StatementArguments = []) async throws {
        try await write { db in try db.execute(sql: sql, arguments: arguments) }
    }

    /// Saves a person.
    func insert(_ key: String, first: String = "x") async throws {
        try await execute("INSERT INTO person (id, first) VALUES (?, ?)", [key, first])
    }

    /// The persons' keys.
    func keys() async throws -> [String] { try await read { db in try String.fetchAll(db, sql: "SELECT id FROM person ORDER BY id") } }

    /// The rows of a query, as SQLite would quote their values.
    func rows(_ sql: String = "SELECT quote(id), quote(first), quote(last), quote(email), quote(age) FROM person ORDER BY id") async throws
        -> [[String]]
    {
        try await read { db in
            try Row.fetchAll(db, sql: sql).map { row in row.databaseValues.map { String.fromDatabaseValue($0) ?? "\($0)" } }
        }
    }

    /// The logs that are sealed and not published, oldest first.
    func sealedLogs() async throws -> [LogFile] {
        try await read { db in
            try Data.fetchAll(db, sql: "SELECT bytes FROM ubiquity_outbox ORDER BY sequence").map { try LogFile(decoding: [UInt8]($0)) }
        }
    }
}

extension LogFile {
    /// Each change as `table/key life column=value …`.
    var changes: [String] {
        get throws {
            var lines: [String] = []
            let contents = try LogBody.decode(self)
            for group in contents.groups {
                for rows in group.rows {
                    let table = contents.tables[rows.table]
                    try rows.forEach(in: table) { change in
                        var parts = ["\(table.name)/\(change.key.map(\.description).joined(separator: ",")) \(change.life)"]
                        var values = change.values.makeIterator()
                        change.columns.forEach { parts.append("\(table.columns[$0])=\(values.next()!)") }
                        lines.append(parts.joined(separator: " "))
                    }
                }
            }
            return lines
        }
    }
}

/// Runs the real `sqlite3` program on a database and returns its output; see posix_spawn(3).
///
/// Not by `Foundation.Process`, which lists the open descriptors of a process while its other threads open more, and then crashes.
///
/// It waits for a lock for as long as `patience` says, in milliseconds.
@discardableResult
func sqlite3(_ file: FilePath, _ sql: String, patience: Int = 60_000) throws -> String {
    let output = FileManager.default.temporaryDirectory.appending(path: "sqlite3-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: output) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_EXCL, 0o600)
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
    let words: [String] = ["sqlite3", "-bail", "-cmd", ".timeout \(patience)", file.string, sql]
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var process: pid_t = 0
    let error = posix_spawn(&process, "/usr/bin/sqlite3", &actions, nil, &arguments, clinux_environment())
    guard error == 0 else { throw Errno(rawValue: error) }
    var status: CInt = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    let text = try String(contentsOfFile: output, encoding: .utf8)
    guard status == 0 else { throw SQLite3Failure(text: text) }
    return text
}

struct SQLite3Failure: Error { var text: String }
