import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityStores
import UbiquityTesting

/// Whether a store knows how far it is behind.
struct CurrencyTests {
    @Test("a store is caught up exactly while it holds every log that lies in the container, or that a receipt there names")
    func caughtUp() async throws {
        try await withDevices(3) { devices, root in
            let (a, b, c) = (try await devices[0].open(), try await devices[1].open(), try await devices[2].open())
            try await settle(a, b, c)
            for store in [a, b, c] { #expect(try await store.isCaughtUp()) }
            try await a.execute("INSERT INTO person (id) VALUES ('x')")
            // A save that has not gone out is nobody else's business.
            for store in [a, b, c] { #expect(try await store.isCaughtUp()) }
            try await a.publish()
            let peers = (a: try await a.status().peer, c: try await c.status().peer)
            #expect(try await a.isCaughtUp())
            #expect(try await !b.isCaughtUp())
            #expect(try await !b.isCaughtUp(to: peers.a))
            #expect(try await b.isCaughtUp(to: peers.c))
            try await b.settled()
            #expect(try await b.isCaughtUp())
            #expect(try await b.isCaughtUp(to: peers.a))
            // A log that has not arrived, but is named by who has it.
            let log = try #require(
                FileManager.default.enumerator(atPath: root.string)?.compactMap { $0 as? String }.first { $0.hasSuffix(".ublog") })
            let bytes = try #require(FileManager.default.contents(atPath: root.pushing(FilePath(log)).string))
            try FileManager.default.removeItem(atPath: root.pushing(FilePath(log)).string)
            try await c.settled()
            #expect(try await !c.isCaughtUp())
            try bytes.write(to: URL(filePath: root.pushing(FilePath(log)).string))
            try await c.settled()
            #expect(try await c.isCaughtUp())
            await #expect {
                _ = try await c.isCaughtUp(to: PeerIdentifier(account: "alice", uuid: UUID()))
            } throws: { ($0 as? UbiquitousStoreError)?.code == .unsupported }
            try FileManager.default.removeItem(atPath: root.appending("alice").string)
            await #expect { _ = try await c.isCaughtUp() } throws: { ($0 as? UbiquitousStoreError)?.code == .suspended }
        }
    }

    @Test("F-28: the status says up to when the store holds what others have said, and how many saves are to go out")
    func syncedAsOf() async throws {
        try await withDevices(2) { devices, _ in
            let (a, b) = (try await devices[0].open(), try await devices[1].open())
            #expect(try await a.status().syncedAsOf == nil, "there is nobody else")
            let start = devices[0].clock.now
            try await settle(a, b)
            devices[0].clock.advance(by: 100)
            try await a.execute("INSERT INTO person (id) VALUES ('x')")
            #expect(try await a.status().unpublished == 1)
            try await a.settled()
            #expect(try await a.status().unpublished == 0)
            // Its receipt is of then, but its log is not here: so it is as of before.
            #expect(try await b.status().syncedAsOf == .distantPast, "nothing that it wrote is here")
            try await b.settled()
            #expect(try await b.status().syncedAsOf == start + 100)
            devices[0].clock.advance(by: 100)
            try await a.execute("INSERT INTO person (id) VALUES ('y')")
            devices[0].clock.advance(by: 100)
            try await a.settled()
            #expect(try await b.status().syncedAsOf == start + 100)
            try await b.settled()
            #expect(try await b.status().syncedAsOf == start + 300)
        }
    }
}
