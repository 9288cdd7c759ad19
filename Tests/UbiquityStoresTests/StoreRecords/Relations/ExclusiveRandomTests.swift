import GRDB
import Testing
import UbiquityTesting

@testable import StoreFormat
@testable import StoreInspection
@testable import StoreRecords
@testable import UbiquityStores

/// Random saves of devices that read each other now and then: what is shown by exclusive rules depends on nothing but what was written.
struct ExclusiveRandomTests {
    private static let sql = """
        CREATE TABLE list (id TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE);
        CREATE TABLE song (id TEXT NOT NULL PRIMARY KEY, list TEXT NOT NULL REFERENCES list (id) ON DELETE CASCADE, position INTEGER NOT NULL, code TEXT UNIQUE,
            title TEXT, UNIQUE (list, position));
        CREATE UNIQUE INDEX song_title ON song (title COLLATE NOCASE) WHERE title <> '';
        """
    private static let schema = SyncedSchema(migrator: migrator(sql)) {
        SyncedTable("list", unique: [["name"]])
        SyncedTable("song", unique: [["code"]], exclusive: [.init(["list", "position"], to: .nextFree), ["title"]])
    }

    private static func statement(_ random: inout SeededRandom) -> String {
        func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }
        let (song, list, position) = ("'s\(number(0..<8))'", "'l\(number(0..<3))'", number(1..<5))
        let code = number(0..<4) == 0 ? "'c\(number(0..<3))'" : "NULL"
        let title = ["NULL", "''", "'x'", "'X'", "'y'"][number(0..<5)]
        switch number(0..<14) {
        case 0..<4: return "INSERT OR IGNORE INTO song VALUES (\(song), \(list), \(position), \(code), \(title))"
        case 4..<7: return "UPDATE OR IGNORE song SET position = \(position) WHERE id = \(song)"
        case 7: return "UPDATE OR IGNORE song SET list = \(list) WHERE id = \(song)"
        case 8: return "UPDATE OR IGNORE song SET title = \(title) WHERE id = \(song)"
        case 9: return "UPDATE OR IGNORE song SET position = position + 1 WHERE list = \(list)"
        case 10: return "DELETE FROM song WHERE id = \(song)"
        case 11: return "INSERT OR IGNORE INTO list VALUES (\(list), 'n\(number(0..<3))')"
        case 12: return "INSERT OR REPLACE INTO song VALUES (\(song), \(list), \(position), \(code), \(title))"
        default: return number(0..<3) == 0 ? "DELETE FROM list WHERE id = \(list)" : "UPDATE OR IGNORE song SET code = \(code) WHERE id = \(song)"
        }
    }

    private static let content =
        "SELECT 'l', id, quote(name), '', '', '' FROM list UNION ALL SELECT 's', id, list, position, quote(code), quote(title) FROM song ORDER BY 1, 2"

    @Test("random saves of three devices come to one content, which a newcomer and a rebuilt store show too", arguments: 1...12)
    func converges(seed: UInt64) async throws {
        try await withDevices(4) { devices, _ in
            var random = SeededRandom(seed: seed)
            var stores: [UbiquitousStore] = []
            for device in devices.prefix(3) { stores.append(try await device.open(Self.schema)) }
            try await stores[0].execute("INSERT INTO list VALUES ('l0', 'n0'), ('l1', 'n1')")
            for store in stores { try await store.settled() }
            for _ in 0..<60 {
                let device = Int.random(in: 0..<3, using: &random)
                devices[device].clock.advance(by: Double.random(in: 0..<5, using: &random))
                let statements = (0..<Int.random(in: 1..<4, using: &random)).map { _ in Self.statement(&random) }
                do {
                    try await stores[device].write { db in
                        for statement in statements { try db.execute(sql: statement) }
                    }
                } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
                    // A reference to nothing: there was no save.
                }
                switch Int.random(in: 0..<6, using: &random) {
                case 0: try await stores[device].settled()
                case 1: try await stores[device].publish()
                case 2 where Int.random(in: 0..<8, using: &random) == 0: try await stores[device].rollBaseline()
                default: break
                }
            }
            for _ in 0..<3 { for store in stores { try await store.settled() } }
            let newcomer = try await devices[3].open(Self.schema)
            try await newcomer.settled()
            let rows = try await stores[0].rows(Self.content)
            for store in stores + [newcomer] {
                #expect(try await store.rows(Self.content) == rows, "seed \(seed)")
                #expect(try InspectedStore(store.file, readOnly: true).check(container: nil).problems.isEmpty, "seed \(seed)")
            }
            let moved = try await stores[0].moved()
            #expect(try await newcomer.moved() == moved, "seed \(seed)")
            try await check(stores[0], moved, seed)
            try await stores[1].rebuildFromUbiquitousContent()
            #expect(try await stores[1].rows(Self.content) == rows, "seed \(seed), rebuilt")
        }
    }

    /// Whether each moved song shows the next place that is free, and each that holds one shows what was written.
    private func check(_ store: UbiquitousStore, _ moved: [MovedRecord], _ seed: UInt64) async throws {
        var shown: [String: (list: String, position: Int64, title: String?)] = [:]
        for row in try await store.rows("SELECT id, list, position, coalesce(title, '-') FROM song") {
            shown["song/t:\(row[0])"] = (row[1], Int64(row[2])!, row[3] == "-" ? nil : row[3])
        }
        var natural = shown.mapValues(\.position)
        for entry in moved where entry.column == "position" {
            guard case .integer(let position) = entry.written else { return #expect(Bool(false), "seed \(seed)") }
            natural[entry.record.text] = position
        }
        for entry in moved {
            guard let record = shown[entry.record.text], let holder = shown[entry.holder.text] else {
                #expect(Bool(false), "seed \(seed): \(entry) is not there")
                continue
            }
            if entry.column == "title" {
                #expect(record.title == nil && RecordValue.text(holder.title!).collated("NOCASE") == entry.written.collated("NOCASE"), "seed \(seed)")
                continue
            }
            let written = natural[entry.record.text]!
            #expect(holder.list == record.list && holder.position == written && record.position > written, "seed \(seed): \(entry)")
            let held = Set(shown.filter { $0.value.list == record.list }.flatMap { [$0.value.position, natural[$0.key]!] })
            #expect((written...record.position).allSatisfy(held.contains), "seed \(seed): \(entry) passed over a free place")
            #expect(
                !natural.contains { $0.value == record.position && shown[$0.key]!.list == record.list },
                "seed \(seed): \(entry) shows what was written elsewhere")
        }
    }
}
