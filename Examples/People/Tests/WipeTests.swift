import Foundation
import GRDB
import PeopleStore
import Testing
import Ubiquity
import UbiquityTesting
import Waiting

/// Tests the effects on people of the loss of their container.
@Suite(.timeLimit(.minutes(40)))
struct WipeTests {
    @Test("A container that is deleted while people are entered and carried to and fro costs nobody a person")
    func deletedMidSync() async throws {
        try await withSimulatedDevices(seed: 7) { devices in
            let mac = try await devices.add("mac"), phone = try await devices.add("phone")
            let desk = try await PeopleStore.open(home: mac.home.path, automatically: true)
            let pocket = try await PeopleStore.open(home: phone.home.path, automatically: true)
            try await devices.settle(desk, pocket)
            let backup = try mac.copyContainer(PeopleStore.container)
            var onDesk = desk.notices.makeAsyncIterator(), inPocket = pocket.notices.makeAsyncIterator()
            let carrying = Task { try await devices.run() }

            // Both save continuously, and one container is deleted meanwhile.
            async let entered: Void = pocket.enter("phone", 1...40)
            try await desk.enter("mac", 1...20)
            try mac.deleteContainer(PeopleStore.container)
            try await desk.enter("mac", 21...40)
            try await entered

            // Both stores report it and continue: saves are stored, and wait.
            await onDesk.wait(for: \.isSuspension)
            await inPocket.wait(for: \.isSuspension)
            for (store, device) in [(desk, "mac"), (pocket, "phone")] {
                try await store.enter(device, 41...42)
                #expect(try await store.status().suspended != nil)
                #expect(try await store.status().unpublished > 0)
                #expect(try await store.names().isSuperset(of: names(device, 1...42)))
            }

            // A backup from before is put back, on one device.
            try mac.putBack(backup, as: PeopleStore.container)
            await onDesk.wait(for: \.isResumption)
            await inPocket.wait(for: \.isResumption)
            carrying.cancel()
            try await carrying.value
            try await devices.settle(desk, pocket)
            for store in [desk, pocket] {
                #expect(try await store.status().suspended == nil)
                #expect(try await store.names() == names("mac", 1...42).union(names("phone", 1...42)))
                try await store.close()
            }
        }
    }

    @Test("Who was removed before the container was deleted does not come back with an older backup of it, nor with a device that was away")
    func nobodyReturns() async throws {
        try await withSimulatedDevices(seed: 7) { devices in
            let mac = try await devices.add("mac"), phone = try await devices.add("phone"), pad = try await devices.add("pad")
            let desk = try await PeopleStore.open(home: mac.home.path)
            let pocket = try await PeopleStore.open(home: phone.home.path)
            let lap = try await PeopleStore.open(home: pad.home.path)
            try await desk.enter("mac", 1...3)
            try await devices.settle(desk, pocket, lap)
            let backup = try mac.copyContainer(PeopleStore.container)
            await devices.pause(pad)
            try await lap.enter("pad", 1...1)
            try await pocket.write { db in _ = try Person.filter(Column("name") == "mac 2").deleteAll(db) }
            try await devices.settle(desk, pocket)
            #expect(try await desk.names() == ["mac 1", "mac 3"])

            try mac.deleteContainer(PeopleStore.container)
            try await devices.sync()
            await #expect(throws: UbiquitousStoreError.self) { try await pocket.settled() }
            try mac.putBack(backup, as: PeopleStore.container)
            await devices.resume(pad)
            try await devices.sync()
            try await devices.settle(desk, pocket, lap)
            for store in [desk, pocket, lap] {
                #expect(try await store.names() == ["mac 1", "mac 3", "pad 1"])
                try await store.close()
            }
        }
    }

    @Test("Everybody is removed on purpose: a device that was away brings nobody back, and what it had not sent is set aside")
    func removedOnPurpose() async throws {
        try await withSimulatedDevices(seed: 7) { devices in
            let mac = try await devices.add("mac"), phone = try await devices.add("phone")
            let desk = try await PeopleStore.open(home: mac.home.path)
            let pocket = try await PeopleStore.open(home: phone.home.path)
            try await desk.enter("mac", 1...3)
            try await devices.settle(desk, pocket)
            await devices.pause(phone)
            try await pocket.enter("phone", 1...1)
            let removal = try await desk.removeUbiquitousContent(.removeEverythingOnAllDevices(contentName: PeopleStore.contentName))
            #expect(removal.kept == nil)
            try await desk.enter("new", 1...1)
            try await devices.settle(desk)

            await devices.resume(phone)
            var inPocket = pocket.notices.makeAsyncIterator()
            try await devices.sync()
            try await devices.settle(desk, pocket)
            await inPocket.wait { if case .didRemoveContent(let removal) = $0 { removal.kept != nil } else { false } }
            for store in [desk, pocket] {
                #expect(try await store.names() == ["new 1"])
                try await store.close()
            }
        }
    }

    private func names(_ device: String, _ numbers: ClosedRange<Int>) -> Set<String> { Set(numbers.map { "\(device) \($0)" }) }
}

extension UbiquitousStore {
    /// Saves people, one after the other; each save is acknowledged when this returns.
    fileprivate func enter(_ device: String, _ numbers: ClosedRange<Int>) async throws {
        for number in numbers {
            try await write { db in try Person(name: "\(device) \(number)", email: "\(number)@\(device)").insert(db) }
        }
    }

    fileprivate func names() async throws -> Set<String> { try await read { db in Set(try PeopleStore.residents(db).map(\.name)) } }
}

extension StoreNotice {
    fileprivate var isSuspension: Bool { if case .didSuspend = self { true } else { false } }
    fileprivate var isResumption: Bool { if case .didResume = self { true } else { false } }
}

extension AsyncStream<StoreNotice>.Iterator {
    /// Returns when a notice of a kind has arrived; skips earlier notices.
    fileprivate mutating func wait(for isIt: @escaping @Sendable (StoreNotice) -> Bool) async {
        // A copy reads from the stream too, and nothing else reads meanwhile.
        nonisolated(unsafe) let reader = self
        do {
            try await within("a notice of the kind that is waited for") {
                var reader = reader
                while let notice = await reader.next(), !isIt(notice) {}
            }
        } catch {
            Issue.record(error)
        }
    }
}
