import Foundation
import GRDB
import Testing
import UbiquityTesting

@testable import StoreRecords
@testable import UbiquityStores

/// Places in ordered lists.
struct FractionalPositionTests {
    typealias Position = FractionalPosition

    private func isRising(_ positions: [Position]) -> Bool { zip(positions, positions.dropFirst()).allSatisfy { $0 < $1 } }

    @Test("F-15: wherever positions are put between others, the list stays in strict order, and each is read back as it was", arguments: 0..<8)
    func insertions(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        var list: [Position] = []
        for _ in 0..<1_500 {
            // Uniformly, or where the last few went.
            let place = seed % 2 == 0 ? Int.random(in: 0...list.count, using: &random) : min(list.count, Int.random(in: 3...5, using: &random))
            let (lower, upper) = (place > 0 ? list[place - 1] : nil, place < list.count ? list[place] : nil)
            let new = try #require(Position.spread(1, between: lower, and: upper, using: &random)?.first)
            list.insert(new, at: place)
        }
        #expect(isRising(list))
        #expect(list.allSatisfy { Position($0.text) == $0 })
        #expect(list.map { Array($0.text.utf8) }.sorted { $0.lexicographicallyPrecedes($1) } == list.map { Array($0.text.utf8) })
    }

    @Test("positions at the ends of a list stay at 10 digits; at one place they grow by one for every four at most", arguments: 0..<8)
    func growth(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        func between(_ lower: Position?, _ upper: Position?) throws -> Position {
            try #require(Position.spread(1, between: lower, and: upper, using: &random)?.first)
        }
        var (first, last) = (try between(nil, nil), try between(nil, nil))
        for _ in 0..<6_000 {
            let (before, behind) = (try between(nil, first), try between(last, nil))
            #expect(before < first && behind > last)
            (first, last) = (before, behind)
        }
        #expect(first.text.count <= 10 && last.text.count <= 10)
        for isBelow in [true, false] {
            var (lower, upper) = (Position("V00000")!, Position("V00001")!)
            for count in 1...400 {
                let new = try between(lower, upper)
                #expect(lower < new && new < upper && new.text.count <= 16 + count / 4)
                if isBelow { upper = new } else { lower = new }
            }
        }
    }

