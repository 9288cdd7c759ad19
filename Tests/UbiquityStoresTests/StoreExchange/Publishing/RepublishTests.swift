import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreInspection
@testable import StoreRecords
@testable import UbiquityStores

/// What is left of an answer that is cut short.
struct RepublishTests {
    @Test("a republish that fails at any write goes on with the next exchange, also where files alone were gone and their directories had stayed")
    func cutShort() async throws {
        var (isDone, moment) = (false, 0)
        while !isDone {
            moment += 1
            try await withDevices(2) { devices, _ in
                let container = try await devices[0].container().path
                let files = MishapFileLayer(.fullDisk, below: container)
                let store = try await devices[0].open(over: files)
                try await store.insert("a")
                try await store.settled()
                // As a synchroniser carries a deletion.
                for name in try FileManager.default.subpathsOfDirectory(atPath: container.string) {
                    let path = container.pushing(FilePath(name))
                    if try LinuxFileLayer().kind(of: path) == .file { try FileManager.default.removeItem(atPath: path.string) }
                }
                await #expect(throws: UbiquitousStoreError.self) { try await store.settled() }
                files.arm(at: moment)
                do {
                    try await store.answerWipe(.republish)
                    isDone = true
                } catch {}
                _ = try files.mend()
                // Until the mark is there somebody may say something else.
                let mark = container.appending(".ubiquity").appending(try await store.status().peer.description)
                let noted = try InspectedStore(store.file, readOnly: true).summary().request
                #expect(FileManager.default.fileExists(atPath: mark.string) || noted == nil, "at write \(moment)")
                // Who comes back after a crash has the store's file alone to go by.
                try await store.close()
                let again = try await devices[0].open()
                do { try await again.settled() } catch { try await again.answerWipe(.republish) }
                let other = try await devices[1].open()
                try await other.settled()
                #expect(try await other.keys() == ["a"], "at write \(moment)")
                let request = try InspectedStore(again.file, readOnly: true).summary().request
                #expect(request == nil, "at write \(moment)")
            }
        }
    }
}
