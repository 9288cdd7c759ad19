import Foundation
import GRDB
internal import StoreInspection
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreExchange
@testable import StoreRecords
@testable import UbiquityStores

/// The exercises of removing everything: in every way, with several devices, and with one that is off meanwhile.
struct RemovalExerciseTests {
    /// How everything is removed.
    enum Way: CaseIterable {
        /// By the app's handle.
        case handle
        /// While the app has no store open.
        case closed
        /// By a tool beside the app.
        case tool
        /// By `rm -rf`, which the app is told to follow.
        case followed

        func remove(_ store: UbiquitousStore, of device: TestDevice) async throws {
            switch self {
            case .handle: try await store.removeUbiquitousContent(.removeEverythingOnAllDevices(contentName: "People"))
            case .closed:
                try await UbiquitousStore.removeUbiquitousContentAndPersistentStore(
                    at: device.directory.appending("People.sqlite"), options: .init(contentName: "People", exchangesAutomatically: false),
                    .removeEverythingOnAllDevices(contentName: "People"), container: "org.example.test", home: device.home, schema: personSchema)
            case .tool: _ = try await InspectedStore(store.file, readOnly: true).removeContent(in: device.container())
            case .followed:
                try FileManager.default.removeItem(atPath: await device.container().path.appending("CoreData/People").string)
                try await store.answerWipe(.follow)
            }
        }
    }

    @Test(
        "S-103, S-174: however everything is removed, every device is empty, the one too that was off meanwhile, each can fill the store again, and nothing unsent is lost",
        arguments: Way.allCases)
    func everyWay(way: Way) async throws {
        try await withDevices(3) { devices, _ in
            let stores = try await [devices[0].follow(), devices[1].follow(), devices[2].follow()]
            for (number, store) in stores.enumerated() {
                try await store.settled()
                try await store.insert("old\(number)")
                try await store.settled()
            }
            try await settle(stores[0], stores[1], stores[2])
            for store in stores { #expect(try await store.keys() == ["old0", "old1", "old2"]) }
            // This one is off from now on.
            try await stores[2].insert("unsent")
            try await way.remove(stores[0], of: devices[0])
            for store in stores.prefix(2) {
                try await store.settled()
                #expect(try await store.keys() == [])
            }
            try await stores[1].insert("new1")
            try await settle(stores[1], stores[0])
            #expect(try await stores[0].keys() == ["new1"])
            #expect(try await stores[2].keys() == ["old0", "old1", "old2", "unsent"])
            // And back.
            try await settle(stores[2], stores[0], stores[1])
            for store in stores { #expect(try await store.keys() == ["new1"]) }
            let kept = KeptLogs(home: devices[2].home)
            let entry = try #require(try kept.list().first)
            #expect(try kept.changes(of: entry.id).flatMap(\.changes).map(\.record) == ["person/t:unsent"])
            for number in [0, 1] { #expect(try KeptLogs(home: devices[number].home).list().isEmpty) }
            try await stores[2].insert("new2")
            try await settle(stores[2], stores[0], stores[1])
            for store in stores { #expect(try await store.keys() == ["new1", "new2"]) }
        }
    }
}
