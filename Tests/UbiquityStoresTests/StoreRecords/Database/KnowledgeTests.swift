import Foundation
import GRDB
import Testing
import UbiquityContainers

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// What a store remembers of the logs that it has taken in and published.
struct KnowledgeTests {
    @Test("the highest stamp of every log taken in or published can be asked for, by exactly its peer, sequence and hash")
    func times() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(), devices[1].open())
            try await left.execute("INSERT INTO person (id) VALUES ('a')")
            let sealed = try #require(try await left.sealedLogs().first)
            let time = try #require(try LogBody.decode(sealed).groups.first?.time)
            let author = try await left.status().peer
            #expect(try await left.logs(of: author).isEmpty)
            try await settle(left, right)
            for store in [left, right] {
                let logs = try await store.logs(of: author)
                #expect(logs.map(\.sequence) == [1])
                #expect(try await store.time(of: author, logs[0]) == time)
                #expect(try await store.time(of: author, .init(sequence: 1, hash: ContentHash(of: []))) == nil)
                #expect(try await store.time(of: author, .init(sequence: 2, hash: logs[0].hash)) == nil)
            }
        }
    }
}

extension UbiquitousStore {
    /// The logs of a peer that the store remembers.
    func logs(of peer: PeerIdentifier) async throws -> [Knowledge.Position] {
        try await read { db in
            try Row.fetchAll(
                db, sql: "SELECT sequence, hash FROM ubiquity_log JOIN ubiquity_peer ON number = peer WHERE name = ? ORDER BY sequence, hash",
                arguments: [peer.description]
            ).map { Knowledge.Position(sequence: $0["sequence"], hash: ContentHash(bytes: $0["hash"] as Data)!) }
        }
    }

    func time(of peer: PeerIdentifier, _ position: Knowledge.Position) async throws -> HybridTime? {
        try await read { db in
            guard let number = try StoreKnowledge.peers(db)[peer] else { return nil }
            return try StoreKnowledge.time(of: number, position, db)
        }
    }
}
