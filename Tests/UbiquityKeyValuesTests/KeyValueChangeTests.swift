import Dispatch
import Foundation
import Testing
import UbiquityContainers
import UbiquityTesting
import Waiting

@testable import UbiquityKeyValues

/// What a store tells of changes by others, and how it follows the account.
struct KeyValueChangeTests {
    @Test("D-09: a change by another device names its keys, as a notification too, and a change by this device is none")
    func serverChange() async throws {
        try await withKeyValueDevices(2) { devices in
            let (left, right) = (try await devices[0].open(), try await devices[1].open())
            try await settle(left, right)
            let (posted, continuation) = AsyncStream.makeStream(of: KeyValueChange.self)
            let observer = NotificationCenter.default.addObserver(
                forName: UbiquitousKeyValueStore.didChangeExternally, object: right, queue: nil
            ) { notification in
                guard let reason = notification.userInfo?["NSUbiquitousKeyValueStoreChangeReasonKey"] as? Int,
                    let keys = notification.userInfo?["NSUbiquitousKeyValueStoreChangedKeysKey"] as? [String]
                else { return }
                // That of the first read may come as late as now.
                guard reason != KeyValueChange.Reason.initialSync.rawValue else { return }
                continuation.yield(KeyValueChange(KeyValueChange.Reason(rawValue: reason)!, keys))
            }
            defer { NotificationCenter.default.removeObserver(observer) }
            let changes = right.changes.limited("changes").makeAsyncIterator()
            let notifications = posted.limited("notifications").makeAsyncIterator()
            try right.set("own", forKey: "own")
            try left.set("x", forKey: "b")
            try left.set("x", forKey: "a")
            try await settle(right, left, right)
            left.removeObject(forKey: "a")
            try await settle(left, right)
            for expected in [KeyValueChange(.serverChange, ["a", "b"]), KeyValueChange(.serverChange, ["a"])] {
                #expect(try await changes.next() == expected)
                #expect(try await notifications.next() == expected)
            }
            for store in [left, right] { try await store.close() }
            #expect(try await changes.next() == nil)
        }
    }

    @Test("D-09: the first read of the other devices' values is an initial sync, and a pending value wins over theirs")
    func initialSync() async throws {
        try await withKeyValueDevices(2) { devices in
            let left = try await devices[0].open()
            for key in ["a", "b"] { try left.set("left", forKey: key) }
            try await left.synchronize()
            devices[1].now.advance(by: 10)
            let right = try await devices[1].open()
            #expect(right.values == [:])
            let changes = right.changes.limited("changes").makeAsyncIterator()
            try right.set("right", forKey: "b")
            try await right.synchronize()
            #expect(try await changes.next() == KeyValueChange(.initialSync, ["a"]))
            #expect(right.values == ["a": .string("left"), "b": .string("right")])
            try await left.synchronize()
            #expect(left.values == right.values)
            for store in [left, right] { try await store.close() }
        }
    }

    @Test("D-09: a store works while nobody is signed in, and joins at sign-in by last writer")
    func signedOut() async throws {
        try await withKeyValueDevices(2) { devices in
            let (device, other) = (devices[0], try await devices[1].open())
            try device.home.signOut()
            let store = try await device.open()
            device.now.advance(by: 10)
            for key in ["mine", "mine is later", "other is later"] { try store.set("mine", forKey: key) }
            try await store.synchronize()
            try store.set("never saved before", forKey: "pending")
            for key in ["other", "mine is later"] { try other.set("other", forKey: key) }
            try await other.save()
            devices[1].now.advance(by: 20)
            try other.set("other", forKey: "other is later")
            try await other.synchronize()

            // No clock is ahead of the one of the device that signs in.
            device.now.advance(by: 30)
            let changes = store.changes.limited("changes").makeAsyncIterator()
            try device.signIn("alice")
            try await store.synchronize()
            var changed: Set<String> = []
            var reasons: [KeyValueChange.Reason] = []
            while reasons.last != .initialSync, let change = try await changes.next() {
                reasons.append(change.reason)
                changed.formUnion(change.keys)
            }
            #expect(reasons.first == .accountChange)
            #expect(changed == ["other", "other is later"])
            let expected: [String: KeyValue] = [
                "mine": .string("mine"), "mine is later": .string("mine"), "pending": .string("never saved before"), "other": .string("other"),
                "other is later": .string("other"),
            ]
            #expect(store.values == expected)
            try await settle(store, other)
            #expect(other.values == expected)
            for store in [store, other] { try await store.close() }
        }
    }

    @Test("D-09: a sign-out hides the account's values, another account has its own, and a return shows the first again")
    func accounts() async throws {
        try await withKeyValueDevices(1) { devices in
            let (device, store) = (devices[0], try await devices[0].open())
            try store.set("alice", forKey: "a")
            try await store.synchronize()
            let changes = store.changes.limited("changes").makeAsyncIterator()
            try device.home.signOut()
            try await store.synchronize()
            #expect(try await changes.next() == KeyValueChange(.accountChange, ["a"]))
            #expect(store.values == [:])

            try device.signIn("bob")
            try await store.synchronize()
            #expect(try await changes.next() == KeyValueChange(.accountChange, []))
            #expect(try await changes.next() == KeyValueChange(.initialSync, []))
            try store.set("bob", forKey: "b")
            try await store.synchronize()

            try device.signIn("alice")
            try await store.synchronize()
            #expect(try await changes.next() == KeyValueChange(.accountChange, ["a", "b"]))
            #expect(store.values == ["a": .string("alice")])
            try await store.close()
        }
    }

