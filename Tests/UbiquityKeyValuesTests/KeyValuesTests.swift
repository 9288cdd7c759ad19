import Foundation
import Testing

@testable import UbiquityKeyValues

/// The keys and values in memory, without a file.
struct KeyValuesTests {
    private func entries(_ values: [String: KeyValue]) -> [String: KeyValues.Entry] { values.mapValues { KeyValues.Entry($0) } }

    private func read(_ values: KeyValues) -> [String: KeyValue] { values.visible.mapValues(\.value) }

    /// What happens to a key "k", whose file has "file".
    enum Step: Sendable { case set(String), remove, take, finish, fail, read(String?) }

    static let table: [([Step], String?, pending: Bool)] = [
        ([], "file", false),
        ([.set("new")], "new", true),
        ([.remove], nil, true),
        ([.set("new"), .read("other")], "new", true),
        ([.remove, .read("other")], nil, true),
        ([.set("new"), .take], "new", false),
        ([.set("new"), .take, .finish], "new", false),
        ([.set("new"), .take, .finish, .read("other")], "other", false),
        ([.set("new"), .take, .finish, .read(nil)], nil, false),
        ([.set("new"), .take, .fail], "new", true),
        ([.set("new"), .take, .fail, .read("other")], "new", true),
        ([.set("new"), .take, .set("newer"), .finish], "newer", true),
        ([.set("new"), .take, .set("newer"), .fail], "newer", true),
        ([.set("new"), .take, .remove, .fail], nil, true),
        ([.remove, .take, .set("newer"), .fail], "newer", true),
        ([.remove, .take, .finish], nil, false),
        ([.set("new"), .take, .set("newer"), .finish, .take, .finish, .read("newer")], "newer", false),
    ]

    @Test("A change that is not in the file wins over what is read, and after a failed save it is pending again", arguments: table)
    func steps(steps: [Step], expected: String?, isPending: Bool) throws {
        var values = KeyValues()
        _ = values.merge(entries(["k": .string("file")]), of: "alice")
        for step in steps {
            switch step {
            case .set(let text): try values.set(.string(text), for: "k")
            case .remove: values.remove("k")
            case .take:
                let taken = values.take()
                #expect(taken != nil)
            case .finish: values.finishSave()
            case .fail: values.failSave()
            case .read(let text): _ = values.merge(entries(text.map { ["k": .string($0)] } ?? [:]), of: "alice")
            }
        }
        #expect(read(values) == (expected.map { ["k": .string($0)] } ?? [:]))
        #expect(values.hasPending == isPending)
        #expect(values.size == (expected.map { 1 + $0.utf8.count } ?? 0))
    }

    @Test("A read names the keys whose values have changed, in the order of their bytes, and not those that are pending")
    func changedKeys() throws {
        var values = KeyValues()
        let first = values.merge(entries(["b": .integer(1), "a": .integer(1), "same": .integer(1)]), of: "alice")
        #expect(first == ["a", "b", "same"])
        try values.set(.integer(5), for: "pending")
        let next = entries(["b": .real(1), "same": .integer(1), "é": .boolean(true), "z": .boolean(true), "pending": .integer(9)])
        let (second, third) = (values.merge(next, of: "alice"), values.merge(next, of: "alice"))
        #expect(second == ["a", "b", "z", "é"])
        #expect(third == [])
    }

    @Test("A save takes what is pending once, and nothing before the file has been read")
    func taking() throws {
        var values = KeyValues()
        try values.set(.integer(1), for: "k")
        let early = values.take()
        #expect(early == nil)
        _ = values.merge([:], of: "alice")
        values.remove("gone")
        let taken = values.take()
        #expect(taken == KeyValues.Taken(changes: ["k": KeyValues.Entry(.integer(1)), "gone": KeyValues.Entry?.none], account: "alice"))
        values.finishSave()
        let rest = values.take()
        #expect(rest == nil)
    }

    @Test("What was set for an account waits for it while another is signed in; what was set signed out belongs to the account that signs in")
    func accounts() throws {
        var values = KeyValues()
        _ = values.merge(entries(["a": .integer(1)]), of: "alice")
        try values.set(.integer(2), for: "late")
        let signedOut = values.merge([:], of: "")
        #expect(signedOut == ["a", "late"])
        #expect(!values.hasPending)
        try values.set(.integer(3), for: "out")
        let other = values.merge(entries(["b": .integer(4)]), of: "bob")
        #expect(other == ["b"])
        #expect(read(values) == ["b": .integer(4), "out": .integer(3)])
        let taken = values.take()
        #expect(taken == KeyValues.Taken(changes: ["out": KeyValues.Entry(.integer(3))], account: "bob"))
        values.finishSave()
        let back = values.merge(entries(["a": .integer(1)]), of: "alice")
        #expect(back == ["a", "b", "late", "out"])
        let late = values.take()
        #expect(late == KeyValues.Taken(changes: ["late": KeyValues.Entry(.integer(2))], account: "alice"))
    }

    @Test("D-09: 1,024 keys fit; one more is an error that changes nothing, until a key is removed")
    func numberOfKeys() throws {
        var values = KeyValues()
        for number in 0..<KeyValueLimits.keys { try values.set(.integer(1), for: key("k", number)) }
        let before = values
        let error = #expect(throws: KeyValueError.self) { try values.set(.integer(1), for: "more") }
        #expect(error?.code == .tooManyKeys)
        #expect(error?.path == "more")
        #expect(error?.description.contains("1024") == true)
        #expect(values == before)
        try values.set(.integer(2), for: key("k", 0))
        values.remove(key("k", 1))
        try values.set(.integer(1), for: "more")
        #expect(values.visible.count == KeyValueLimits.keys)
        #expect(values.overflow == [])
    }

