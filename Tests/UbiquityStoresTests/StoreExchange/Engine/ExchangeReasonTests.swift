import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

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
            #expect(written > 0 && written <= saves * 3 / 2, "\(written) exchanges of the writer")
            #expect(read > 0 && read <= saves * 3 / 2, "\(read) exchanges of the reader")
            for store in stores { try await store.close() }
        }
    }
}
