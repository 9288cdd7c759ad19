import SystemPackage
import Testing
import ToolProcesses

@testable import TreeWatching

/// Each script runs on the disk and in memory, over the kernel's events and over libinotifytools'.
@Suite("Scripts over real file systems")
struct ScriptTests {
    private static let rows: Set<Substring> = [
        "W-01", "W-02", "W-03", "W-04", "W-05", "W-07", "W-08", "W-10", "W-11", "W-12", "W-15", "W-16",
    ]

    @Test("W-01: what is written in directories created a moment before is reported", arguments: try WatchScript.all("W-01"))
    func deepCreation(_ script: WatchScript) async throws { try await runEverywhere(script) }

    @Test("W-02: a tree moved in is reported whole, a tree moved out is removed and silent", arguments: try WatchScript.all("W-02"))
    func moveInAndOut(_ script: WatchScript) async throws { try await runEverywhere(script) }

    @Test("W-03: two moves that cross never pair", arguments: try WatchScript.all("W-03"))
    func crossedMoves(_ script: WatchScript) async throws { try await runEverywhere(script) }

    @Test("W-04: below a renamed directory events carry the new path", arguments: try WatchScript.all("W-04"))
    func renamedDirectories(_ script: WatchScript) async throws { try await runEverywhere(script) }

    @Test("W-05: an exchange is two moves", arguments: try WatchScript.all("W-05"))
    func exchanges(_ script: WatchScript) async throws { try await runEverywhere(script) }

    @Test("W-07: a lost root is reported with the reason, and its return with the differences", arguments: try WatchScript.all("W-07"))
    func rootLossAndReturn(_ script: WatchScript) async throws { try await runEverywhere(script) }

    @Test("W-08: a directory removed and created again is never deaf", arguments: try WatchScript.all("W-08"))
    func recreation(_ script: WatchScript) async throws { try await runEverywhere(script) }

    @Test("W-10: names are reported byte for byte", arguments: try WatchScript.all("W-10"))
    func names(_ script: WatchScript) async throws { try await runEverywhere(script) }

    @Test("W-11: symbolic links are not followed, and each hard link is its own entry", arguments: try WatchScript.all("W-11"))
    func links(_ script: WatchScript) async throws { try await runEverywhere(script) }

    @Test("W-12: a change is one event for a reader who wants it so", arguments: try WatchScript.all("W-12"))
    func oneChange(_ script: WatchScript) async throws { try await runEverywhere(script) }

    @Test("W-15: settling joins what belongs together and is cut short by a barrier", arguments: try WatchScript.all("W-15"))
    func settling(_ script: WatchScript) async throws { try await runEverywhere(script) }

    @Test("W-16: a removed tree is one removal of its top, or told in full", arguments: try WatchScript.all("W-16"))
    func removedTrees(_ script: WatchScript) async throws { try await runEverywhere(script) }

    /// A script of a row without a test of its own, or of no row, is run here, so that adding a case is adding a file.
    @Test("Other scripts: exclusion, attributes and whatever is added", arguments: try WatchScript.all(besides: rows))
    func others(_ script: WatchScript) async throws { try await runEverywhere(script) }

    @Test("W-19: the whole suite of scripts passes over libinotifytools as over the kernel", arguments: Stage.places)
    func bothSources(_ place: FilePath) async throws {
        for script in try WatchScript.all() { try await script.run(in: place, source: .inotifytools(helper: Tool.path("inotifytools-source"))) }
    }

    @Test("A row without a script is an error, and no row passes with nothing to run")
    func noScript() throws {
        #expect(throws: ScriptError.self) { try WatchScript.all("W-99") }
        #expect(throws: ScriptError.self) { try WatchScript.all(besides: Set(try WatchScript.all().map(\.row))) }
        for row in Self.rows { #expect(try !WatchScript.all(String(row)).isEmpty) }
    }

    private func runEverywhere(_ script: WatchScript) async throws {
        for place in Stage.places { try await script.run(in: place, source: .kernel) }
    }
}
