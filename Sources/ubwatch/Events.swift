import ArgumentParser
import CLinux
import Dispatch
import Glibc
import Synchronization
import SystemPackage
import ToolSupport
import TreeWatching

/// `ubwatch events`: one line a change.
struct EventsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events",
        abstract: "Print every change below directories, one line each, until interrupted.",
        discussion: """
            OUTPUT
            A line is the time (UTC), what happened, and the path, with a slash behind directories. The first line of each DIRECTORY is "ready": \
            everything below it is watched. Then come created, modified, removed, moved (OLD -> NEW), modified (OLD -> NEW) where a file was renamed \
            over another, and attributes. Markers: overflow and rescanned (events were lost; the differences stand between them), rootLost with the reason \
            and rootBack (DIRECTORY itself). In names, control characters, backslashes and what is not UTF-8 are escapes: \\n, \\t, \\\\, \\xNN.

            Several directories share one inotify instance and one order of changes, for instance a container and the CoreDataUbiquitySupport \
            directory beside a store.

            Nothing is lost below directories that are created, moved in or renamed, nor when the kernel's queue overflows. What cannot be watched is \
            named in a warning and looked through every second. Symbolic links below a directory are not followed. Writes through mmap(2), and changes \
            that other machines make to a network file system, raise no event.

            SIGNALS AND STATUS
            SIGINT, SIGTERM and SIGHUP end it, after what happened before is printed; SIGUSR1 prints the summary so far. The status is 0 then and when \
            nobody reads the output any more; 1 where a directory cannot be watched, or the helper of --source inotifytools ended; 64 for wrong usage, or \
            where a directory is not there.

            EXAMPLES
            ubwatch events ~/Documents
            ubwatch events --collapse --settle 500ms --exclude '*.tmp' --exclude .git/ ~/Documents
            ubwatch events --json ~/Documents | jq -r 'select(.kind == "removed").path'
            timeout 60 ubwatch events --summary ~/Documents
            """)

    @Argument(help: "The directories to watch.", completion: .directory)
    var directories: [String]

    @Flag(name: .long, help: "One JSON object a line: tick, time, kind, path, from, isDirectory; pathBytes (base64) where a name is not UTF-8.")
    var json = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Leave out entries whose name matches; with a slash inside, whose path from DIRECTORY matches; with one at the end, directories. May be given again.",
            valueName: "glob"))
    var exclude: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp("Report a file when it was quiet for that long, or after ten times that at most: 250ms, 2s, 1m.", valueName: "duration"))
    var settle: DurationArgument?

    @Flag(name: .long, help: "One line for what belongs together: create + write + close; a removed directory and all below it.")
    var collapse = false

    @Flag(name: .long, help: "Also report changes of permissions, owner and times.")
    var attributes = false

    @Flag(name: .long, help: "Print counts and rates for each directory and kind at the end and on SIGUSR1, instead of the changes.")
    var summary = false

    @Option(name: .long, help: "Where raw events come from: kernel, or inotifytools (through its helper program).")
    var source = EventsSource.kernel

    func run() throws {
        clinux_return_large_blocks()
        var options = TreeWatcher.Options()
        options.exclude = exclude
        options.collapses = collapse
        options.attributes = attributes
        if let settle { options.settling = .init(quiet: settle.value) }
        if source == .inotifytools { options.source = .inotifytools(helper: EventsSource.helper) }
        let end = EventsEnd()
        options.diagnostics = { error in
            printError("ubwatch: warning: \(error.message)".printable)
            if error.code == .sourceFailed { end.come(status: 1) }
        }

        signal(SIGPIPE, SIG_IGN)
        let output = EventsOutput()
        let printer: any EventsPrinter = summary ? EventsSummary(json: json) : EventsLines(json: json)
        // Signals are set up first, so that one that comes while the tree is scanned ends the program cleanly too.
        let signals = SignalHandlers(SignalHandlers.ends + [SIGUSR1]) { number in
            if number == SIGUSR1 { output.write(printer.summarise()) } else { end.come(status: 0) }
        }
        output.onGone = { end.come(status: 0) }
        let isQuiet = summary
        let watchers = try watch(options) { batch in
            // A reader of the lines wakes up too, and may interrupt the writer: the usual time slices serve a pipe
            // better.
            if batch.contains(where: { $0.kind == .ready }) { _ = clinux_shorten_slices(0) }
            // A summary has no line that tells that everything is watched.
            if isQuiet { for change in batch where change.kind == .ready { printError("ubwatch: watching \(change.path)".printable) } }
            output.write(printer.lines(for: batch))
        }
        let status = end.wait()
        if status == 0 { end.settle(watchers) }
        for watcher in watchers { watcher.close() }
        output.write(printer.summarise())
        output.finish()
        withExtendedLifetime(signals) {}
        if status != 0 { throw ExitCode(status) }
    }

    private func watch(_ options: TreeWatcher.Options, _ body: @escaping @Sendable (TreeChangeBatch) -> Void) throws -> [TreeWatcher] {
        do throws(TreeWatchingError) {
            var watchers: [TreeWatcher] = []
            for directory in directories {
                let watcher = try TreeWatcher(FilePath(directory), options: options)
                watcher.tap(body)
                watchers.append(watcher)
            }
            return watchers
        } catch {
            throw Refusal(error.message.printable, status: error.code == .notFound ? ToolExit.usage : ToolExit.failure)
        }
    }
}

/// Waited for until a signal, or the end of the reader or of the source.
final class EventsEnd: Sendable {
    private let status = Mutex<Int32?>(nil)
    private let semaphore = DispatchSemaphore(value: 0)

    /// The first status counts.
    func come(status: Int32) {
        self.status.withLock { $0 = $0 ?? status }
        semaphore.signal()
    }

    func wait() -> Int32 {
        semaphore.wait()
        return status.withLock { $0 ?? 0 }
    }

    /// Has what happened so far reported, held-back changes included.
    ///
    /// Another signal ends the wait, or ten seconds do, as where a file system does not answer.
    func settle(_ watchers: [TreeWatcher]) {
        let task = Task { [semaphore] in
            for watcher in watchers { try? await watcher.settled() }
            semaphore.signal()
        }
        _ = semaphore.wait(timeout: .now() + 10)
        task.cancel()
    }
}

/// The event sources by name.
enum EventsSource: String, ExpressibleByArgument, CaseIterable {
    case kernel, inotifytools

    /// The helper program stands beside this one.
    static var helper: FilePath {
        var buffer = [CChar](repeating: 0, count: 4_096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        let here = count > 0 ? FilePath(platformString: buffer).removingLastComponent() : "."
        return here.appending("inotifytools-source")
    }
}
