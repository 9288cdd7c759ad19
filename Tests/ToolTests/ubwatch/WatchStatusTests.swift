import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// `ubwatch status` and `ubwatch peers`, on real containers.
@Suite(.timeLimit(.minutes(40)))
struct WatchStatusTests {
    @Test("S-127: ubwatch shows whether the account is signed out, setting up, idle, uploading or downloading, and why")
    func accountState() async throws {
        try await withDevices(2) { devices in
            let (writer, device) = (devices[0], devices[1])
            try await writer.run("notes", "add", "Milk")
            let new = try await device.watched()
            #expect(new.state == "settingUp" && new.reasons == ["this device has not attached to the container yet"], "\(new)")
            #expect(try await device.list().count == 1)
            let idle = try await device.watched()
            #expect(idle.state == "idle" && idle.reasons.isEmpty, "\(idle)")
            #expect(idle.localStores.first?.files.first?.exchange?.isCurrent == true)
            #expect(try await device.run("ubwatch", "status", device.container.string).output.contains("  this device: idle\n"))

            try await writer.run("notes", "add", "Bread")
            let author = try #require(try await writer.watched().device.peer)
            let behind = try await device.watched()
            #expect(behind.state == "downloading", "\(behind)")
            #expect(behind.reasons.first?.hasPrefix("not read: 1 log of \(author) from log 2 on, in the store Notes: ") == true, "\(behind.reasons)")
            #expect(behind.remedies.isEmpty)
            let text = try await device.run("ubwatch", "status", device.container.string).output
            #expect(text.contains("    not read: 1 log of laptop from log 2 on, in the store Notes: "), "\(text)")
            #expect(text.contains("  attached: laptop, phone\n") || text.contains("  attached: phone, laptop\n"), "\(text)")
            #expect(!text.contains(author), "\(text)")
            let verbose = try await device.run("ubwatch", "status", "--verbose", device.container.string).output
            #expect(verbose.contains("not read: 1 log of \(author) from log 2 on"), "\(verbose)")
            #expect(try await device.list().count == 2)
            #expect(try await device.watched().state == "idle")

            let store = try device.storeFile().string
            #expect(try await Tool.run("ubcontrol", ["store", "pause", store]).status == 0)
            try await device.run("notes", "add", "Quince")
            let held = try await device.watched()
            #expect(held.state == "suspended", "\(held)")
            #expect(held.reasons.first?.contains("paused") == true, "\(held.reasons)")
            #expect(held.remedies == ["ubcontrol store resume \(store)"], "\(held.remedies)")
            #expect(try await Tool.run("ubcontrol", ["store", "resume", store]).status == 0)
            #expect(try await device.list().count == 3)
            #expect(try await device.watched().state == "idle")

            try await device.run("ubcontrol", "sign-out")
            let out = try await device.watched()
            #expect(out.state == "signedOut" && out.device.signedIn == nil && out.reasons == ["nobody is signed in on this device"], "\(out)")
            #expect(out.remedies == ["ubcontrol sign-in alice"], "\(out.remedies)")
            try await device.run("ubcontrol", "sign-in", "bob")
            #expect(try await device.watched().reasons == ["bob is signed in on this device, not alice"])
        }
    }

