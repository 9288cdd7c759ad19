import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityStores

@Suite("Two accounts by turns", .timeLimit(.minutes(40)))
struct AccountTurnTests {
    @Test("S-010, S-031: after 30 turns of two accounts under load each finds its data, and no file of one holds a byte of the other's")
    func turns() async throws {
        try await withDevices(2) { devices, root in
            var saved: [String: Set<String>] = [:]
            for turn in 1...30 {
                let account = turn.isMultiple(of: 2) ? "bob" : "alice"
                let other = turn.isMultiple(of: 2) ? "alice" : "bob"
                for device in devices { try device.home.signIn(AccountName(account), containers: root) }
                // One device writes more than the other, so that both import.
                for (index, device) in devices.enumerated() {
                    let store = try await device.open(automatically: true)
                    let keys = (0..<(index == turn % 2 ? 4 : 1)).map { "\(account)-MARKER-\(turn)-\(index)-\($0)" }
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for key in keys {
                            group.addTask { try await store.execute("INSERT INTO person (id, first) VALUES (?, ?)", [key, "of \(account)-MARKER"]) }
                        }
                        // The account changes while that goes on.
                        group.addTask { try device.home.signIn(AccountName(other), containers: root) }
                        try await group.waitForAll()
                    }
                    saved[account, default: []].formUnion(keys)
                    try await store.publish()
                    try await store.close()
                    try device.home.signIn(AccountName(account), containers: root)
                }
            }
            for account in ["alice", "bob"] {
                for device in devices {
                    try device.home.signIn(AccountName(account), containers: root)
                    let store = try await device.open()
                    try await store.settled()
                    let found = try await store.read { db in try Set(String.fetchAll(db, sql: "SELECT id FROM person")) }
                    #expect(found == saved[account])
                    try await store.close()
                }
            }
            try search(root.removingLastComponent())
        }
    }

    /// Reads every file to its end, and looks for either account's marker.
    private func search(_ directory: FilePath) throws {
        var holding: [String: Int] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: directory.string) {
            let path = directory.pushing(FilePath(name))
            guard let content = FileManager.default.contents(atPath: path.string) else { continue }
            for account in ["alice", "bob"] where content.range(of: Data("\(account)-MARKER".utf8)) != nil {
                holding[account, default: 0] += 1
                let owners = ["alice", "bob"].filter { owner in
                    path.components.contains { $0.string == owner || $0.string.hasPrefix("\(owner)~") }
                }
                #expect(owners == [account], "\(path) holds what \(account) has written")
            }
        }
        // What is looked for is what is there: the stores and logs of either.
        #expect(holding["alice"] ?? 0 > 15 && holding["bob"] ?? 0 > 15, "\(holding)")
    }

    @Test(
        "A link in the place of a store's directories is not followed, in the middle of anything", arguments: ["CoreData", "CoreData/People", "own"])
    func links(which: String) async throws {
        try await withDevices(2) { devices, _ in
            let (first, second) = (try await devices[0].open(), try await devices[1].open())
            try await first.execute("INSERT INTO person (id, first) VALUES ('a', 'Ann')")
            try await settle(first, second)
            let container = try await devices[0].container()
            let peer = try await first.status().peer.description
            let place = container.path.pushing(FilePath(which == "own" ? "CoreData/People/\(peer)" : which))
            let outside = devices[0].directory.appending("outside")
            try FileManager.default.moveItem(atPath: place.string, toPath: outside.string)
            try FileManager.default.createSymbolicLink(atPath: place.string, withDestinationPath: outside.string)
            let before = try FileManager.default.subpathsOfDirectory(atPath: outside.string).sorted()
            try await first.execute("INSERT INTO person (id, first) VALUES ('b', 'Bea')")
            await #expect { try await first.settled() } throws: { ($0 as? UbiquitousStoreError)?.code == .suspended }
            #expect(try await first.status().suspended == .contentGone)
            #expect(try FileManager.default.subpathsOfDirectory(atPath: outside.string).sorted() == before)
            // The other device's work goes on where only the first's directory is a link.
            if which == "own" {
                try await second.execute("INSERT INTO person (id, first) VALUES ('c', 'Cid')")
                try await second.settled()
            }
            try FileManager.default.removeItem(atPath: place.string)
            try FileManager.default.moveItem(atPath: outside.string, toPath: place.string)
            try await settle(first, second)
            let rows = try await first.rows()
            #expect(rows.count == (which == "own" ? 3 : 2))
            #expect(try await second.rows() == rows)
        }
    }
}
