import ConfiguredTransports
import Foundation
import Rainbow
import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// The full-screen view: handles input from the terminal, the containers and the clock, and draws.
struct LiveView {
    let containers: [FilePath]
    let home: DeviceHome?
    let options: WatchReader.Options
    let hasColours: Bool

    /// The inputs.
    private enum Message: Sendable {
        case terminal(Terminal.Input)
        case view(ViewState.Input)
        /// A postponed drawing is due.
        case draw
    }

    /// The interval of updates of ages and of the graph.
    private static let tick = Duration.seconds(10)
    /// The shortest time between two drawings; a key is handled sooner.
    private static let pause = Duration.milliseconds(100)
    private static let keyPause = Duration.milliseconds(20)

    /// Shows the view until the user quits.
    func run() async {
        let terminal = Terminal(hasColours: hasColours)
        let size = terminal.begin()
        defer { terminal.end() }
        let (messages, inbox) = AsyncStream.makeStream(of: Message.self)
        let watches = containers.enumerated().map { index, path in
            ContainerWatch(path, home: home, options: options) { event in
                switch event {
                case .facts(let facts): inbox.yield(.view(.facts(index, facts)))
                case .failed(let reason): inbox.yield(.view(.failed(index, reason)))
                case .changes(let changes): inbox.yield(.view(.changes(index, changes)))
                }
            }
        }
        await withTaskGroup { group in
            for watch in watches { group.addTask { await watch.run() } }
            group.addTask { for await input in terminal.inputs { inbox.yield(.terminal(input)) } }
            group.addTask {
                while (try? await Task.sleep(for: Self.tick)) != nil { inbox.yield(.view(.tick)) }
            }
            var state = ViewState(containers: watches.map(\.path.string), size: size, now: Date())
            terminal.draw(ViewLayout.screen(of: &state))
            var drawn = ContinuousClock.now
            var isDue = false
            for await message in messages {
                var pause = Self.pause
                var inputs: [ViewState.Input] = []
                switch message {
                case .terminal(.end):
                    group.cancelAll()
                    return
                case .terminal(.resized(let size)): inputs = [.resized(size)]
                case .terminal(.keys(let keys)):
                    inputs = keys.map { .key($0) }
                    pause = Self.keyPause
                case .view(let input): inputs = [input]
                case .draw: isDue = false
                }
                for input in inputs {
                    switch state.input(input, at: Date()) {
                    case .quit?:
                        group.cancelAll()
                        return
                    case .open(let log)?: group.addTask { inbox.yield(.view(.opened(await Self.read(log: log)))) }
                    case .refresh?: for watch in watches { watch.refresh() }
                    case .evict(let path, let index)?:
                        group.addTask { await move(path, watches[index], "Evict", inbox) { try await $0.evict($1) } }
                    case .fetch(let path, let index)?:
                        group.addTask { await move(path, watches[index], "Fetch", inbox) { try await $0.startDownloading($1) } }
                    case nil: break
                    }
                }
                let wait = pause - (ContinuousClock.now - drawn)
                if wait <= .zero {
                    terminal.draw(ViewLayout.screen(of: &state))
                    drawn = .now
                } else if !isDue {
                    isDue = true
                    group.addTask {
                        try? await Task.sleep(for: wait)
                        inbox.yield(.draw)
                    }
                }
            }
        }
    }

    /// Evicts or fetches an item; why that is refused is shown.
    private func move(
        _ path: String, _ watch: ContainerWatch, _ title: String, _ inbox: AsyncStream<Message>.Continuation,
        _ body: (any Transport, FilePath) async throws -> Void
    ) async {
        do {
            try await body(try configuredTransport(for: watch.path, home: home), FilePath(path))
            watch.refresh()
        } catch {
            inbox.yield(.view(.opened(Detail(title: title, lines: [Detail.Line("\(error)".printable, .red)]))))
        }
    }

    /// The greatest number of lines of a log in the view.
    private static let lines = 50_000

    /// Returns a log's contents, as `ubwatch log` prints them.
    static func read(log path: String) async -> Detail {
        let title = path.split(separator: "/").last.map(String.init) ?? path
        do {
            let (report, names) = try await blocking {
                let report = try LogReport(of: FilePath(path))
                return (report, PeerNames(besideLog: FilePath(path), report))
            }
            var lines = report.text(names).clearStyles.split(separator: "\n", omittingEmptySubsequences: false).prefix(Self.lines).map {
                Detail.Line(String($0))
            }
            if let fault = report.fault { lines.insert(Detail.Line(fault, .red), at: 0) }
            if lines.count >= Self.lines { lines.append(Detail.Line("and more; ubwatch log \(path)", .dim)) }
            return Detail(title: title, lines: lines)
        } catch {
            return Detail(title: title, lines: [Detail.Line("\(error)", .red)])
        }
    }
}
