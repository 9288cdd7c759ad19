// The module that holds the app's table and opens its store.
extension AppTemplate {
    var item: String {
        """
        import Foundation
        import GRDB

        /// Something on the list.
        public struct Item: Codable, Equatable, Sendable, FetchableRecord, PersistableRecord {
            /// A UUID, so that two devices never make equal keys.
            public var id = UUID().uuidString
            /// The words that the user typed.
            public var title: String
            /// Whether it is done.
            public var isDone = false

            /// Makes an item that is not done.
            public init(title: String) { self.title = title }
        }

        """
    }

    var store: String {
        """
        import Foundation
        import GRDB
        import Ubiquity

        /// Opens the items of the signed-in account; while nobody is signed in, those of this device.
        public enum ItemStore {
            /// The identifier of the container, a directory that all devices of an account share.
            public static let container = "\(identifier)"

            /// Creates the tables.
            ///
            /// Add a migration for each later version of the schema; never change one that users have run.
            static let migrator: DatabaseMigrator = {
                var migrator = DatabaseMigrator()
                migrator.registerMigration("v1") { db in
                    try db.create(table: "item") { table in
                        table.primaryKey("id", .text)
                        table.column("title", .text).notNull()
                        table.column("isDone", .boolean).notNull().defaults(to: false)
                    }
                }
                return migrator
            }()

            /// The tables that sync.
            ///
            /// Each table that is not declared here stays on its device.
            static let schema = SyncedSchema(migrator: migrator) {
                SyncedTable("item")
            }

            /// Opens the store, whether or not a user is signed in.
            ///
            /// - Parameters:
            ///   - file: the path of the store; nil for the usual one of this user.
            ///   - home: the device home, which knows who is signed in; nil for this user's. Tests give that of a simulated device.
            /// - Returns: the store, ready for reads and writes.
            /// - Throws: `UbiquitousStoreError` or `ContainerError`, which say what to do.
            public static func open(at file: FilePath? = nil, home: DeviceHome? = nil) async throws -> UbiquitousStore {
                let options = UbiquitousStore.Options(contentName: "Items")
                return try await UbiquitousStore.open(
                    at: file ?? standardFile, options: options, container: container, home: home, schema: schema)
            }

            /// The place of this user's data; see the XDG Base Directory Specification.
            private static var standardFile: FilePath {
                let data = ProcessInfo.processInfo.environment["XDG_DATA_HOME"] ?? NSHomeDirectory() + "/.local/share"
                return FilePath(data + "/\(name.program)/Items.sqlite")
            }
        }

        extension UbiquitousStore {
            /// Returns all items, by title.
            public func items() async throws -> [Item] {
                try await read { db in try Item.order(Column("title"), Column("id")).fetchAll(db) }
            }

            /// Saves a new item, and returns it.
            @discardableResult
            public func add(_ title: String) async throws -> Item {
                let item = Item(title: title)
                try await write { db in try item.insert(db) }
                return item
            }

            /// Gives an item another title.
            public func rename(_ item: Item, to title: String) async throws {
                try await write { db in _ = try Item.filter(key: item.id).updateAll(db, Column("title").set(to: title)) }
            }

            /// Marks the items with a title as done, and returns how many there are.
            @discardableResult
            public func markDone(title: String) async throws -> Int {
                try await write { db in try Item.filter(Column("title") == title).updateAll(db, Column("isDone").set(to: true)) }
            }

            /// Removes an item.
            public func remove(_ item: Item) async throws {
                try await write { db in _ = try Item.deleteOne(db, key: item.id) }
            }
        }

        """
    }
}
