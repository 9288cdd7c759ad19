import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// Peers as the tool lists and retires them.
struct PeersToolTests {
    private struct Listed: Decodable {
        var peer: String
        var behind: Int
        var isRetired: Bool
        var passable: Int
    }

    private func listed(_ device: ToolDevice, _ store: String) async throws -> [Listed] {
        let outcome = try await device.run("ubcontrol", "peers", "list", store, "--json")
        #expect(outcome.status == 0, "\(outcome)")
        return try outcome.output.split(separator: "\n").map { try JSONDecoder().decode(Listed.self, from: Data($0.utf8)) }
    }

    @Test("F-13: ubcontrol peers lists who has not read what, and retires a peer by a part of its name, on all devices and until it is back")
    func retire() async throws {
        try await withDevices(2) { devices in
            let (first, second) = (devices[0], devices[1])
            for device in devices { #expect(try await device.run("notes", "add", "of \(device.home.lastComponent!)").status == 0) }
            for device in devices { #expect(try await device.list().count == 2) }
            #expect(try await first.run("notes", "add", "unread").status == 0)
            let store = try first.storeFile().string
            let before = try await listed(first, store)
            #expect(before.map(\.behind) == [1] && before.map(\.isRetired) == [false])
            let words = try await first.run("ubcontrol", "peers", "list", store)
            #expect(words.output.hasPrefix("phone  ") && words.output.contains("1 log behind"), "\(words)")

            let verbose = try await first.run("ubcontrol", "peers", "list", "--verbose", store)
            #expect(verbose.output.hasPrefix("\(before[0].peer)  phone"), "\(verbose)")

            let uuid = before[0].peer.split(separator: "~")[1]
            let refused = try await first.run("ubcontrol", "peers", "retire", store, "nobody")
            #expect(refused.status == 1 && refused.errors.contains("“nobody” names no peer") && refused.errors.contains(before[0].peer), "\(refused)")
            #expect(try await first.run("ubcontrol", "peers", "retire", store, String(uuid), "--at", "3").status == 64, "it is not confirmed")
            let retired = try await first.run("ubcontrol", "peers", "retire", store, String(uuid.prefix(8)))
            #expect(retired.status == 0 && retired.output == "Retired phone.\n", "\(retired)")
            #expect(try await listed(first, store).map(\.isRetired) == [true])
            // The next exchange tells it; the peer reads that, and is back.
            for device in [first, second, first] { #expect(try await device.list().count == 3) }
            let after = try await listed(first, store)
            #expect(after.map(\.isRetired) == [false] && after.map(\.behind) == [0])
            // The store and the device have names, which a person knows.
            let named = try await first.run("ubcontrol", "peers", "retire", "Notes", "phone", "--dry-run")
            #expect(named.status == 0 && named.output == "Would retire phone.\n", "\(named)")
        }
    }

    @Test(
        "ubcontrol peers retire --at lets a store go on without a log that nobody has; ubwatch verify names it as a remark, and any reader finds the fact"
    )
    func retireAtALog() async throws {
        try await withDevices(2) { devices in
            let (author, waiting) = (devices[0], devices[1])
            // It has read the content before: else it would show none of it before all has arrived.
            #expect(try await waiting.list().isEmpty)
            for title in ["a", "b", "c"] { #expect(try await author.run("notes", "add", title).status == 0) }
            let lost = try author.logs()[1]
            try FileManager.default.removeItem(atPath: lost.string)
            #expect(try await waiting.list().map(\.title) == ["a"])
            let store = try waiting.storeFile().string
            let peer = try #require(try await listed(waiting, store).first?.peer)
            let outcome = try await waiting.run("ubcontrol", "peers", "retire", store, peer, "--at", "2", "--yes")
            #expect(outcome.status == 0 && outcome.output == "Retired laptop at log 2.\n", "\(outcome)")
            #expect(try await waiting.list().map(\.title) == ["a", "c"])
            #expect(try await waiting.run("ubcontrol", "peers", "list", store).output.contains("no device waits for its logs up to 2"))
            let verified = try await Tool.run("ubwatch", ["verify", waiting.container.string])
            #expect(verified.status == 0 && verified.output.contains("its author was retired at it"), "\(verified)")
            let script = packageDirectory.appending("Tools/read-log")
            var facts: [String] = []
            for log in try waiting.logs() { facts.append(try await Tool.run("/usr/bin/python3", [script.string, log.string]).output) }
            var shown: [String] = []
            for log in try waiting.logs() { shown.append(try await Tool.run("ubwatch", ["log", log.string]).output) }
            #expect(shown.contains { $0.contains("retires ") && $0.contains(" at receipt ") && $0.contains("up to 2") })
            #expect(facts.contains { $0.contains("\"retired\": \"\(peer)\"") && $0.contains("\"sequence\": 2") }, "\(facts)")
        }
    }
}
