import Foundation
import Glibc
import SystemPackage

/// A program that prints a line for each change, used as a subject of the benchmarks.
struct WatchingTool: Sendable {
    let name: String
    /// Returns the program and its arguments for a directory.
    let command: @Sendable (FilePath) -> [String]
    /// The text, in a line or in the diagnostics, that tells that everything is watched.
    let readyText: String
    let readyOnErrors: Bool
    /// Whether a line is a JSON object with many names in an array `files`.
    var listsNames = false
    /// Whether stopping the process that was started stops the watching.
    var canBeStopped = true

    static let bare = WatchingTool(name: "bare C loop", command: { [bareProgram.string, $0.string] }, readyText: "ready", readyOnErrors: false)
    static let ours = WatchingTool(
        name: "ubwatch", command: { [beside("ubwatch"), "events", $0.string] }, readyText: " ready ", readyOnErrors: false)
    static let helper = WatchingTool(
        name: "ubwatch over libinotifytools", command: { [beside("ubwatch"), "events", "--source", "inotifytools", $0.string] }, readyText: " ready ",
        readyOnErrors: false)

    /// The other tools that are installed.
    static var others: [WatchingTool] {
        var tools: [WatchingTool] = []
        if let program = find("inotifywait") {
            tools.append(
                WatchingTool(
                    name: "inotifywait",
                    command: { [program, "-m", "-r", "-e", "create,modify,close_write,move,delete", "--format", "%w%f", $0.string] },
                    readyText: "Watches established", readyOnErrors: true))
        }
        if let program = find("fswatch") {
            // The tool has no message for readiness; it counts as ready after a second of silence.
            tools.append(
                WatchingTool(name: "fswatch", command: { [program, "-r", "-m", "inotify_monitor", $0.string] }, readyText: "", readyOnErrors: false))
        }
        if let program = find("watchman") { tools.append(watchman(program)) }
        return tools
    }

    /// A server beside the tree, and a client that subscribes to it.
    private static func watchman(_ program: String) -> WatchingTool {
        let script = """
            S=$1-watchman; mkdir -p "$S"
            W="$0 --sockname=$S/socket --statefile=$S/state --pidfile=$S/pid --logfile=$S/log"
            $W --foreground & P=$!
            trap 'kill $P $C; wait; rm -rf "$S"; exit' TERM
            until $W --no-spawn watch "$1" > /dev/null 2>&1; do :; done
            echo '["subscribe", "'"$1"'", "bench", {"fields": ["name"]}]' | $W --no-spawn -j -p --no-pretty & C=$!
            wait
            """
        return WatchingTool(
            name: "watchman", command: { ["/bin/sh", "-c", script, program, $0.string] }, readyText: "\"subscribe\"", readyOnErrors: false,
            listsNames: true, canBeStopped: false)
    }

    static func beside(_ name: String) -> String {
        FilePath((try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "").removingLastComponent().appending(name).string
    }

    static func find(_ name: String) -> String? {
        ["/usr/bin/", "/usr/local/bin/"].map { $0 + name }.first { access($0, X_OK) == 0 }
    }

    /// The reference program, compiled beside this one from `Tools/Reference`.
    private static let bareProgram: FilePath = {
        let source = FilePath(#filePath).removingLastComponent().removingLastComponent().removingLastComponent().appending("Reference")
        let program = FilePath(beside("bare-inotify"))
        let compiler = Process()
        compiler.executableURL = URL(filePath: "/usr/bin/env")
        compiler.arguments = [
            "cc", "-O2", "-I", source.appending("include").string, "-o", program.string, source.appending("bare-inotify.c").string,
            source.appending("main.c").string, "-lpthread",
        ]
        do {
            try compiler.run()
            compiler.waitUntilExit()
        } catch {
            fatalError("cannot compile \(source): \(error)")
        }
        precondition(compiler.terminationStatus == 0, "cc failed on \(source)")
        return program
    }()
}
