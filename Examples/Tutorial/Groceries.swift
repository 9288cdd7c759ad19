import Foundation
import GRDB
import Ubiquity

/// Something to buy.
struct Item: Codable, FetchableRecord, PersistableRecord {
    var id = UUID().uuidString
    var title: String
    var isBought = false
}

/// A shopping list on the command line: the code of the tutorial in the documentation of Ubiquity.
@main
struct Groceries {
    static let migrator: DatabaseMigrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.create(table: "item") { table in
                table.primaryKey("id", .text)
                table.column("title", .text).notNull()
                table.column("isBought", .boolean).notNull().defaults(to: false)
            }
        }
        return migrator
    }()

    /// Returns the file in which this user's programs store their data.
    static func file() throws -> FilePath {
        let data = ProcessInfo.processInfo.environment["XDG_DATA_HOME"] ?? NSHomeDirectory() + "/.local/share"
        try FileManager.default.createDirectory(atPath: data + "/groceries", withIntermediateDirectories: true)
        return FilePath(data + "/groceries/Groceries.sqlite")
    }

    /// How the app opened its database before it synced.
    static func openPlain() throws -> DatabasePool {
        let database = try DatabasePool(path: file().string)
        try migrator.migrate(database)
        return database
    }

    /// How it opens its store.
    static func open() async throws -> UbiquitousStore {
        var options = UbiquitousStore.Options(contentName: "Groceries")
        options.existingDatabase = try file()
        return try await UbiquitousStore.open(
            at: file(), options: options, container: "org.example.groceries",
            schema: SyncedSchema(migrator: migrator) {
                SyncedTable("item")
            })
    }

    /// Performs a command of the app with plain GRDB, on either kind of database.
    static func perform(_ command: String, _ title: String, on database: some DatabaseWriter) async throws {
        switch command {
        case "add":
            try await database.write { db in try Item(title: title).insert(db) }
        case "buy":
            try await database.write { db in
                _ = try Item.filter(Column("title") == title).updateAll(db, Column("isBought").set(to: true))
            }
        default:
            let items = try await database.read { db in try Item.order(Column("title")).fetchAll(db) }
            show(items)
        }
    }

    static func show(_ items: [Item]) {
        print(items.isEmpty ? "nothing to buy" : items.map { ($0.isBought ? "[x] " : "[ ] ") + $0.title }.joined(separator: ", "))
    }

    /// Shows the list again whenever it changes, on any device.
    static func watch(_ store: UbiquitousStore) async throws {
        for try await items in ValueObservation.tracking({ db in try Item.order(Column("title")).fetchAll(db) }).values(in: store) {
            show(items)
        }
    }

    static func main() async throws {
        var arguments = CommandLine.arguments.dropFirst()
        if arguments.first == "plain" {
            arguments.removeFirst()
            return try await perform(arguments.first ?? "list", arguments.dropFirst().first ?? "", on: openPlain())
        }
        let store = try await open()
        if arguments.first == "watch" { return try await watch(store) }
        try await store.settled()  // takes in what other devices have sent
        try await perform(arguments.first ?? "list", arguments.dropFirst().first ?? "", on: store)
        let finish = try await store.finish()  // sends what has been saved, and closes
        if case .kept(let reason) = finish { print("on this device only: \(reason)") }
    }
}
