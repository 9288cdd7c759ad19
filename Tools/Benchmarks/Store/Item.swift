import Foundation
import GRDB
import UbiquityStores

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

    init(random index: Int) { self.init(index, key: UUID().uuidString.lowercased()) }

    init(_ index: Int, key: String) {
        id = key
        title = "Item number \(index)"
        body = "Some words about item \(index), as long as a line of a letter would be, or nearly."
        rating = index % 5
        price = Double(index) * 0.25
        created = "2026-11-21T06:26:45Z"
    }

    /// The row with another title.
    var renamed: Item {
        var item = self
        item.title += ", renamed"
        return item
    }

    /// The kinds of keys.
    enum Keys: String, CaseIterable {
        case random = "random UUID keys"
        case timeOrdered = "time-ordered UUID keys"

        /// Returns the key of a row; it depends only on the number.
        func key(_ index: Int) -> String {
            // SplitMix64's mixing step derives keys from the row's number, so that they need not be stored.
            func mixed(_ value: UInt64) -> UInt64 {
                var bits = value &* 0x9E37_79B9_7F4A_7C15
                bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
                bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
                return bits ^ (bits >> 31)
            }
            var (high, low) = (mixed(UInt64(2 * index + 1)), mixed(UInt64(2 * index + 2)))
            var version: UInt64 = 4
            if self == .timeOrdered {
                // RFC 9562, version 7, begins with 48 bits of milliseconds. The next twelve bits count a hundred rows
                // in each millisecond.
                high = UInt64(1_795_000_000_000 + index / 100) << 16 | UInt64(index % 100)
                version = 7
            }
            high = high & ~0xF000 | version << 12
            low = low & ~(3 << 62) | 2 << 62
            let digits = Array("0123456789abcdef".utf8)
            return String(unsafeUninitializedCapacity: 36) { buffer in
                var place = 0
                for word in [high, low] {
                    for shift in stride(from: UInt64(60), through: 0, by: -4) {
                        if [8, 13, 18, 23].contains(place) {
                            buffer[place] = UInt8(ascii: "-")
                            place += 1
                        }
                        buffer[place] = digits[Int(word >> shift & 15)]
                        place += 1
                    }
                }
                return place
            }
        }
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

    /// The table as logs describe it.
    static let logTable = LogBody.Table(
        name: databaseTableName, keyColumns: ["id"], columns: ["title", "body", "rating", "price", "created", "note"])

    /// The values, in the order of the log's columns.
    var values: [RecordValue] {
        [.text(title), .text(body), .integer(Int64(rating)), .real(price.bitPattern), .text(created), note.map { .text($0) } ?? .null]
    }

    /// Writes the row as an insert of a log.
    func write(to rows: inout WireWriter) {
        rows.varint(1)
        rows.recordValue(.text(id))
        rows.varint(note == nil ? 0b01_1111 : 0b11_1111)
        for value in values where value != .null { rows.recordValue(value) }
    }
}
