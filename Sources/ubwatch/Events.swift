import ArgumentParser
import Dispatch
import Glibc
import SystemPackage
import TreeWatching

/// `ubwatch events`: one line a change.
struct EventsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events",
        abstract: "Print every change below a directory, one line each, until interrupted.",
        discussion: """
            The first line is "ready": everything is watched. Then come created, modified, removed, moved, attributes, and markers: overflow and
            rescanned (events were lost; the differences stand between), rootLost and rootBack (the directory itself).

            Symbolic links below the directory are not followed. Writes through mmap(2) raise no event.
            """)

    @Argument(help: "The directory to watch.", completion: .directory)
    var directory: String

    @Flag(name: .long, help: "One JSON object a line: tick, time, kind, path, from, isDirectory; pathBytes (base64) where a name is not UTF-8.")
    var json = false

    @Option(name: .long, help: ArgumentHelp("Leave out entries that match; may be given again. With a slash: from DIRECTORY on.", valueName: "glob"))
    var exclude: [String] = []

    @Option(name: .long, help: ArgumentHelp("Report a file when it was quiet for that long: 250ms, 2s, 1m.", valueName: "duration"))
    var settle: EventsDuration?

    @Flag(name: .long, help: "One line for what belongs together: create + write + close; a removed directory and all below it.")
    var collapse = false

    @Flag(name: .long, help: "Also report changes of permissions, owner and times.")
    var attributes = false

    @Flag(name: .long, help: "Print counts and rates for each directory and kind at the end and on SIGUSR1, instead of the changes.")
    var summary = false

    @Option(name: .long, help: "Where raw events come from: kernel, or inotifytools (through its helper program).")
    var source = EventsSource.kernel

    func run() throws {
        var options = TreeWatcher.Options()
        options.exclude = exclude
        options.collapses = collapse
        options.attributes = attributes
        if let settle { options.settling = .init(quiet: settle.value) }
        if source == .inotifytools { options.source = .inotifytools(helper: EventsSource.helper) }
        options.diagnostics = { printError("ubwatch: warning: \($0.message)") }

        signal(SIGPIPE, SIG_IGN)
        let output = EventsOutput()
        let printer: any EventsPrinter = summary ? EventsSummary(json: json) : EventsLines(json: json)
        // Signals are set up first, so that one that comes while the tree is scanned ends the program cleanly too.
        let ended = DispatchSemaphore(value: 0)
        let signals = [SIGINT, SIGTERM, SIGHUP, SIGUSR1].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                if number == SIGUSR1 { output.write(printer.summarise()) } else { ended.signal() }
            }
            source.resume()
            return source
        }
        output.onGone = { ended.signal() }
        let watcher: TreeWatcher
        do {
            watcher = try TreeWatcher(FilePath(directory), options: options)
        } catch {
            printError("ubwatch: \(error.message)")
            throw ExitCode(1)
        }
        watcher.tap { batch in output.write(printer.lines(for: batch)) }
        ended.wait()
        watcher.close()
        output.write(printer.summarise())
        output.finish()
        withExtendedLifetime(signals) {}
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

/// A duration as a person types it: a number with ms, s, m or h; seconds without a unit.
struct EventsDuration: ExpressibleByArgument {
    let value: Duration

    init?(argument: String) {
        let digits = argument.prefix { $0.isNumber || $0 == "." }
        guard let number = Double(digits), number > 0, number < 1e9 else { return nil }
        switch argument.dropFirst(digits.count) {
        case "ms": value = .nanoseconds(Int64(number * 1e6))
        case "", "s": value = .nanoseconds(Int64(number * 1e9))
        case "m", "min": value = .nanoseconds(Int64(number * 60e9))
        case "h": value = .nanoseconds(Int64(number * 3600e9))
        default: return nil
        }
    }
}

func printError(_ text: String) {
    var line = Array(text.utf8) + [0x0A]
    line.withUnsafeMutableBytes { _ = Glibc.write(2, $0.baseAddress, $0.count) }
}
