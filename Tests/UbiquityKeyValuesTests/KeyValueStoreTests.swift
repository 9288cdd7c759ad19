import Foundation
import StoreFormat
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityStores
import UbiquityTesting
import Waiting

@testable import UbiquityKeyValues

/// Stores with files, on one device and on several.
struct KeyValueStoreTests {
    @Test("D-09: of two values for one key the later stays on both devices, whichever was sent first")
    func lastWriter() async throws {
        for isRightLater in [false, true] {
            try await withKeyValueDevices(2) { devices in
                let (left, right) = (try await devices[0].open(), try await devices[1].open())
                try left.set("old", forKey: "theme")
                try left.set(Int64(7), forKey: "count")
                try await settle(left, right)
                #expect(right.values == ["theme": .string("old"), "count": .integer(7)])
                devices[isRightLater ? 1 : 0].now.advance(by: 10)
                try left.set("left", forKey: "theme")
                try right.set("right", forKey: "theme")
                try right.set(true, forKey: "only right")
                try await settle(left, right)
                for store in [left, right] {
                    #expect(store.values == ["theme": .string(isRightLater ? "right" : "left"), "count": .integer(7), "only right": .boolean(true)])
                }
                for store in [left, right] { try await store.close() }
            }
        }
    }

    @Test("D-09: a removal wins over an earlier value, and a later value over a removal, also where one device has never had the key")
    func removal() async throws {
        for isRemovalLater in [false, true] {
            try await withKeyValueDevices(2) { devices in
                let (left, right) = (try await devices[0].open(), try await devices[1].open())
                try left.set("old", forKey: "shared")
                try await settle(left, right)
                devices[isRemovalLater ? 1 : 0].now.advance(by: 10)
                for key in ["shared", "unseen"] {
                    try left.set("new", forKey: key)
                    right.removeObject(forKey: key)
                }
                #expect(right.values == [:])
                try await settle(left, right)
                let expected: [String: KeyValue] = isRemovalLater ? [:] : ["shared": .string("new"), "unseen": .string("new")]
                for store in [left, right] { #expect(store.values == expected, "the removal is later: \(isRemovalLater)") }
                // It can be set again, and removed again.
                try right.set(1.5, forKey: "shared")
                try await settle(left, right)
                #expect(left.double(forKey: "shared") == 1.5)
                left.removeObject(forKey: "shared")
                try await settle(left, right)
                #expect(right.value(forKey: "shared") == nil)
                for store in [left, right] { try await store.close() }
            }
        }
    }

    @Test("Every kind of value arrives as what it was, and is there after the store was opened again")
    func kinds() async throws {
        try await withKeyValueDevices(2) { devices in
            let (left, right) = (try await devices[0].open(), try await devices[1].open())
            let date = Date(timeIntervalSinceReferenceDate: 0.1)
            try left.set("text", forKey: "string")
            try left.set(Int64.min, forKey: "integer")
            try left.set(-0.0, forKey: "real")
            try left.set(true, forKey: "boolean")
            try left.set(Data([0, 1]), forKey: "data")
            try left.set([1, "x", false], forKey: "array")
            try left.set(["a": [date]], forKey: "dictionary")
            try left.set(date as Any, forKey: "date")
            try left.set(KeyValue.real(.nan), forKey: "nan")
            try left.set("reserved", forKey: "ubiquity.own")
            try left.set("mark", forKey: "\u{308}a")
            try await settle(left, right)
            try await right.close()
            let again = try await devices[1].open()
            for store in [left, again] {
                #expect(store.string(forKey: "string") == "text")
                #expect(store.longLong(forKey: "integer") == .min)
                #expect(store.double(forKey: "real").sign == .minus)
                #expect(store.bool(forKey: "boolean"))
                #expect(store.value(forKey: "boolean") == .boolean(true))
                #expect(store.data(forKey: "data") == Data([0, 1]))
                #expect(store.value(forKey: "array") == .array([.integer(1), .string("x"), .boolean(false)]))
                #expect(store.array(forKey: "array")?.count == 3)
                #expect(store.value(forKey: "dictionary") == .dictionary(["a": .array([.date(date)])]))
                #expect(store.dictionary(forKey: "dictionary")?.keys.sorted() == ["a"])
                #expect(store.object(forKey: "date") as? Date == date)
                #expect(store.double(forKey: "nan").isNaN)
                #expect(store.string(forKey: "ubiquity.own") == "reserved")
                #expect(store.string(forKey: "\u{308}a") == "mark")
                #expect(store.dictionaryRepresentation.count == 11)
                // What is there under another type is not there.
                #expect(store.string(forKey: "integer") == nil)
                #expect(store.data(forKey: "string") == nil)
                #expect(store.longLong(forKey: "string") == 0)
                #expect(store.longLong(forKey: "nan") == 0)
            }
            for store in [left, again] { try await store.close() }
        }
    }

    @Test("A value that cannot be a property list is an error with its path, and nothing is lost")
    func noPropertyList() async throws {
        try await withKeyValueDevices(1) { devices in
            let store = try await devices[0].open()
            try store.set("before", forKey: "settings")
            let error = #expect(throws: KeyValueError.self) { try store.set(["colors": ["red", NSNull()] as [Any]], forKey: "settings") }
            #expect(error?.path == "settings.colors[1]")
            #expect(throws: KeyValueError.self) { try store.set("x", forKey: String(repeating: "k", count: 65)) }
            #expect(throws: KeyValueError.self) { try store.set(nil as String?, forKey: String(repeating: "k", count: 65)) }
            #expect(store.values == ["settings": .string("before")])
            try store.set(nil as Any?, forKey: "settings")
            #expect(store.values == [:])
            try await store.close()
        }
    }

    @Test("A burst of 1,000 sets is one save after the delay, and a value that the file has is not saved again")
    func burst() async throws {
        try await withKeyValueDevices(1) { devices in
            let (device, store) = (devices[0], try await devices[0].open())
            #expect(try await store.unpublished == 0)
            for number in 0..<1_000 { try store.set(Int64(number), forKey: key("k", number % 100)) }
            try await within("the scheduled save") { await device.delays.pass(.milliseconds(200)) }
            try await until("the save has begun") { !store.shared.hasPending }
            // It comes after the save that has begun.
            try await store.save()
            #expect(try await store.unpublished == 1)
            for number in 900..<1_000 { try store.set(Int64(number), forKey: key("k", number % 100)) }
            store.removeObject(forKey: "gone")
            try await store.save()
            #expect(try await store.unpublished == 2)
            store.removeObject(forKey: "gone")
            try await store.save()
            #expect(try await store.unpublished == 2)
            try await store.close()
        }
    }

    @Test("What a save has returned for is in the file, though the store is not closed")
    func durable() async throws {
        try await withKeyValueDevices(1) { devices in
            let store = try await devices[0].open()
            try store.set("saved", forKey: "a")
            try await store.save()
            try store.set("not yet", forKey: "b")
            let other = try await devices[0].open()
            #expect(other.values == ["a": .string("saved")])
            try await store.close()
            try await other.synchronize()
            #expect(other.values == ["a": .string("saved"), "b": .string("not yet")])
            try await other.close()
        }
    }

    @Test("A closed store refuses sets, keeps its values readable, and may be closed again")
    func closed() async throws {
        try await withKeyValueDevices(1) { devices in
            let store = try await devices[0].open()
            try store.set("a", forKey: "k")
            try await store.close()
            try await store.close()
            let error = #expect(throws: KeyValueError.self) { try store.set("b", forKey: "k") }
            #expect(error?.code == .closed)
            await #expect(throws: KeyValueError.self) { try await store.save() }
            store.removeObject(forKey: "k")
            #expect(store.string(forKey: "k") == "a")
        }
    }

    @Test("A store that is released without being closed saves what was set")
    func released() async throws {
        try await withKeyValueDevices(1) { devices in
            try devices[0].home.signOut()
            let reader = try await devices[0].open(automatically: true)
            try await reader.synchronize()
            let changes = reader.changes.limited("changes").makeAsyncIterator()
            try await devices[0].open().set("last words", forKey: "k")
            while let change = try await changes.next(), !change.keys.contains("k") {}
            #expect(reader.string(forKey: "k") == "last words")
            try await reader.close()
        }
    }

    @Test("Where the file cannot be made, the error names the path, nothing is lost, and it is saved once that is mended")
    func failure() async throws {
        try await withKeyValueDevices(1) { devices in
            let (device, files) = (devices[0], FileManager.default)
            let earlier = try await device.open()
            try earlier.set("earlier", forKey: "a")
            try earlier.set("earlier", forKey: "b")
            try await earlier.close()
            let aside = device.home.path.appending("aside")
            try files.moveItem(atPath: device.directory.string, toPath: aside.string)
            try Data().write(to: URL(filePath: device.directory.string))

            await #expect(throws: UbiquitousStoreError.self) { try await device.open() }
            let store = UbiquitousKeyValueStore(device.options())
            let changes = store.changes.limited("changes").makeAsyncIterator()
            // It works at once.
            try store.set("now", forKey: "b")
            #expect(store.values == ["b": .string("now")])
            for attempt in [store.save, store.synchronize, store.close] {
                let error = await #expect(throws: UbiquitousStoreError.self) { try await attempt() }
                #expect(error?.path == device.directory)
                #expect(error?.description.contains(device.directory.string) == true)
            }
            #expect(store.failure is UbiquitousStoreError)
            try store.set("now", forKey: "c")
            #expect(store.values == ["b": .string("now"), "c": .string("now")])

            try files.removeItem(atPath: device.directory.string)
            try files.moveItem(atPath: aside.string, toPath: device.directory.string)
            try await store.save()
            #expect(store.failure == nil)
            #expect(try await changes.next() == KeyValueChange(.initialSync, ["a"]))
            #expect(store.values == ["a": .string("earlier"), "b": .string("now"), "c": .string("now")])
            try await store.close()
            let again = try await device.open()
            #expect(again.values == store.values)
            try await again.close()
        }
    }

    @Test("After a failed save the store tries again by itself, with pauses that grow to a minute")
    func pauses() {
        let options = KeyValueOptions()
        #expect(options.pause(after: 0) == .milliseconds(200))
        #expect(options.pause(after: 1) == .milliseconds(400))
        #expect(options.pause(after: 8) == .milliseconds(51_200))
        #expect(options.pause(after: 9) == .seconds(60))
        #expect(options.pause(after: 1_000) == .seconds(60))
    }

    @Test("A name that is none of a container is refused")
    func invalidContainer() async throws {
        try await withKeyValueDevices(1) { devices in
            let error = await #expect(throws: ContainerError.self) {
                try await UbiquitousKeyValueStore.open(container: "../x", home: devices[0].home)
            }
            #expect(error?.code == .invalidName)
        }
    }
}