    @Test("D-09: keys and values of 1 MiB fit; a byte more is an error that changes nothing")
    func sizeOfAll() throws {
        var values = KeyValues()
        try values.set(.string(String(repeating: "x", count: KeyValueLimits.size - 1)), for: "k")
        #expect(values.size == KeyValueLimits.size)
        let before = values
        for (key, value) in [("l", KeyValue.string("")), ("k", .string(String(repeating: "x", count: KeyValueLimits.size)))] {
            let error = #expect(throws: KeyValueError.self) { try values.set(value, for: key) }
            #expect(error?.code == .tooLarge)
            #expect(error?.path == key)
            #expect(error?.description.contains("1048576") == true)
            #expect(values == before)
        }
        try values.set(.string(String(repeating: "y", count: KeyValueLimits.size - 3)), for: "k")
        try values.set(.string("1"), for: "l")
        #expect(values.size == KeyValueLimits.size)
        values.remove("k")
        #expect(values.size == 2)
        // A number counts 8 bytes, and a list the bytes of its property list.
        try values.set(.integer(0), for: "n")
        try values.set(.boolean(true), for: "b")
        #expect(values.size == 2 + 9 + 1 + BinaryPropertyList.encode(.boolean(true)).count)
    }

    @Test("D-09: a key has at most 64 bytes of UTF-8")
    func keyLength() throws {
        var values = KeyValues()
        for fitting in ["", String(repeating: "k", count: 64), String(repeating: "ö", count: 32)] { try values.set(.integer(1), for: fitting) }
        let before = values
        for other in [String(repeating: "k", count: 65), String(repeating: "ö", count: 32) + "k", "a\u{0}b"] {
            let error = #expect(throws: KeyValueError.self) { try values.set(.integer(1), for: other) }
            #expect(error?.code == .invalidKey)
            #expect(error?.path == other)
            values.remove(other)
            #expect(values == before)
        }
    }

    @Test("Texts that Swift compares as equal are one key")
    func equivalentKeys() throws {
        var values = KeyValues()
        try values.set(.integer(1), for: "e\u{301}")
        try values.set(.integer(2), for: "\u{E9}")
        #expect(read(values) == ["\u{E9}": .integer(2)])
        _ = values.merge([:], of: "")
        let taken = values.take()
        #expect(taken?.changes.keys.map { Array($0.utf8) } == [[0xC3, 0xA9]])
    }

    @Test("Values of several devices beyond the limits stay, the keys that do not fit are named, and what makes them less is accepted")
    func overflow() throws {
        var values = KeyValues()
        let all = Dictionary(uniqueKeysWithValues: (0..<1_200).map { (key("k", $0), KeyValue.integer(1)) })
        _ = values.merge(entries(all), of: "alice")
        #expect(values.visible.count == 1_200)
        #expect(values.overflow == (1_024..<1_200).map { key("k", $0) })
        #expect(throws: KeyValueError.self) { try values.set(.integer(1), for: "more") }
        try values.set(.integer(2), for: key("k", 1_199))

        let half = String(repeating: "x", count: KeyValueLimits.size / 2)
        _ = values.merge(entries(["a": .string(half), "b": .string(half), "c": .integer(1)]), of: "bob")
        #expect(values.overflow == ["b"])
        #expect(throws: KeyValueError.self) { try values.set(.integer(1), for: "d") }
        #expect(throws: KeyValueError.self) { try values.set(.string(half + "x"), for: "a") }
        try values.set(.string(String(half.dropLast())), for: "a")
        values.remove("b")
        #expect(values.overflow == [])
        try values.set(.integer(1), for: "d")
    }
}

/// Why values may have changed, from one read of a file to the next.
struct ShownKeyValueFileTests {
    @Test("Each way from file to file has its reason")
    func reasons() {
        let (local, fallback, alice, bob) = (
            KeyValueFile(account: ""), KeyValueFile(account: "alice", isFallback: true), KeyValueFile(account: "alice"), KeyValueFile(account: "bob")
        )
        let table: [([KeyValueFile], [KeyValueChange.Reason?])] = [
            ([local, local], [nil, .serverChange]),
            ([local, fallback, fallback, alice, alice], [nil, .accountChange, .serverChange, .initialSync, .serverChange]),
            ([local, alice, local], [nil, .accountChange, .accountChange]),
            ([fallback, alice], [nil, .initialSync]),
            ([alice, bob], [nil, .accountChange]),
            ([fallback, bob], [nil, .accountChange]),
        ]
        for (files, reasons) in table {
            var place = ShownKeyValueFile()
            let found = files.map { place.read($0) }
            #expect(found == reasons)
        }
    }

    @Test("An initial sync is told once, also if the file was read only after it")
    func initialSync() {
        var place = ShownKeyValueFile()
        _ = place.read(KeyValueFile(account: ""))
        let early = place.gathered("alice")
        _ = place.read(KeyValueFile(account: "alice"))
        let (other, first, second) = (place.gathered("bob"), place.gathered("alice"), place.gathered("alice"))
        #expect([early, other, first, second] == [false, false, true, false])

        place = ShownKeyValueFile()
        _ = place.read(KeyValueFile(account: "alice", isFallback: true))
        let before = place.gathered("alice")
        let reason = place.read(KeyValueFile(account: "alice"))
        let after = place.gathered("alice")
        #expect(reason == .initialSync)
        #expect([before, after] == [false, false])
    }
}
