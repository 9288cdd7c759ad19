import Foundation
import GRDB
import SystemPackage
import UbiquityContainers
import UbiquityStores

/// Stores against plain GRDB with the same pragmas.
enum StoreSuite: Suite {
    static func run(_ report: Report) async throws {
        if report.wants("write_1000_rows") { try await writeThousand(report) }
        if report.wants("write_1_row") { try await writeOne(report) }
    }

    /// Saves of 1,000 rows, without publishing: inserts of random UUID keys, then an update of one column of each.
    private static func writeThousand(_ report: Report) async throws {
        var inserts: (ours: [Double], plain: [Double]) = ([], [])
        var updates: (ours: [Double], plain: [Double]) = ([], [])
        try await withDevice { device in
            let store = try await device.store()
            let plain = try device.plain()
            for round in 0..<12 {
                let rows = (0..<1000).map { Item(random: $0) }
                let ours = try await seconds { try await store.write { db in for row in rows { try row.insert(db) } } }
                let reference = try await seconds { try await plain.write { db in for row in rows { try row.insert(db) } } }
                let edited = rows.map(\.renamed)
                let oursEdited = try await seconds { try await store.write { db in for row in edited { try row.update(db, columns: ["title"]) } } }
                let referenceEdited = try await seconds {
                    try await plain.write { db in for row in edited { try row.update(db, columns: ["title"]) } }
                }
                // The first rounds fill caches.
                guard round >= 2 else { continue }
                inserts.ours.append(ours * 1000)
                inserts.plain.append(reference * 1000)
                updates.ours.append(oursEdited * 1000)
                updates.plain.append(referenceEdited * 1000)
            }
            try await store.close()
        }
        report.line(
            "write_1000_rows", variant: "insert, random UUID keys", unit: "ms", ours: median(inserts.ours), reference: median(inserts.plain),
            referenceName: "plain GRDB")
        report.line(
            "write_1000_rows", variant: "update, random UUID keys", unit: "ms", ours: median(updates.ours), reference: median(updates.plain),
            referenceName: "plain GRDB")
    }

    /// A save of one row, without publishing.
    private static func writeOne(_ report: Report) async throws {
        var ours: [Double] = []
        var plain: [Double] = []
        try await withDevice { device in
            let store = try await device.store()
            let reference = try device.plain()
            for index in 0..<2000 {
                let row = Item(random: index)
                ours.append(try await seconds { try await store.write { db in try row.insert(db) } } * 1e6)
                plain.append(try await seconds { try await reference.write { db in try row.insert(db) } } * 1e6)
            }
            try await store.close()
        }
        report.line(
            "write_1_row", variant: "insert, random UUID keys", unit: "µs", ours: median(ours), reference: median(plain), referenceName: "plain GRDB")
    }
}

/// A row as apps have them: a key, some text, a number, a date, and something empty.
struct Item: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "item"

    var id: String
    var title: String
    var body: String
    var rating: Int
    var price: Double
    var created: String
    var note: String?

    init(random index: Int) {
        id = UUID().uuidString.lowercased()
        title = "Item number \(index)"
        body = "Some words about item \(index), as long as a line of a letter would be, or nearly."
        rating = index % 5
        price = Double(index) * 0.25
        created = "2026-11-21T06:26:45Z"
    }

    /// The same with another title.
    var renamed: Item {
        var item = self
        item.title += ", renamed"
        return item
    }

    static let migrator: DatabaseMigrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.create(table: "item") { table in
                table.primaryKey("id", .text)
                table.column("title", .text).notNull()
                table.column("body", .text).notNull()
                table.column("rating", .integer).notNull()
                table.column("price", .double).notNull()
                table.column("created", .text).notNull()
                table.column("note", .text)
            }
        }
        return migrator
    }()
}

/// A device of its own in a temporary directory.
struct BenchDevice {
    let directory: FilePath
    let container: UbiquityContainer

    func store() async throws -> UbiquitousStore {
        try await UbiquitousStore.open(
            at: directory.appending("Items.sqlite"), options: .init(contentName: "Items", exchangesAutomatically: false), in: container,
            schema: SyncedSchema(migrator: Item.migrator) { SyncedTable("item") })
    }

    /// Plain GRDB with the same pragmas.
    func plain() throws -> DatabasePool {
        let pool = try DatabasePool(path: directory.appending("Plain.sqlite").string)
        try Item.migrator.migrate(pool)
        return pool
    }
}

/// Runs a body with a device, and removes it.
func withDevice(_ body: (BenchDevice) async throws -> Void) async throws {
    let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory.string) }
    let home = DeviceHome(directory.appending("home"))
    try home.signIn(AccountName("bench"))
    try await body(BenchDevice(directory: directory, container: UbiquityContainer("org.example.bench", home: home)))
}
