import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreExchange
@testable import StoreRecords
@testable import UbiquityStores

/// Seeding while a store uses its local or its fallback file.
struct AccountSeedingTests {
    private let seeds = SeedingTests()

    private func open(_ device: TestDevice) async throws -> UbiquitousStore {
        try await UbiquitousStore.open(
            at: device.directory.appending("Birds.sqlite"), options: .init(contentName: "Birds", exchangesAutomatically: false),
            container: "org.example.test", home: device.home, schema: seeds.schema, now: { [clock = device.clock] in clock.now })
    }

    @Test(
        "S-170: what is seeded in a local or a fallback file joins the set of a seeded account: one set is left, with every edit, and the token",
        arguments: [StoreFilePlace.local, .fallback])
    func joined(place: StoreFilePlace) async throws {
        try await withDevices(3) { devices, root in
            let alice = try AccountName("alice")
            let first = try seeds.seed(in: devices[0].directory, birds: 20)
            let seeded = try await open(devices[0])
            try await seeded.settled()
            #expect(try await seeded.seed(from: SeedFile(first), token: "birds").seeded == 40)
            try await seeded.execute("UPDATE bird SET song = 'there' WHERE id = 'b1'")
            try await seeded.settled()

            // The other has not read that yet, or has no account at all.
            let away = FilePath(root.string + "-away")
            if place == .local { try devices[1].home.signOut() }
            try FileManager.default.moveItem(atPath: root.string, toPath: away.string)
            let store = try await open(devices[1])
            #expect(await store.place == (place == .local ? .local : .fallback(alice)))
            let second = try seeds.seed(in: devices[1].directory, birds: 22)
            #expect(try await store.seed(from: SeedFile(second), token: "birds").seeded == 44)
            #expect(try await store.isSeeded("birds"))
            #expect(try await store.seed(from: SeedFile(second), token: "birds").wasComplete)
            try await store.execute("UPDATE bird SET song = 'here' WHERE id = 'b2'")

            try FileManager.default.moveItem(atPath: away.string, toPath: root.string)
            if place == .local { try devices[1].home.signIn(alice, containers: root) }
            try await store.settled()
            #expect(await store.place == .account(alice))
            try await settle(seeded, store)
            let late = try await open(devices[2])
            try await late.settled()
            for each in [seeded, store, late] {
                #expect(try await each.isSeeded("birds"))
                #expect(try await each.rows("SELECT count(*), count(DISTINCT id) FROM bird") == [["22", "22"]])
                #expect(try await each.rows("SELECT count(*) FROM place") == [["22"]])
                #expect(try await each.rows("SELECT id, song FROM bird WHERE song IS NOT NULL ORDER BY id") == [["b1", "there"], ["b2", "here"]])
                #expect(try await seeds.content(each) == seeds.content(seeded))
                try await seeds.expectWhole(each)
            }
            // And nothing is seeded anew.
            #expect(try await late.seed(from: SeedFile(second), token: "birds").wasComplete)
        }
    }
}
