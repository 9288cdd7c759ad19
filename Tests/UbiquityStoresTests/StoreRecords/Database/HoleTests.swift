import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// What knowledge with holes says, and what it does not.
struct HoleTests {
    private let peer = PeerIdentifier(account: "a", uuid: UUID())

    private func knowledge(_ heads: [Int64], holes: [Int64] = []) -> Knowledge {
        func position(_ sequence: Int64) -> Knowledge.Position { .init(sequence: sequence, hash: ContentHash(of: "\(sequence)".utf8.map(\.self))) }
        var knowledge = Knowledge()
        for head in heads { knowledge.insert(position(head), of: peer) }
        for hole in holes { knowledge.insertHole(position(hole), of: peer) }
        return knowledge
    }

    @Test("what lies before a hole is not taken for read, though nobody can name it")
    func covers() {
        // 7 to 9 are lacking, and only 9 is named by 10.
        let lacking = knowledge([6, 10], holes: [9])
        #expect((1...11).map { lacking.covers($0, of: peer) } == [true, true, true, true, true, true, false, false, false, true, false])
        #expect(lacking.passed(peer) == 6)
        #expect(knowledge([10]).passed(peer) == 10)
        #expect(knowledge([10], holes: [9]).passed(peer) == 0, "whoever began with 10 has none of those before it")
    }

    @Test("a baseline with holes takes no other's place that holds what it lacks")
    func holds() {
        let whole = knowledge([10])
        for (greater, other, expected) in [
            (knowledge([10], holes: [9]), knowledge([4]), false), (knowledge([12], holes: [9]), knowledge([4, 10], holes: [9]), false),
            (knowledge([6, 10], holes: [9]), knowledge([5]), true), (whole, knowledge([6, 10], holes: [9]), true), (whole, knowledge([4]), true),
        ] { #expect(greater.holds(other, orIsEqual: false, within: whole) == expected, "\(greater) \(other)") }
    }

    @Test("a receipt asks for what its writer cannot name, where the helper can")
    func needs() {
        let receipt = Receipt(peer: peer, epoch: 1, knowledge: knowledge([6, 10], holes: [9]), migrations: [], time: Date())
        let needs = receipt.needs(besides: knowledge([8, 10], holes: [9]))
        #expect(needs.map(\.sequence).sorted() == [8, 9])
        #expect(receipt.needs(besides: knowledge([10])).map(\.sequence) == [9])
    }

    @Test("a fact of a device that coalesces goes out before a log that relies on it")
    func coalesced() async throws {
        try await withDevices(3) { devices, root in
            let author = try await devices[0].open()
            for id in ["1", "2", "3"] { try await author.execute("INSERT INTO person (id) VALUES ('\(id)')") }
            try await author.settled()
            let peer = try await author.status().peer
            try await author.close()
            let logs = root.appending("alice/org.example.test/CoreData/People/\(peer)/1")
            let lost = try #require(try FileManager.default.contentsOfDirectory(atPath: logs.string).first { $0.hasPrefix("000000000002.") })
            try FileManager.default.removeItem(atPath: logs.appending(lost).string)

            var options = UbiquitousStore.Options(contentName: "People", exchangesAutomatically: false)
            options.advanced.coalescing = Coalescing(maximumDelay: .seconds(3600), maximumSize: 1 << 20)
            let store = try await UbiquitousStore.open(
                at: devices[1].directory.appending("People.sqlite"), options: options, in: devices[1].container(), schema: personSchema)
            try await store.settled()
            // As the tool does it beside a running app.
            try InspectedStore(store.file, readOnly: false).write { db in
                try Retirements.retire(peer, Retirement(receipt: 1, sequence: 2), db)
            }
            try await store.runner.exchange()
            try await store.execute("INSERT INTO person (id) VALUES ('later')")
            try await store.runner.exchange()
            try await store.settled()
            #expect(try await store.rows("SELECT id FROM person ORDER BY id").map { $0[0] } == ["1", "3", "later"])
            let other = try await devices[2].open()
            try await other.settled()
            #expect(try await other.rows("SELECT id FROM person ORDER BY id").map { $0[0] } == ["1", "3", "later"])
            #expect(try await other.status().waiting.isEmpty)
        }
    }
}
