import Foundation
import Glibc
import SystemPackage
import Testing
import ToolProcesses
import Waiting

@testable import TreeWatching

/// `ubwatch events` as a process: its options, its end, and what only a process of its own can be brought to.
@Suite("ubwatch events")
struct EventsToolTests {
    @Test("W-12, W-15, W-16: --collapse and --settle combine, --exclude leaves out, and what is held back is printed at the end")
    func options() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        try stage.perform(["mkdir", "old/deep"])
        let tool = try await RunningTool("ubwatch", ["events", "--collapse", "--settle", "1h", "--exclude", "*.tmp", stage.root.string])
        var lines: [Substring] = []
        for await line in tool.lines {
            lines.append(line.split(separator: " ", maxSplits: 1)[1])
            if lines.count == 1 {
                // The tool hears of all steps of the removal at once, however long this thread takes for them.
                tool.signal(SIGSTOP)
                try await until("the tool has stopped") { ProcessFacts(tool.identifier).isStopped }
                for command in [["write", "f"], ["write", "f"], ["write", "g.tmp"], ["rmtree", "old"]] { try stage.perform(command) }
                tool.signal(SIGTERM)
                tool.signal(SIGCONT)
            }
        }
        // A removal is held back for less time than a file, so it may be told before the end.
        #expect(lines.first == "ready      \(stage.root)/")
        #expect(lines.dropFirst().sorted() == ["created    \(stage.root)/f", "removed    \(stage.root)/old/"], "\(lines)")
        #expect(try await tool.end().status == 0)
    }

    @Test(
        "--summary prints counts and rates for each directory and kind on SIGUSR1 and at the end, as objects with --json", arguments: [false, true])
    func summary(isJSON: Bool) async throws {
        let stage = try Stage()
        defer { stage.remove() }
        try stage.perform(["mkdir", "d"])
        let command = "exec \(Tool.path("ubwatch")) events --summary \(isJSON ? "--json" : "") \(stage.root) 2>&1"
        let tool = try await RunningTool("/bin/sh", ["-c", command])
        var lines: [String] = []
        for await line in tool.lines {
            if line == "ubwatch: watching \(stage.root)" {
                for command in [["mkdir", "a"], ["mkdir", "d/b"], ["mkdir", "d/c"], ["rmtree", "d/c"]] { try stage.perform(command) }
                tool.signal(isJSON ? SIGTERM : SIGUSR1)
            } else {
                lines.append(line)
                if lines.count == 1, !isJSON { tool.signal(SIGTERM) }
            }
        }
        #expect(try await tool.end().status == 0)
        if isJSON {
            let objects = try lines.map { try JSONDecoder().decode(Summary.self, from: Data($0.utf8)) }
            #expect(objects.map(\.path) == [stage.root.string + "/d", stage.root.string])
            #expect(objects.map(\.total) == [3, 1])
            #expect(objects[0].kinds.mapValues(\.count) == ["created": 2, "removed": 1])
            #expect(objects.allSatisfy { $0.perSecond > 0 && $0.kinds.values.allSatisfy { $0.perSecond > 0 } })
        } else {
            // Once when it was asked for, and once at the end.
            #expect(lines.count { $0.contains(" changes in ") } == 2)
            #expect(lines.suffix(4).first?.hasPrefix("4 changes in ") == true)
            let table = lines.suffix(3).map { $0.replacing(/\([0-9.]+\/s\)/, with: "").split(separator: " ").joined(separator: " ") }
            #expect(table == ["total created removed directory", "3 2 1 \(stage.root)/d", "1 1 - \(stage.root)"])
        }
    }

    private struct Summary: Decodable {
        struct Count: Decodable {
            var count: Int
            var perSecond: Double
        }

        var path: String
        var total: Int
        var perSecond: Double
        var kinds: [String: Count]
    }

    @Test("W-07: a root that is unmounted is lost, and what stands at its path then is found")
    func unmounted() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let script = """
            mount -t tmpfs none \(stage.root) && echo x > \(stage.root)/f && mkfifo \(stage.outside)/lines || exit
            \(Tool.path("ubwatch")) events \(stage.root) > \(stage.outside)/lines & P=$!
            while read -r line; do
                echo "$line"
                case "$line" in *" ready "*) umount \(stage.root);; *" rescanned "*) kill $P;; esac
            done < \(stage.outside)/lines
            wait $P
            """
        let outcome = try await Tool.run("/usr/bin/unshare", ["-Urm", "/bin/sh", "-c", script])
        let kinds = outcome.output.split(separator: "\n").map { $0.split(separator: " ")[1] }
        #expect(kinds == ["ready", "rootLost", "rootBack", "removed", "rescanned"], "\(outcome)")
        #expect(outcome.output.contains("(unmounted)"))
        #expect(outcome.status == 0)
    }

    @Test("W-07: a root that is unmounted while a file of it is open is lost at once, and is back when it is mounted again")
    func unmountedLazily() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        // Neither raises an event of inotify: the file system lives on without a place, and a mount changes no directory.
        let script = """
            mkdir \(stage.root)/m \(stage.outside)/kept && echo x > \(stage.outside)/kept/f && mkfifo \(stage.outside)/lines || exit
            mount -t tmpfs none \(stage.root)/m && mkdir \(stage.root)/m/tree && exec 9> \(stage.root)/m/open || exit
            \(Tool.path("ubwatch")) events \(stage.root)/m/tree > \(stage.outside)/lines & P=$!
            while read -r line; do
                echo "$line"
                case "$line" in
                *" ready "*) umount -l \(stage.root)/m;;
                *" rootLost "*) mkdir \(stage.outside)/kept/tree && mount --bind \(stage.outside)/kept \(stage.root)/m;;
                *" rescanned "*) kill $P;;
                esac
            done < \(stage.outside)/lines
            wait $P
            """
        let outcome = try await Tool.run("/usr/bin/unshare", ["-Urm", "/bin/sh", "-c", script])
        let kinds = outcome.output.split(separator: "\n").map { $0.split(separator: " ")[1] }
        #expect(kinds == ["ready", "rootLost", "rootBack", "rescanned"], "\(outcome)")
        #expect(outcome.output.contains("(unmounted)"))
        #expect(outcome.status == 0)
    }

    @Test("W-07: a root that may not be read is refused, with the reason and what to do")
    func unreadableRoot() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        try stage.perform(["chmod", "700", "."])
        let outcome = try await unprivileged(["events", stage.root.string])
        #expect(outcome.status == 1)
        #expect(outcome.errors == "Error: cannot watch \(stage.root): permission denied; make it readable (r and x) for this user\n")
    }

    @Test("W-09: a directory that may not be read is warned of once, and the rest is watched")
    func unreadableDirectory() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        chmod(stage.top.string, 0o755)
        try stage.perform(["mkdir", "closed/deep"])
        try stage.perform(["mkdir", "open"])
        try stage.perform(["chmod", "700", "closed"])
        let tool = try await RunningTool("/usr/bin/setpriv", Self.nobody + [Tool.path("ubwatch").string, "events", stage.root.string])
        for await line in tool.lines {
            if line.contains(" ready ") { try stage.perform(["write", "open/f"]) }
            if line.contains(" created ") { break }
        }
        let end = try await tool.stop()
        #expect(end.status == 0)
        #expect(end.errors.split(separator: "\n").count == 1)
        #expect(end.errors.contains("cannot watch \(stage.root)/closed: permission denied"))
    }

    @Test("W-09: without inotify instances it ends with the limit's name")
    func instanceLimit() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let script = "echo 0 > /proc/sys/user/max_inotify_instances && exec \(Tool.path("ubwatch")) events \(stage.root)"
        let outcome = try await Tool.run("/usr/bin/unshare", ["-Ur", "/bin/sh", "-c", script])
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("fs.inotify.max_user_instances"))
    }

    @Test("W-09: without descriptors a directory is warned of, and listed when there are some again")
    func descriptorLimit() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        try stage.perform(["mkdir", "/d"])
        try stage.perform(["write", "/d/f"])
        let tool = try await RunningTool("ubwatch", ["events", stage.root.string])
        var created: [String] = []
        for await line in tool.lines {
            if line.contains(" ready ") {
                // No descriptor below those in use is free to be opened.
                let limit = try await Tool.run("/usr/bin/prlimit", ["--pid", "\(tool.identifier)", "--nofile=3:"])
                #expect(limit.status == 0)
                try stage.perform(["mv", "/d", "d"])
            }
            if line.contains(" created ") { created.append(String(line.split(separator: "/").last!)) }
            if created.count == 1 { _ = try await Tool.run("/usr/bin/prlimit", ["--pid", "\(tool.identifier)", "--nofile=1024:"]) }
            if created.count == 2 { break }
        }
        #expect(created == ["d", "f"])
        let end = try await tool.stop()
        #expect(end.status == 0)
        #expect(end.errors.split(separator: "\n").count == 1 && end.errors.contains("ulimit -n"))
    }

    @Test("W-19: the helper of libinotifytools ends with the process that started it, however that ends", .timeLimit(.minutes(40)))
    func helperEnds() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let tool = try await RunningTool("ubwatch", ["events", "--source", "inotifytools", stage.root.string])
        for await line in tool.lines where line.contains(" ready ") {
            #expect(ProcessFacts(tool.identifier).children.count == 1)
            tool.signal(SIGKILL)
        }
        // The helper has inherited standard error, so this returns when both have ended.
        #expect(try await tool.end().signal == SIGKILL)
    }

    @Test("W-19: when the helper ends, that is an error, and so is the status")
    func helperIsGone() async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let tool = try await RunningTool("ubwatch", ["events", "--source", "inotifytools", stage.root.string])
        var last = ""
        for await line in tool.lines {
            if line.contains(" ready ") { kill(try #require(ProcessFacts(tool.identifier).children.first), SIGKILL) }
            last = line
        }
        #expect(last.hasSuffix("(unwatchable)"))
        let end = try await tool.end()
        #expect(end.status == 1)
        #expect(end.errors.contains("inotifytools-source ended"))
    }

    // MARK: Inside

    private static let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"]

    private func unprivileged(_ arguments: [String]) async throws -> Tool.Outcome {
        try await Tool.run("/usr/bin/setpriv", Self.nobody + [Tool.path("ubwatch").string] + arguments)
    }
}
