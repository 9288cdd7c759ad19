import Foundation
import Glibc
import SystemPackage
import Testing
import ToolProcesses
import Waiting

/// A program as it is written for Apple's systems, in processes that share a broker.
@Suite(.timeLimit(.minutes(40))) struct PortedTests {
    private func withScene(_ body: (BrokerScene) async throws -> Void) async throws { try await withPlayers(0) { scene, _ in try await body(scene) } }

    private func ported(_ scene: BrokerScene, _ arguments: String...) async throws -> Tool.Outcome {
        try await Tool.run("ported", arguments, environment: scene.environment)
    }

    private func present(_ scene: BrokerScene, _ path: String, _ options: String...) async throws -> Ported {
        let presenter = try await Ported(scene.directory, scene.environment, ["present", path] + options)
        try await presenter.expect("presenting")
        return presenter
    }

    @discardableResult private func file(_ scene: BrokerScene, _ name: String, _ text: String = "text") throws -> String {
        let url = URL(filePath: scene.path(name))
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
        return url.path
    }

    private func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    /// Returns once so many claims wait for others.
    private func queued(_ scene: BrokerScene, _ count: Int) async throws {
        struct Claims: Decodable {
            struct Claim: Decodable { let state: String }
            let claims: [Claim]
        }
        try await until("\(count) claims are queued") {
            let listing = try await scene.control("claims", "--json").output
            return try JSONDecoder().decode(Claims.self, from: Data(listing.utf8)).claims.count { $0.state == "queued" } == count
        }
    }

    // MARK: Messages

    @Test("D-01, D-02: a presenter in another process saves for a reader, gives way to a writer, and follows a move, in Cocoa's order")
    func messages() async throws {
        try await withScene { scene in
            let (path, new) = (try file(scene, "Letter.txt", "old"), scene.path("Note.txt"))
            let presenter = try await present(scene, path, "--unsaved", "new")
            #expect(try await ported(scene, "read", path).output == "new\n")
            try await presenter.expect("relinquish to reader", "save", "reacquire from reader")
            #expect(try await ported(scene, "write", path, "newer").status == 0)
            try await presenter.expect("relinquish to writer", "changed", "reacquire from writer")
            #expect(try await ported(scene, "read", path).output == "newer\n")
            try await presenter.expect("relinquish to reader", "save", "reacquire from reader")
            #expect(try await ported(scene, "move", path, new).status == 0)
            try await presenter.expect("relinquish to writer", "moved to Note.txt", "reacquire from writer")
            #expect(try await ported(scene, "delete", new).status == 0)
            try await presenter.expect("relinquish to writer", "accommodate deletion", "changed", "reacquire from writer")
            #expect(try await presenter.end().status == 0)
        }
    }

    @Test("D-02: a presenter of a directory in another process hears of what appears, changes, moves within, out and in, and goes")
    func directory() async throws {
        try await withScene { scene in
            try file(scene, "folder/first.txt")
            let (a, b, outside) = (scene.path("folder/a.txt"), scene.path("folder/b.txt"), scene.path("c.txt"))
            let presenter = try await present(scene, scene.path("folder"))
            #expect(try await ported(scene, "write", a, "a").status == 0)
            try await presenter.expect("appeared a.txt")
            #expect(try await ported(scene, "write", a, "b").status == 0)
            try await presenter.expect("changed a.txt")
            // What is moved to a name may replace an item there.
            #expect(try await ported(scene, "move", a, b).status == 0)
            try await presenter.expect("accommodate deletion of b.txt", "moved a.txt to b.txt")
            #expect(try await ported(scene, "move", b, outside).status == 0)
            try await presenter.expect("moved b.txt to c.txt")
            #expect(try await ported(scene, "move", outside, a).status == 0)
            try await presenter.expect("accommodate deletion of a.txt", "appeared a.txt")
            #expect(try await ported(scene, "delete", a).status == 0)
            try await presenter.expect("accommodate deletion of a.txt", "changed a.txt")
            #expect(try await presenter.end().status == 0)
        }
    }

    @Test("D-02: a presenter in another process follows the directory around its item, and is asked before that is deleted")
    func surroundings() async throws {
        try await withScene { scene in
            let path = try file(scene, "folder/a.txt")
            let presenter = try await present(scene, path)
            #expect(try await ported(scene, "move", scene.path("folder"), scene.path("other")).status == 0)
            try await presenter.expect("relinquish to writer", "moved to a.txt", "reacquire from writer")
            #expect(try await ported(scene, "write", scene.path("other/a.txt"), "new").status == 0)
            try await presenter.expect("relinquish to writer", "changed", "reacquire from writer")
            #expect(try await ported(scene, "delete", scene.path("other")).status == 0)
            try await presenter.expect("relinquish to writer", "accommodate deletion", "changed", "reacquire from writer")
            #expect(try await presenter.end().status == 0)
        }
    }

    @Test("D-02: an error of a presenter reaches the process whose access it refuses, with its domain, its code and its words")
    func refusal() async throws {
        try await withScene { scene in
            let path = try file(scene, "Letter.txt", "old")
            let presenter = try await present(scene, path, "--refuse")
            let outcome = try await ported(scene, "read", path)
            let code = CocoaError.Code.fileWriteVolumeReadOnly.rawValue
            #expect(outcome.status == 1 && outcome.output == "" && outcome.errors.contains("\(NSCocoaErrorDomain) \(code)"), "\(outcome)")
            #expect(outcome.errors.contains("The letter is on a shelf."), "\(outcome)")
            try await presenter.expect("relinquish to reader", "save", "reacquire from reader")
            #expect(try await presenter.end().status == 0)
        }
    }

    @Test("D-02: a presenter's own accesses tell it nothing, and one goes before the other process's that waits for it, from any thread")
    func ownAccesses() async throws {
        try await withScene { scene in
            let path = try file(scene, "Letter.txt", "old")
            let presenter = try await present(scene, path, "--elsewhere", "--unsaved", "new")
            #expect(try await ported(scene, "read", path).output == "new\n")
            try await presenter.expect("relinquish to reader", "save", "reacquire from reader")
            try presenter.say("write own")
            try await presenter.expect("wrote")
            #expect(try await ported(scene, "read", path).output == "own\n")
            try await presenter.expect("relinquish to reader", "save", "reacquire from reader")
            #expect(try await presenter.end().status == 0)
        }
    }

    @Test("D-02: a package's presenter without the methods of subitems hears of another process's change in it as of the package's")
    func coarse() async throws {
        try await withScene { scene in
            for (name, expected) in [("p.rtfd", ["changed", "save"]), ("plain", ["save"])] {
                let path = try file(scene, "\(name)/a.txt")
                let presenter = try await present(scene, scene.path(name), "--coarse")
                #expect(try await ported(scene, "write", path, "new").status == 0)
                // It asks the presenter behind what was told.
                let prepared = try await Ported(scene, "prepare", scene.path(name), "--hold")
                try await prepared.expect("holding")
                var told = try await presenter.until("save")
                while told.starts(with: ["changed", "changed"]) { told.removeFirst() }
                #expect(told == expected)
                _ = try await prepared.end()
                #expect(try await presenter.end().status == 0)
            }
        }
    }

    @Test("D-02: a presenter that is released without being removed delays no other process, and agrees to everything")
    func released() async throws {
        try await withScene { scene in
            let path = try file(scene, "Letter.txt", "old")
            let presenter = try await present(scene, path, "--refuse")
            try presenter.say("release")
            try await presenter.expect("released")
            #expect(try await ported(scene, "read", path).output == "old\n")
            #expect(try await ported(scene, "delete", path).status == 0)
            #expect(!FileManager.default.fileExists(atPath: path))
            let outcome = try await presenter.end()
            #expect(outcome.status == 0 && outcome.output == "")
        }
    }

    @Test("D-02: a deletion without coordination is told to a presenter in another process")
    func disappearing() async throws {
        try await withScene { scene in
            let path = try file(scene, "Letter.txt")
            let presenter = try await present(scene, path)
            #expect(unlink(path) == 0)
            try await presenter.expect("disappeared")
            #expect(try await presenter.end().status == 0)
        }
    }

    // MARK: Presenters that do not answer

    @Test("D-02: a presenter in another process that never answers is named, and cancel() ends the wait; nothing is lost")
    func neverAnswers() async throws {
        try await withScene { scene in
            let path = try file(scene, "Letter.txt", "old")
            let presenter = try await present(scene, path, "--silent")
            let reader = try await Ported(scene, "read", path, "--cancel")
            try await presenter.expect("relinquish to reader", "save")
            try await scene.isAsking()
            let why = try await scene.control("why", path)
            #expect(why.status == 1 && why.output.contains("by process \(presenter.tool.identifier)"), "\(why)")
            #expect(why.output.contains("has not answered"), "\(why)")
            try reader.say("cancel")
            let outcome = try await reader.end()
            #expect(outcome.status == 1 && outcome.output == "" && outcome.errors.contains("\(NSCocoaErrorDomain) 3072"), "\(outcome)")
            #expect(try text(path) == "old")
            // The message after the question comes after its answer.
            try presenter.say("answer")
            try await presenter.expect("answering", "reacquire from reader")
            #expect(try await presenter.end().status == 0)
        }
    }

    @Test("D-02: a presenter in another process whose queue is suspended delays an access until the queue goes on; nothing is lost")
    func suspendedQueue() async throws {
        try await withScene { scene in
            let path = try file(scene, "Letter.txt", "old")
            let presenter = try await present(scene, path, "--suspended")
            let cancelled = try await Ported(scene, "read", path, "--cancel")
            try await scene.isAsking()
            try cancelled.say("cancel")
            #expect(try await cancelled.end().errors.contains("\(NSCocoaErrorDomain) 3072"))
            let reader = try await Ported(scene, "read", path)
            try await scene.isAsking()
            try presenter.say("resume")
            try await reader.expect("old")
            #expect(try await reader.end().status == 0)
            for _ in 0..<2 { try await presenter.expect("relinquish to reader", "save", "reacquire from reader") }
            #expect(try await presenter.end().status == 0)
        }
    }

    // MARK: Accesses

    @Test("D-02: accesses of one purpose in two processes do not wait for each other, and others do")
    func purposes() async throws {
        try await withScene { scene in
            let path = try file(scene, "Letter.txt", "old")
            let holder = try await Ported(scene, "write", path, "outer", "--hold", "--purpose", "org.example.shared")
            try await holder.expect("holding")
            #expect(try await ported(scene, "write", path, "inner", "--purpose", "org.example.shared").status == 0)
            #expect(try text(path) == "inner")
            let other = try await Ported(scene, "read", path)
            try await scene.isQueued()
            try holder.say("go on")
            #expect(try await holder.end().status == 0)
            try await other.expect("outer")
            #expect(try await other.end().status == 0)
        }
    }

    @Test("D-02: an access that waits while another process moves its item gets the new URL, once, on the calling thread")
    func waitsForMove() async throws {
        try await withScene { scene in
            let (path, new) = (try file(scene, "Letter.txt"), scene.path("Note.txt"))
            let mover = try await Ported(scene, "move", path, new, "--hold")
            try await mover.expect("holding")
            let reader = try await Ported(scene, "read", path)
            try await scene.isQueued()
            try mover.say("go on")
            // It reads what is at the URL that it gets, once, on the thread that has called.
            try await reader.expect("text")
            let outcome = try await reader.end()
            #expect(outcome.status == 0 && outcome.output == "", "\(outcome)")
            #expect(try await mover.end().status == 0)
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test("D-02: two processes that claim two items in opposite order, each at once, both get through")
    func crossing() async throws {
        try await withScene { scene in
            let (one, two) = (try file(scene, "one.txt", "1"), try file(scene, "two.txt", "2"))
            let holder = try await Ported(scene, "write", one, "held", "--hold")
            try await holder.expect("holding")
            let there = try await Ported(scene, "copy", one, two)
            try await queued(scene, 1)
            let back = try await Ported(scene, "copy", two, one)
            try await queued(scene, 2)
            try holder.say("go on")
            #expect(try await holder.end().status == 0)
            for copier in [there, back] { #expect(try await copier.end().status == 0) }
            #expect(try text(one) == "held" && text(two) == "held")
        }
    }

    @Test("D-02: a nested access that would wait for itself fails with NSFileLockingError, also where the wait leads through another process")
    func nested() async throws {
        try await withScene { scene in
            let (one, two) = (try file(scene, "one.txt"), try file(scene, "two.txt"))
            let presenter = try await present(scene, scene.path(""))
            let alone = try await ported(scene, "nested", one, one)
            #expect(alone.status == 1 && alone.errors.contains("\(NSCocoaErrorDomain) 255") && alone.errors.contains(one), "\(alone)")
            let (first, second) = (try await Ported(scene, "nested", one, two, "--hold"), try await Ported(scene, "nested", two, one, "--hold"))
            try await first.expect("holding")
            try await second.expect("holding")
            try first.say("go on")
            try await scene.isQueued()
            try second.say("go on")
            // The youngest access of the cycle fails, and the other goes on.
            let failed = try await second.end()
            #expect(failed.status == 1 && failed.errors.contains("\(NSCocoaErrorDomain) 255"), "\(failed)")
            #expect(try await first.end().status == 0)
            #expect(try await presenter.end().status == 0)
        }
    }

    @Test("D-02: prepare asks presenters of the items and of what is inside them, in other processes, once, and keeps no process waiting")
    func preparing() async throws {
        try await withScene { scene in
            let (path, inside) = (try file(scene, "Letter.txt", "old"), try file(scene, "folder/a.txt"))
            let presenters = [try await present(scene, path, "--unsaved", "new"), try await present(scene, inside)]
            let batch = try await Ported(scene, "prepare", path, scene.path("folder"), "--hold")
            try await batch.expect("holding")
            for presenter in presenters { try await presenter.expect("save") }
            // The preparation claims nothing.
            #expect(try await ported(scene, "write", scene.path("folder/b.txt"), "b").status == 0)
            #expect(try await ported(scene, "write", inside, "other").status == 0)
            try await presenters[1].expect("relinquish to writer", "changed", "reacquire from writer")
            try batch.say("go on")
            try await batch.expect("new")
            // Nobody is asked to save once more.
            try await presenters[0].expect("relinquish to reader", "reacquire from reader")
            _ = try await batch.end()
            for presenter in presenters { #expect(try await presenter.end().status == 0) }
        }
    }

    // MARK: Versions

    @Test("D-02: versions that come and go beside an item are told to a presenter in another process, the lost one with its value")
    func versions() async throws {
        try await withScene { scene in
            let path = try file(scene, "Letter.txt", "old")
            let presenter = try await present(scene, path)
            let copy = try file(scene, "Letter.sync-conflict-20260102-030405-ABCDEFG.txt", "other")
            try await presenter.expect("gained a version of ABCDEFG")
            #expect(unlink(copy) == 0)
            try await presenter.expect("lost a version of ABCDEFG")
            #expect(try await presenter.end().status == 0)
        }
    }

    @Test("D-02: a process that resolves a conflict has the presenter in another one relinquish, which then hears of the version")
    func resolving() async throws {
        try await withScene { scene in
            let path = try file(scene, "Letter.txt", "ours")
            let presenter = try await present(scene, path)
            try file(scene, "Letter.sync-conflict-20260102-030405-ABCDEFG.txt", "theirs")
            try await presenter.expect("gained a version of ABCDEFG")
            let outcome = try await ported(scene, "resolve", path)
            #expect(outcome.status == 0, "\(outcome)")
            #expect(try text(path) == "theirs")
            #expect(try await presenter.until("lost a version of ABCDEFG").contains("relinquish to writer"))
            #expect(try await presenter.end().status == 0)
        }
    }

    // MARK: Queries

    @Test("D-03: a query gathers, and then shows what another process writes, with its notifications in Cocoa's order")
    func query() async throws {
        try await withScene { scene in
            let (home, root) = (scene.directory.appending("home").string, scene.directory.appending("root").string)
            try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
            let environment = scene.environment.merging(["UBIQUITY_HOME": home]) { $1 }
            #expect(try await Tool.run("ubcontrol", ["sign-in", "alice", "--containers", root], environment: environment).status == 0)
            try Data(#"{"format":1,"containers":["org.example.ported"]}"#.utf8).write(to: URL(filePath: "\(home)/config.json"))
            let documents = try await Tool.run("ported", ["documents"], environment: environment).output.trimmingCharacters(in: .newlines)
            try Data().write(to: URL(filePath: "\(documents)/a.txt"))
            let query = try await Ported(scene.directory, environment, ["query"])
            try await query.expect("started", "finished a.txt")
            #expect(try await Tool.run("ported", ["write", "\(documents)/b.txt", "b"], environment: environment).status == 0)
            #expect(Set(try await query.until("updated a.txt b.txt")).isSubset(of: ["updated a.txt", "updated a.txt b.txt"]))
            #expect(try await Tool.run("ported", ["delete", "\(documents)/a.txt"], environment: environment).status == 0)
            #expect(Set(try await query.until("updated b.txt")).isSubset(of: ["updated a.txt b.txt", "updated b.txt"]))
            #expect(try await query.end().status == 0)
        }
    }
}
