import ArgumentParser
import Foundation
import GRDB
import Ubiquity
import UnixSignals

/// Runs `scores screen`.
struct ScreenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "screen",
        abstract: "Show the high scores, and each change as it arrives, until q or ctrl-C.",
        discussion: """
            If standard output or input is not a terminal, each change is printed as another list, with an empty line after it. A place with an \
            address is asked for news from time to time; a directory is watched.
            """)

    @Option(help: ArgumentHelp("The time between two questions to a place with an address.", valueName: "seconds"))
    var every = 30

    func validate() throws {
        if every < 1 { throw ValidationError("Ask at most once a second.") }
    }

    /// What can happen.
    private enum Event: Sendable {
        case changed([Score])
        case resized
        case end((any Error)?)
    }

    func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm, .sigwinch)
        let store = try await Game.openScores(automatically: true, polling: PlacePolling(period: .seconds(every), jitter: 0))
        let terminal = GameTerminal()
        let keys = terminal?.keys
        defer { terminal?.restore() }
        let (events, event) = AsyncStream.makeStream(of: Event.self)
        let sources = [
            Task {
                do {
                    let scores = ValueObservation.tracking(Score.list).removeDuplicates()
                    for try await scores in scores.values(in: store) { event.yield(.changed(scores)) }
                } catch {
                    event.yield(.end(error))
                }
            },
            Task {
                for await signal in signals { event.yield(signal == .sigwinch ? .resized : .end(nil)) }
            },
            Task {
                guard let keys else { return }
                for await key in keys where key == "q" { break }
                if !Task.isCancelled { event.yield(.end(nil)) }
            },
        ]
        defer { for source in sources { source.cancel() } }
        var scores: [Score] = []
        loop: for await event in events {
            switch event {
            case .changed(let new): scores = new
            case .resized: break
            case .end(let error?): throw error
            case .end(nil): break loop
            }
            let board = Board(scores: scores)
            if let terminal { terminal.draw(board.screen(terminal.size)) } else { Self.print(board) }
        }
        try await store.close()
    }

    /// Prints a list at once, also into a pipe.
    private static func print(_ board: Board) {
        FileHandle.standardOutput.write(Data((board.lines + ["", ""]).joined(separator: "\n").utf8))
    }
}

/// The lines of the screen.
struct Board {
    var scores: [Score]

    private var title: String { scores.isEmpty ? "No scores yet" : "High scores: \(scores.count)" }

    /// All lines.
    var lines: [String] { [title] + scores.map(\.line) }

    /// Returns the lines that fit on a screen, the last of which names the key that ends the program.
    func screen(_ size: GameTerminal.Size) -> [String] {
        let room = max(0, size.rows - 2)
        return [title] + scores.prefix(room).map { String($0.line.prefix(size.columns)) } + ["q quits"]
    }
}
