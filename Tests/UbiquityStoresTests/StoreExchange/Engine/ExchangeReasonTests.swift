import Foundation
import GRDB
import StoreInspection
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting
import Waiting

@testable import StoreExchange
@testable import StoreRecords
@testable import UbiquityStores

/// What is a reason to exchange, counted.
struct ExchangeReasonTests {
    @Test("a save costs its writer and its reader at most one exchange each: what an exchange writes itself is no reason for the next")
    func oneExchangeEach() async throws {
        try await withDevices(2) { devices, _ in
            let lines = [LineCollector(level: 3), LineCollector(level: 3)]
            var stores: [UbiquitousStore] = []
            for (device, lines) in zip(devices, lines) {
                stores.append(
                    try await UbiquitousStore.open(
                        at: device.directory.appending("People.sqlite"), options: .init(contentName: "People"), in: device.container(),
                        schema: personSchema, now: { [clock = device.clock] in clock.now }, logger: lines.logger))
            }
            let (writer, reader) = (stores[0], stores[1])
            try await settle(writer, reader)
            func exchanges(_ device: Int) -> Int { lines[device].all.count { $0.contains("exchanged in epoch") } }
            // On a slow machine the times come at which a store looks at receipts, each with one receipt that set it.
            func times(_ device: Int) -> Int { lines[device].all.count { $0.contains("a set time is a reason to exchange") } }
            var notices = reader.notices.makeAsyncIterator()
            func save(_ key: String) async throws {
                try await writer.insert(key)
                while let notice = await notices.next(isolation: nil) {
                    guard case .didImport = notice else { continue }
                    if try await reader.keys().contains(key) { return }
                }
            }
            // The first save is read among the exchanges of the two openings.
            try await save("first")
            let before = (exchanges(0), exchanges(1))
            let saves = 40
            for number in 0..<saves { try await save("k\(number)") }
            let (written, read) = (exchanges(0) - before.0, exchanges(1) - before.1)
            // Saves that come during an exchange share the next one.
            #expect(written > 0 && written <= saves * 3 / 2 + 2 * times(0), "\(written) exchanges of the writer, \(times(0)) at set times")
            #expect(read > 0 && read <= saves * 3 / 2 + 2 * times(1), "\(read) exchanges of the reader, \(times(1)) at set times")
            for store in stores { try await store.close() }
        }
    }

    @Test("what another process asks for is carried out, though other work looks at the store file before the next exchange")
    func askedBetween() async throws {
        try await withDevices(2) { devices, _ in
            let (writer, store) = (try await devices[0].open(), try await devices[1].open(automatically: true))
            try await settle(writer, store)
            for round in 0..<10 {
                let other = try InspectedStore(store.file, readOnly: false)
                #expect(try other.setPaused(true))
                try await until("the store is paused") { await store.runner.machine.isPaused }
                try await writer.insert("k\(round)")
                try await writer.settled()
                #expect(try other.setPaused(false))
                // It reads the store's state, before the event of the other process's commit has come or after it.
                _ = try? await store.isCaughtUp()
                try await until("what was saved during the pause is imported") { try await store.keys().count == round + 1 }
            }
            for store in [writer, store] { try await store.close() }
        }
    }
}