    @Test("ubwatch status says which stores an app keeps, and whether they use local storage, without being told of them")
    func localStorage() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            func add(_ name: String) async throws {
                let outcome = try await device.run("people", "add", name, "--email", "\(name)@example.org", "--state", "VT")
                #expect(outcome.status == 0, "\(outcome)")
            }
            try await add("ann")
            let container = device.root.appending("alice/org.example.people")
            let store = try #require(try await device.watched(container).localStores.first)
            #expect(store.content == "People" && !store.usesLocalStorage && !store.isGone, "\(store)")
            #expect(store.files.first?.isInUse == true && store.files.first?.summary.place == "account", "\(store)")
            try await device.run("ubcontrol", "sign-out")
            try await add("ben")
            let local = try #require(try await device.watched(container).localStores.first)
            #expect(local.usesLocalStorage && local.files.first?.summary.place == "local", "\(local)")
            #expect(local.files.contains { !$0.isInUse && $0.summary.place == "account" }, "\(local)")
            #expect(try await device.run("ubwatch", "status", container.string).output.contains("local storage 1"))
            try FileManager.default.removeItem(atPath: FilePath(local.path).removingLastComponent().appending("CoreDataUbiquitySupport").string)
            #expect(try await device.watched(container).localStores.map(\.isGone) == [true])
        }
    }

    @Test("S-020: ubwatch peers lists who lacks how many logs of whom, and since when, as each one's receipt says")
    func peers() async throws {
        try await withDevices(3) { devices in
            try await devices[0].run("notes", "add", "Milk")
            for device in devices[1...] { #expect(try await device.list().count == 1) }
            for title in ["Bread", "Quince"] { try await devices[0].run("notes", "add", title) }
            #expect(try await devices[1].list().count == 3)
            // A synchroniser may give files any time: their authors' count.
            let old = Date(timeIntervalSince1970: 1_000_000_000)
            for log in try devices[0].logs() { try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: log.string) }
            let second = try #require(try devices[0].logs().first { $0.lastComponent!.string.hasPrefix("000000000002.") })

            let names = try await [devices[0].watched(), devices[1].watched(), devices[2].watched()].map { try #require($0.device.peer) }
            let peers = try #require(try await devices[0].watched().stores.first?.peers)
            let lags = peers.flatMap { peer in peer.knowledge.filter { $0.behind > 0 }.map { (peer.peer, $0) } }
            try #require(lags.count == 1, "\(peers)")
            let (reader, lag) = lags[0]
            #expect(reader == names[2] && lag.peer == names[0] && lag.behind == 2 && lag.read == 1)
            struct Log: Decodable { var created: Date }
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .iso8601
            let log = try decoder.decode(Log.self, from: Data(await Tool.run("ubwatch", ["log", second.string, "--json"]).output.utf8))
            #expect(lag.oldest == log.created)

            let text = try await devices[0].run("ubwatch", "peers", devices[0].container.string).output
            #expect(text.contains("  desktop lacks 2 logs of laptop, the oldest of "), "\(text)")
            #expect(text.components(separatedBy: " lacks ").count == 2, "\(text)")
            #expect(text.split(separator: "\n").contains { $0.split(separator: " ").prefix(4).contains("2") && $0.contains("–") }, "\(text)")
            #expect(!names.contains { text.contains($0) }, "\(text)")
            let verbose = try await devices[0].run("ubwatch", "peers", "--verbose", devices[0].container.string).output
            #expect(
                verbose.contains("  \(names[2]) lacks 2 logs of \(names[0]), the oldest of ") && verbose.contains("\(names[0]) (laptop"), "\(verbose)"
            )
            let json = try await devices[0].run("ubwatch", "peers", "--json", devices[0].container.string).output
            #expect(json.hasPrefix("{\"account\":\"alice\",\"container\":\"org.example.notes\""), "\(json)")
            #expect(try await devices[2].list().count == 3)
            let current = try await devices[0].run("ubwatch", "peers", devices[0].container.string).output
            #expect(current.contains("each has read all that is here") && !current.contains("lacks"), "\(current)")
        }
    }

    @Test("ubwatch peers tells of logs that a receipt names and that have not arrived")
    func late() async throws {
        try await withDevices(3) { devices in
            for title in ["Milk", "Bread"] { try await devices[0].run("notes", "add", title) }
            #expect(try await devices[1].list().count == 2)
            try FileManager.default.removeItem(atPath: try #require(try devices[0].logs().last).string)
            let author = try #require(try await devices[0].watched().device.peer)
            let facts = try await devices[2].watched()
            #expect(facts.stores.first?.peers.first { $0.peer == author }?.late == 1)
            #expect(facts.reasons.contains("not arrived: 1 log of \(author) in the store Notes"), "\(facts.reasons)")
            #expect(try await devices[2].run("ubwatch", "peers", devices[0].container.string).output.contains("; 1 not arrived"))
        }
    }

    @Test("ubwatch status tells a container that is gone from one that has lost this device's mark, and from one that never was")
    func wiped() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            try await device.run("notes", "add", "Milk")
            let mark = device.container.appending(".ubiquity").appending(try #require(try await device.watched().device.peer))
            let away = device.root.appending("mark")
            try FileManager.default.moveItem(atPath: mark.string, toPath: away.string)
            let unmarked = try await device.watched()
            #expect(unmarked.presence == "unmarked" && unmarked.reasons.first?.contains("mark is gone") == true, "\(unmarked)")
            try FileManager.default.moveItem(atPath: away.string, toPath: mark.string)
            #expect(try await device.watched().presence == "there")
            try FileManager.default.removeItem(atPath: device.container.string)
            let gone = try await device.watched(status: 3)
            #expect(gone.presence == "gone" && gone.reasons.first == "the container is gone: \(device.container)", "\(gone)")
            #expect(gone.localStores.first?.files.first?.summary.records == 1, "\(gone)")
            #expect(try await device.run("ubwatch", "peers", device.container.string).status == 3)
            #expect(try await device.run("ubwatch", "status", device.root.appending("alice/org.example.other").string).status == 64)
            // Nobody has made it again.
            #expect(!FileManager.default.fileExists(atPath: device.container.string))
        }
    }

    @Test("ubwatch leaves nothing in a container, nor beside a store, that was not there")
    func readsOnly() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            try await device.run("notes", "add", "Milk")
            try await device.foldLogs()
            try Data("Dear Ann".utf8).write(to: URL(filePath: device.container.appending("Letter.txt").string))
            let top = device.root.removingLastComponent().string
            func all() throws -> [String: Date] {
                let paths = try FileManager.default.subpathsOfDirectory(atPath: top)
                return try Dictionary(
                    uniqueKeysWithValues: paths.map {
                        ($0, try FileManager.default.attributesOfItem(atPath: "\(top)/\($0)")[.modificationDate] as? Date ?? .distantPast)
                    })
            }
            let before = try all()
            #expect(!before.keys.contains { $0.hasSuffix("-wal") }, "nobody has the store open")
            let facts = try await device.watched()
            #expect(facts.localStores.first?.files.first?.summary.records == 1 && facts.items.count == 1, "\(facts)")
            #expect(facts.storage["documents"]?.bytes == 8 && facts.storage["logs"]?.files == 1, "\(facts.storage)")
            for command in ["peers", "conflicts", "items"] {
                #expect(try await device.run("ubwatch", command, device.container.string).status == 0, "\(command)")
            }
            #expect(try await device.wait(until: "current", "--timeout", "60").status == 0)
            #expect(try all() == before)
        }
    }

    @Test("ubwatch conflicts lists copies of items, values that lost, and files that cannot be used, each with a reason")
    func conflicts() async throws {
        try await withDevices(2) { devices in
            let device = devices[0]
            try await device.run("notes", "add", "Milk")
            let none = try await device.run("ubwatch", "conflicts", device.container.string)
            #expect(none.status == 0 && none.output == "nothing is in conflict, held, quarantined or set aside\n", "\(none)")
            #expect(try await devices[1].list().count == 1)
            // Each changes the note without having seen the other's change.
            let id = try #require(try await device.list().first?.id)
            try await devices[1].apart {
                let edited = try await devices[1].run("notes", "edit", id, "--title", "Cream")
                #expect(edited.status == 0)
            }
            #expect(try await device.run("notes", "edit", id, "--title", "Butter").status == 0)
            #expect(try await devices[1].list().count == 1)
            #expect(try await device.list().count == 1)
            for name in ["Letter.txt", "Letter.sync-conflict-20260102-030405-ABCDEFG.txt"] {
                try Data(name.utf8).write(to: URL(filePath: device.container.appending(name).string))
            }
            let author = try #require(try await devices[1].watched().device.peer)
            let log = try #require(try devices[1].logs().last { $0.components.contains { $0.string == author } })
            let next = try #require(Int(log.lastComponent!.string.prefix(12))) + 1
            let forged = log.removingLastComponent().appending("00000000000\(next).\(String(repeating: "0", count: 64)).ublog")
            try Data("no log".utf8).write(to: URL(filePath: forged.string))
            #expect(try await device.list().count == 1)

            let outcome = try await device.run("ubwatch", "conflicts", "--json", device.container.string)
            #expect(outcome.status == 5)
            let troubles = try JSONDecoder().decode(WatchedFacts.Troubles.self, from: Data(outcome.output.utf8))
            #expect(troubles.counts["copy"] == 1 && troubles.counts["quarantined"] == 1 && (troubles.counts["conflict"] ?? 0) == 1, "\(troubles)")
            let copy = try #require(troubles.listed.first { $0.kind == "copy" })
            #expect(copy.subject == "Letter.sync-conflict-20260102-030405-ABCDEFG.txt", "\(copy)")
            // It may be this very device whose copy lost.
            #expect(
                copy.reason.hasSuffix("Letter.txt was changed on two devices at the same time; this copy, of device ABCDEFG, lost"), "\(copy)")
            let file = try #require(troubles.listed.first { $0.kind == "quarantined" })
            #expect(file.subject == "\(author)/1/\(forged.lastComponent!)" && !file.reason.isEmpty && file.store == "Notes", "\(file)")
            let lost = try #require(troubles.listed.first { $0.kind == "conflict" })
            #expect(lost.subject.contains("title") && lost.reason.contains("later write"), "\(lost)")
            // Each command that is shown beside a trouble runs as it stands.
            let tools = Tool.path("ubcontrol").removingLastComponent()
            for trouble in troubles.listed {
                let shown = try await Tool.run(
                    "/bin/sh", ["-c", "PATH=\(tools):$PATH; \(trouble.remedy)"], environment: ["UBIQUITY_HOME": device.home.string])
                #expect(shown.status == (trouble.kind == "copy" ? 1 : 0) && !shown.output.isEmpty, "\(trouble.remedy): \(shown)")
            }
            let alone = try await Tool.run("ubwatch", ["conflicts", device.storeFile().string])
            #expect(alone.status == 5 && alone.output.contains("1 value that lost") && !alone.output.contains("Letter"), "\(alone)")
        }
    }

    @Test("ubwatch conflicts counts without listing where the limit is 0, and refuses one below")
    func limit() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            try await device.run("notes", "add", "Milk")
            for name in ["Letter.txt", "Letter.sync-conflict-20260102-030405-ABCDEFG.txt"] {
                try Data(name.utf8).write(to: URL(filePath: device.container.appending(name).string))
            }
            let counted = try await device.run("ubwatch", "conflicts", "--limit", "0", device.container.string)
            #expect(counted.status == 5 && counted.output.contains("1 conflict copy, 0 of them here"), "\(counted)")
            for place in [device.container.string, try device.storeFile().string] {
                let refused = try await device.run("ubwatch", "conflicts", "--limit=-1", place)
                #expect(refused.status == 64 && refused.errors.contains("--limit takes a number from 0."), "\(refused)")
            }
        }
    }

    @Test("ubwatch conflicts gives no all-clear for a store that it cannot read or that is not there: it names that, after what was found elsewhere")
    func unreadableStore() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            try await device.run("notes", "add", "Milk")
            let (container, store) = (device.container.string, try device.storeFile().string)
            let absent = device.root.appending("Absent.sqlite").string
            let gone = try await device.run("ubwatch", "conflicts", container, "--store", absent)
            #expect(gone.status == 1 && gone.errors == "Error: \(absent): there is no such store\n", "\(gone)")
            // A list that cannot be read, in a store that says how it stands all the same.
            let list = "DROP TABLE ubiquity_quarantine; CREATE TABLE ubiquity_quarantine (other TEXT); INSERT INTO ubiquity_quarantine VALUES ('x')"
            #expect(try await Tool.run("/usr/bin/sqlite3", [store, list]).status == 0)
            let alone = try await Tool.run("ubwatch", ["conflicts", store])
            #expect(alone.status == 1 && alone.output == "1 quarantined file, 0 of them here\n", "\(alone)")
            #expect(alone.errors.hasPrefix("Error: ") && alone.errors.contains(store), "\(alone)")

            for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store + suffix) }
            try Data(repeating: 7, count: 5000).write(to: URL(filePath: store))
            let known = try await device.run("ubwatch", "conflicts", container)
            #expect(known.status == 1 && known.errors.contains("\(store) cannot be read as a store"), "\(known)")
            #expect(known.output == "nothing is in conflict, held, quarantined or set aside in what can be read\n", "\(known)")
            for name in ["Letter.txt", "Letter.sync-conflict-20260102-030405-ABCDEFG.txt"] {
                try Data(name.utf8).write(to: URL(filePath: device.container.appending(name).string))
            }
            let named = try await Tool.run(
                "ubwatch", ["conflicts", container, "--json", "--store", store, "--home", device.root.appending("none").string])
            #expect(named.status == 1 && named.errors.contains("\(store) cannot be read as a store"), "\(named)")
            let troubles = try JSONDecoder().decode(WatchedFacts.Troubles.self, from: Data(named.output.utf8))
            #expect(troubles.counts == ["copy": 1] && troubles.failures.map(\.path) == [store], "\(troubles)")
        }
    }

    @Test("a directory that may not be listed is named with its path, and of all else ubwatch and the doctor tell what there is")
    func unlistable() async throws {
        try await withDevices(2) { devices in
            let device = devices[0]
            for each in devices { #expect(try await each.run("notes", "add", "Milk").status == 0) }
            #expect(try await device.list().count == 2)
            try await device.foldLogs()
            let own = try #require(try await device.watched().device.peer)
            let other = try #require(try await devices[1].watched().device.peer)
            let content = device.container.appending("CoreData/Notes")
            /// Root passes every mode: the program runs as somebody else, who may not look into a directory.
            func run(_ directory: FilePath, _ program: String, _ arguments: [String]) async throws -> Tool.Outcome {
                try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: directory.string)
                let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/env", "-u", "XDG_RUNTIME_DIR"]
                let outcome = try await Tool.run(
                    "/usr/bin/setpriv", nobody + [Tool.path(program).string] + arguments + ["--home", device.home.string])
                try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory.string)
                return outcome
            }
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .iso8601

            let hidden = content.appending(other)
            let status = try await run(hidden, "ubwatch", ["status", "--json", device.container.string])
            try #require(status.status == 0, "\(status)")
            let facts = try decoder.decode(WatchedFacts.self, from: Data(status.output.utf8))
            #expect(facts.presence == "there" && facts.reasons.contains { $0.hasPrefix("\(hidden) cannot be listed") }, "\(facts.reasons)")
            #expect(facts.stores.first?.peers.first { $0.peer == own }?.last == 1, "\(facts.stores)")
            #expect(facts.localStores.first?.files.first?.summary.records == 2, "\(facts.localStores)")
            let peers = try await run(hidden, "ubwatch", ["peers", device.container.string])
            #expect(peers.status == 1 && peers.output.contains("\(hidden) cannot be listed") && peers.output.contains("  laptop"), "\(peers)")
            let conflicts = try await run(hidden, "ubwatch", ["conflicts", device.container.string])
            #expect(conflicts.status == 1 && conflicts.errors.contains(hidden.string), "\(conflicts)")
            let wait = try await run(hidden, "ubwatch", ["wait", "--until", "imported", "--timeout", "0.2", device.container.string])
            #expect(wait.status != 0 && wait.errors.contains(hidden.string), "\(wait)")
            let doctor = try await run(hidden, "ubcontrol", ["doctor"])
            #expect(doctor.output.contains("not all of this peer's files can be inspected: \(hidden) cannot be listed"), "\(doctor)")

            let epochs = try await run(content.appending("epochs"), "ubwatch", ["status", device.container.string])
            #expect(epochs.status == 0 && epochs.output.contains("\(content)/epochs cannot be listed"), "\(epochs)")
            let marks = device.container.appending(".ubiquity")
            let whole = try await run(marks, "ubwatch", ["status", device.container.string])
            #expect(whole.status == 1 && whole.errors.contains("\(marks) cannot be listed"), "\(whole)")
        }
    }
}
