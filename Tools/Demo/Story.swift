import Foundation
import SystemPackage
import ToolProcesses

/// The events of the demo, in order.
struct Story {
    let shared: FilePath
    let directory: FilePath
    let first: Device
    let second: Device
    private var events: EventWatch?

    init(directory: FilePath) {
        self.directory = directory
        shared = directory.appending("shared")
        first = Device(name: "desk", home: directory.appending("desk"))
        second = Device(name: "phone", home: directory.appending("phone"))
    }

    private var container: FilePath { shared.appending("alice@example.org").appending("org.example.notes") }

    mutating func tell(_ checks: inout Checks) async throws {
        try await signIn(&checks)
        try await importRows(&checks)
        try await editBoth(&checks)
        try await deleteAgainstEdit(&checks)
        try await compareAll(&checks)
        try await wipe(&checks)
    }

    func end() async {
        await events?.stop()
        await first.stop()
        await second.stop()
    }

    private mutating func signIn(_ checks: inout Checks) async throws {
        try FileManager.default.createDirectory(atPath: shared.string, withIntermediateDirectories: true)
        for device in [first, second] {
            try await device.run(
                "ubcontrol", ["setup", "shared", shared.string, "--account", "alice@example.org", "--name", device.name, "--yes"])
            try await device.start()
        }
        events = try await EventWatch(container)
        let marks = try FileManager.default.contentsOfDirectory(atPath: container.appending(".ubiquity").string)
        checks.check(
            "two devices share a container", marks.count == 2,
            "\(marks.sorted().joined(separator: " and ")), in processes of their own; ubwatch watches")
    }

    /// Imports some thousand rows on one device, in one save.
    private func importRows(_ checks: inout Checks) async throws {
        let count = 4000
        let file = directory.appending("notes.csv")
        try CSVRows.text(count: count).write(toFile: file.string, atomically: true, encoding: .utf8)
        let start = ContinuousClock.now
        try await first.run("notes", ["import", file.string])
        let saved = ContinuousClock.now - start
        try await second.wait(for: "the import") { $0.reduce(0) { $0 + ($1.inserted ?? 0) } >= count }
        let arrived = ContinuousClock.now - start
        let (left, right) = try await (first.list(), second.list())
        checks.check(
            "an import of \(count) rows on \(first.name) arrives on \(second.name)", left.count == count && left == right,
            "saved and published after \(saved.text), all of it on \(second.name) after \(arrived.text); both list \(left.count) notes, alike")
    }

    /// Edits different columns of one record on both devices at once.
    private func editBoth(_ checks: inout Checks) async throws {
        let note = try await first.list()[17]
        async let left = first.run("notes", ["edit", note.id, "--title", "Edited at the desk"])
        async let right = second.run("notes", ["edit", note.id, "--body", "Edited on the phone"])
        _ = try await (left, right)
        for device in [first, second] { try await device.wait(for: "the other's edit") { $0.contains { ($0.updated ?? 0) > 0 } } }
        let found = try await (first.list().first { $0.id == note.id }, second.list().first { $0.id == note.id })
        let isMerged = found.0?.title == "Edited at the desk" && found.0?.body == "Edited on the phone" && found.0 == found.1
        checks.check("edits of different columns of one note both survive", isMerged, "on both: \(found.0?.title ?? "–"); \(found.0?.body ?? "–")")
    }

    /// Deletes a record on one device while the other edits it, with the devices disconnected.
    private func deleteAgainstEdit(_ checks: inout Checks) async throws {
        let note = try await first.list()[18]
        await first.stop()
        await second.stop()
        try await second.run("notes", ["edit", note.id, "--title", "Edited while it was being deleted"])
        try await first.run("notes", ["rm", note.id])
        let before = try await (first.list().contains { $0.id == note.id }, second.list().contains { $0.id == note.id })
        try await first.start()
        try await second.start()
        try await second.wait(for: "the deletion") { $0.contains { ($0.deleted ?? 0) > 0 } }
        try await settle()
        let after = try await (first.list().contains { $0.id == note.id }, second.list().contains { $0.id == note.id })
        checks.check(
            "a deletion beats an edit made meanwhile", before == (false, true) && after == (false, false),
            "before they met: \(first.name) without it, \(second.name) with it; after: neither has it")
    }

