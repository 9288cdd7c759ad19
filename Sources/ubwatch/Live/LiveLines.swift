import Foundation
import Glibc
import SystemPackage
import ToolSupport
import UbiquityContainers

/// The view without a terminal: one line or one object for each change.
struct LiveLines {
    let containers: [FilePath]
    let home: DeviceHome?
    let options: WatchReader.Options
    let level: ContainerChange.Level
    let json: Bool

    /// Prints until a signal ends it, or the output is closed.
    func run() async {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        signal(SIGPIPE, SIG_IGN)
        let signals = SignalHandlers { _ in end.yield() }
        let output = EventsOutput()
        output.onGone = { end.yield() }
        let hasSeveral = containers.count > 1
        let watches = containers.map { path in
            ContainerWatch(path, home: home, options: options) { [level, json] event in
                switch event {
                case .facts: break
                case .changes(let changes):
                    let lines = changes.filter { $0.level <= level }.map { Self.line($0, json: json, hasSeveral: hasSeveral) }
                    output.write(lines.flatMap { Array($0.utf8) + [0x0A] })
                case .failed(let reason): printError("ubwatch: \(reason)".printable)
                }
            }
        }
        await withTaskGroup { group in
            for watch in watches { group.addTask { await watch.run() } }
            for await _ in ends { break }
            group.cancelAll()
        }
        output.finish()
        withExtendedLifetime(signals) {}
    }

    private static func line(_ change: ContainerChange, json: Bool, hasSeveral: Bool) -> String {
        // Every value of these types has a form in JSON.
        if json { return (try? jsonLine(change)) ?? "{}" }
        let name = hasSeveral ? (change.container.split(separator: "/").last.map { "\($0): " } ?? "") : ""
        return "\(change.time.formatted(.iso8601)) \(name)\(change.text)".printable
    }
}