    @Test("there is room before the least that can be written, behind the greatest, and between any two that differ")
    func edges() throws {
        let edges = ["000001", "0000001", "00000000001", "V00000", "V000001", "V00000z", "V00001", "zzzzzz", "zzzzzzz", "zzzzzzzzzzzz"]
        let positions: [Position?] = [nil] + (try edges.map { try #require(Position($0)) }.sorted()) + [nil]
        for (index, lower) in positions.dropLast().enumerated() {
            for upper in positions[(index + 1)...] {
                for count in [1, 2, 61, 62, 5_000] {
                    let new = try #require(Position.spread(count, between: lower, and: upper))
                    #expect(new.count == count && isRising(new))
                    #expect(
                        lower.map { $0 < new[0] } ?? true && upper.map { new[count - 1] < $0 } ?? true,
                        "\(String(describing: lower)) \(String(describing: upper))")
                }
                guard let lower, let upper else { continue }
                #expect(Position.between(upper, lower) == nil && Position.between(lower, lower) == nil)
            }
        }
        #expect(Position.spread(0)!.isEmpty)
    }

    @Test("only what is written as a position is read as one", arguments: ["", "V", "V0000", "000000", "V000000", "V0000é", "V0000-", "V00000V0"])
    func misspelt(text: String) {
        #expect(Position(text) == nil)
        #expect(Position.fromDatabaseValue(text.databaseValue) == nil)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode([Position].self, from: JSONEncoder().encode([text])) }
    }

    @Test("respacing parts what is equal and shortens what is long, in order, leaves all else as it is, and is done at once", arguments: 0..<20)
    func respacing(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        var list: [Position] = []
        for _ in 0..<Int.random(in: 1...120, using: &random) {
            let place = Int.random(in: 0...list.count, using: &random)
            let (lower, upper) = (place > 0 ? list[place - 1] : nil, place < list.count ? list[place] : nil)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: if let equal = lower { list.insert(equal, at: place) }
            case 1:
                // A run of long ones.
                guard var new = Position.spread(1, between: lower, and: upper, using: &random)?.first else { continue }
                for _ in 0..<Int.random(in: 0..<250, using: &random) {
                    new = Position.spread(1, between: lower, and: new, using: &random)?.first ?? new
                }
                list.insert(new, at: place)
            default: if let new = Position.spread(1, between: lower, and: upper, using: &random)?.first { list.insert(new, at: place) }
            }
        }
        let new = Position.respacing(list)
        var spaced = list
        for (index, position) in new { spaced[index] = position }
        #expect(isRising(spaced))
        #expect(spaced.allSatisfy { $0.text.count <= Position.mostDigits })
        #expect(Position.respacing(spaced).isEmpty)
        #expect(Position.respacing(list) == new)
        if isRising(list), list.allSatisfy({ $0.text.count <= Position.mostDigits }) { #expect(new.isEmpty) }
        for index in list.indices where new[index] != nil {
            let isEqual = index > 0 && list[index] <= list[index - 1]
            // Beside a long one others may have to make room.
            #expect(isEqual || list.contains { $0.text.count > Position.mostDigits })
        }
    }

    @Test("of equal positions the first stays; the others go right behind it, where another device's stays on its side")
    func near() throws {
        let (same, next) = (Position("V00000ab12")!, Position("V00000ab13")!)
        let new = Position.respacing([same, same, same, next])
        #expect(new.keys.sorted() == [1, 2])
        #expect(same < new[1]! && new[1]! < new[2]!)
        let theirs = try (0..<50).map { _ in try #require(Position.between(same, next)) }
        #expect(theirs.allSatisfy { new[2]! < $0 })
    }
}

/// Lists that several devices move about in at once.
struct OrderedListTests {
    private let schema = SyncedSchema(migrator: migrator("CREATE TABLE track (id TEXT NOT NULL PRIMARY KEY, title TEXT, position TEXT NOT NULL)")) {
        SyncedTable("track")
    }

    private struct Track: Codable, FetchableRecord, PersistableRecord, Hashable {
        static let databaseTableName = "track"
        var id: String
        var title: String
        var position: FractionalPosition

        static func list(_ db: Database) throws -> [Track] { try order(Column("position"), Column("id")).fetchAll(db) }
    }

    private func list(_ store: UbiquitousStore) async throws -> [Track] { try await store.read { db in try Track.list(db) } }

    @Test("F-15: what several devices move in one list at once ends in one order on all of them, with every record in it once", arguments: [1, 2, 3])
    func moves(seed: Int) async throws {
        try await withDevices(3) { devices, _ in
            var random = SeededRandom(seed: UInt64(seed))
            var stores: [UbiquitousStore] = []
            for device in devices { stores.append(try await device.open(schema)) }
            try await stores[0].write { db in
                for (index, position) in FractionalPosition.spread(12)!.enumerated() {
                    try Track(id: "t\(index)", title: "Track \(index)", position: position).insert(db)
                }
            }
            try await settle(stores[0], stores[1], stores[2])
            for _ in 0..<4 {
                for store in stores {
                    for _ in 0..<6 {
                        let (from, to) = (Int.random(in: 0..<12, using: &random), Int.random(in: 0..<11, using: &random))
                        let before = try await list(store).map(\.id)
                        try await store.write { db in
                            var others = try Track.list(db)
                            var moved = others.remove(at: from)
                            // Where there is no room, it is made first.
                            for (index, position) in FractionalPosition.respacing(others.map(\.position)) {
                                others[index].position = position
                                try others[index].update(db, columns: ["position"])
                            }
                            moved.position = FractionalPosition.between(to > 0 ? others[to - 1].position : nil, others[to].position)!
                            try moved.update(db, columns: ["position"])
                        }
                        var expected = before
                        let id = expected.remove(at: from)
                        expected.insert(id, at: to)
                        #expect(try await list(store).map(\.id) == expected, "the device that moves sees what it moved")
                    }
                }
                try await settle(stores[0], stores[1], stores[2])
                let first = try await list(stores[0])
                #expect(first.count == 12 && Set(first.map(\.id)).count == 12)
                for store in stores { #expect(try await list(store) == first) }
            }
        }
    }

    @Test("F-15: devices that part equal positions at once, each with a list that another has added to, come to one strict order")
    func respacing() async throws {
        try await withDevices(3) { devices, _ in
            var stores: [UbiquitousStore] = []
            for device in devices { stores.append(try await device.open(schema)) }
            let (same, next) = (FractionalPosition("V00000V")!, FractionalPosition("V00001")!)
            try await stores[0].write { db in
                for (id, position) in [("a", same), ("b", same), ("c", same), ("z", next)] {
                    try Track(id: id, title: "", position: position).insert(db)
                }
            }
            try await settle(stores[0], stores[1], stores[2])
            try await stores[1].write { db in try Track(id: "bb", title: "", position: same).insert(db) }
            try await stores[2].write { db in
                try Track(id: "y", title: "", position: FractionalPosition.between(same, next)!).insert(db)
            }
            for store in stores {
                try await store.write { db in
                    let tracks = try Track.list(db)
                    for (index, position) in FractionalPosition.respacing(tracks.map(\.position)) {
                        var track = tracks[index]
                        track.position = position
                        try track.update(db)
                    }
                }
            }
            for round in 0..<2 {
                try await settle(stores[0], stores[1], stores[2])
                let first = try await list(stores[0])
                for store in stores { #expect(try await list(store) == first) }
                // All that one device has seen in an order stays so.
                #expect(first.map(\.id).filter { $0 != "bb" } == ["a", "b", "c", "y", "z"])
                let rest = FractionalPosition.respacing(first.map(\.position))
                #expect(rest.count <= (round == 0 ? 1 : 0))
                try await stores[round].write { db in
                    for (index, position) in rest {
                        var track = first[index]
                        track.position = position
                        try track.update(db)
                    }
                }
            }
        }
    }
}