    @Test("What is set just before a sign-out is saved to the account that is leaving, and is nobody else's")
    func leaving() async throws {
        try await withKeyValueDevices(1) { devices in
            let (device, store) = (devices[0], try await devices[0].open(automatically: true))
            try await store.synchronize()
            let changes = store.changes.limited("changes").makeAsyncIterator()
            // The clock of the delay stands still: no save takes it before the sign-out is noticed.
            try store.set("alice", forKey: "a")
            try device.home.signOut()
            while let change = try await changes.next(), change.reason != .accountChange {}
            #expect(store.values == [:])
            try device.signIn("alice")
            while let change = try await changes.next(), change.reason != .accountChange {}
            #expect(store.values == ["a": .string("alice")])
            let other = try await device.open()
            #expect(other.values == ["a": .string("alice")], "it is in the file, and not only in memory")
            for store in [store, other] { try await store.close() }
        }
    }

    @Test("D-09: values of two devices beyond the limit all stay, both devices name the same keys, and sets that add are refused")
    func quota() async throws {
        try await withKeyValueDevices(2) { devices in
            let (left, right) = (try await devices[0].open(), try await devices[1].open())
            try await settle(left, right)
            let changes = [left, right].map { $0.changes.limited("changes").makeAsyncIterator() }
            for number in 0..<600 {
                try left.set(Int64(number), forKey: key("a", number))
                try right.set(Int64(number), forKey: key("b", number))
            }
            try await settle(left, right)
            for (index, store) in [left, right].enumerated() {
                #expect(try await changes[index].next()?.reason == .serverChange)
                #expect(try await changes[index].next() == KeyValueChange(.quotaViolation, (424..<600).map { key("b", $0) }))
                #expect(store.values.count == 1_200)
                let error = #expect(throws: KeyValueError.self) { try store.set("x", forKey: "more") }
                #expect(error?.code == .tooManyKeys)
            }
            // What is there may be changed, and there is room once enough has been removed.
            try left.set("changed", forKey: key("b", 599))
            for number in 0..<177 { left.removeObject(forKey: key("a", number)) }
            try left.set("x", forKey: "more")
            try await settle(left, right)
            #expect(right.values == left.values)
            #expect(right.values.count == 1_024)
            for store in [left, right] { try await store.close() }
        }
    }

    @Test("Two handles of one device see each other's saves, signed in or not", arguments: [false, true])
    func handles(isSignedIn: Bool) async throws {
        try await withKeyValueDevices(1) { devices in
            if !isSignedIn { try devices[0].home.signOut() }
            let first = try await devices[0].open()
            try await first.synchronize()
            try await first.close()
            let (left, right) = (try await devices[0].open(automatically: true), try await devices[0].open(automatically: true))
            // From then on each looks for writes by the other.
            for store in [left, right] { try await store.synchronize() }
            for (writer, reader, key) in [(left, right, "l"), (right, left, "r")] {
                let changes = reader.changes.limited("changes").makeAsyncIterator()
                try writer.set("x", forKey: key)
                try await writer.save()
                while let change = try await changes.next(), !change.keys.contains(key) {}
                #expect(reader.string(forKey: key) == "x")
            }
            for store in [left, right] { try await store.close() }
        }
    }

    @Test("D-09: by themselves, two devices exchange what is saved")
    func automatically() async throws {
        try await withKeyValueDevices(2) { devices in
            let (left, right) = (try await devices[0].open(automatically: true), try await devices[1].open(automatically: true))
            let changes = right.changes.limited("changes").makeAsyncIterator()
            try left.set("x", forKey: "k")
            try await within("the scheduled save") { [delays = devices[0].delays] in await delays.pass(.milliseconds(200)) }
            while let change = try await changes.next(), !change.keys.contains("k") {}
            #expect(right.string(forKey: "k") == "x")
            for store in [left, right] { try await store.close() }
        }
    }

    @Test("D-09: an observer of the notification may save and read, and one that takes long keeps nobody from saving")
    func observers() async throws {
        try await withKeyValueDevices(2) { devices in
            let (left, right) = (try await devices[0].open(), try await devices[1].open())
            let (told, telling) = AsyncStream.makeStream(of: String.self)
            let gate = DispatchSemaphore(value: 0)
            let token = NotificationCenter.default.addObserver(forName: UbiquitousKeyValueStore.didChangeExternally, object: left, queue: nil) { _ in
                try? blockingCaller { try await left.save() }
                telling.yield(left.string(forKey: "a") ?? "")
                gate.wait()
            }
            defer { NotificationCenter.default.removeObserver(token) }
            try right.set("right", forKey: "a")
            try await right.synchronize()
            try await left.synchronize()
            let names = told.limited("the notification").makeAsyncIterator()
            #expect(try await names.next() == "right")
            // The observer still waits.
            try left.set("left", forKey: "b")
            try await within("the save") { try await left.synchronize() }
            gate.signal()
            for store in [left, right] { try await store.close() }
        }
    }
}