    private func compareAll(_ checks: inout Checks) async throws {
        let (left, right) = try await (first.list(), second.list())
        checks.check("both devices hold the same content", left == right && !left.isEmpty, "\(left.count) notes, every column of each compared")
        let logs = try FileManager.default.subpathsOfDirectory(atPath: container.string).filter { $0.hasSuffix(".ublog") }
        let seen = try await events?.wait { seen in logs.allSatisfy { log in seen.contains { $0.path.hasSuffix(log) } } } ?? []
        checks.check(
            "ubwatch saw every log appear", !seen.isEmpty, "\(seen.count) events, \(logs.count) logs in the container")
        for event in seen.suffix(3) { checks.say("\(event.kind) \(event.path)") }
        let status = try await Tool.run(Tool.path("ubwatch").string, ["status", container.string, "--home", first.home])
        for line in status.output.split(separator: "\n") { checks.say(String(line)) }
    }

    /// Deletes the container in the middle of a sync.
    private func wipe(_ checks: inout Checks) async throws {
        let file = directory.appending("more.csv")
        let count = 3000
        try CSVRows.text(count: count).write(toFile: file.string, atomically: true, encoding: .utf8)
        let before = try await (first.list().count, second.list().count)
        async let importing = first.run("notes", ["import", file.string])
        _ = try await events?.waitForNext { $0.path.contains(".nosync/") || $0.path.hasSuffix(".ublog") }
        // A device that is writing can put a file into a directory that is being emptied: delete again, as a person
        // would.
        let deadline = ContinuousClock.now + .seconds(10)
        while FileManager.default.fileExists(atPath: container.string), ContinuousClock.now < deadline {
            try? FileManager.default.removeItem(atPath: container.string)
        }
        _ = try await importing
        for device in [first, second] { try await device.wait(for: "being suspended") { $0.contains { $0.event == "suspended" } } }
        let reasons = await (
            first.printed.last { $0.event == "suspended" }?.reason ?? "", second.printed.last { $0.event == "suspended" }?.reason ?? ""
        )
        checks.check(
            "each device reports the deleted container and suspends", [reasons.0, reasons.1].allSatisfy { $0.contains("gone") },
            "\(first.name): \(reasons.0); \(second.name): \(reasons.1)")
        let after = try await (first.list().count, second.list().count)
        checks.check(
            "each device still lists its notes", after.0 == before.0 + count && (after.1 == before.1 || after.1 == before.1 + count),
            "\(first.name): \(after.0), \(second.name): \(after.1)")
        try await first.run("notes", ["add", "Written while the container is gone"])
        let written = try await first.list().count
        checks.check(
            "saves continue locally, and no device makes the container again",
            written == after.0 + 1 && !FileManager.default.fileExists(atPath: container.string), "\(first.name): \(written) notes; no \(container)")
    }

    /// Waits until each peer's receipt says that it has read everything.
    private func settle() async throws {
        struct Survey: Decodable {
            struct Store: Decodable { var peers: [Peer] }
            struct Peer: Decodable { var knowledge: [Lag] }
            struct Lag: Decodable { var behind: Int }
            var stores: [Store]
        }
        let deadline = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < deadline {
            let status = try await Tool.run(Tool.path("ubwatch").string, ["status", container.string, "--json"])
            let survey = try JSONDecoder().decode(Survey.self, from: Data(status.output.utf8))
            let peers = survey.stores.flatMap(\.peers)
            if peers.count == 2, peers.allSatisfy({ $0.knowledge.count == 1 && $0.knowledge.allSatisfy { $0.behind == 0 } }) { return }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw Device.Failure(description: "the devices did not become current within 30 s")
    }
}

extension Duration {
    /// The duration in the form “120 ms”.
    fileprivate var text: String { formatted(.units(allowed: [.seconds, .milliseconds], maximumUnitCount: 1)) }
}

/// Rows like those of an app's export.
enum CSVRows {
    static func text(count: Int) -> String {
        let subjects = [
            "Groceries", "Call the plumber", "Ideas for the garden", "Train to Lisbon", "Book list", "Meeting with Ana", "Recipe: lentil soup",
        ]
        let bodies = [
            "Milk, bread, \"the good\" olives", "He said Tuesday, or Thursday after four", "Quince along the wall; ask about the slope", "",
            "Tanizaki, Le Guin, Szymborska", "Bring the figures, and the café receipt – 12,40 €", "200 g lentils, one carrot,\ntwo onions",
        ]
        var lines = ["title,body,created"]
        for index in 0..<count {
            let body = bodies[index % 5 % bodies.count + (index % 2)].replacingOccurrences(of: "\"", with: "\"\"")
            let (day, minute) = (index % 28 + 1, index % 60)
            lines.append(
                "\(subjects[index % subjects.count]) \(index),\"\(body)\",2026-10-\(day < 10 ? "0" : "")\(day)T08:\(minute < 10 ? "0" : "")\(minute):00Z"
            )
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
