import JournalModel
import UnixSignals

/// Runs a ``JournalScreen`` on a terminal: gives it what happens, performs its effects, and draws it.
///
/// Everything happens in one loop over events, one after the other. Whatever changes posts, the observation of the
/// store reports it; so no effect needs to say what it has changed.
final class ScreenProgram {
    private let journal: Journal
    private let terminal: FullScreen
    private var screen: JournalScreen
    private let events: AsyncStream<ScreenEvent>
    private let sources: ScreenEvents
    private var observation: Task<Void, Never>?

    init(_ journal: Journal, _ terminal: FullScreen) {
        self.journal = journal
        self.terminal = terminal
        screen = JournalScreen(size: terminal.size)
        let event: AsyncStream<ScreenEvent>.Continuation
        (events, event) = AsyncStream.makeStream()
        sources = ScreenEvents(journal: journal, event: event)
    }

    /// Shows the journal until a key or a signal ends it.
    func run(_ signals: UnixSignalsSequence) async {
        let keys = terminal.keys
        let tasks = [
            Task { [sources] in await sources.follow(signals) },
            Task { [sources] in await sources.follow(keys) },
            Task { [sources] in await sources.followNotices() },
            Task { [sources] in await sources.followRequests() },
        ]
        observe("")
        defer {
            observation?.cancel()
            for task in tasks { task.cancel() }
        }
        for await event in events {
            switch event {
            case .key(let key): if let effect = screen.press(key), await !perform(effect) { return }
            case .contents(let contents, let search): if search == screen.search { screen.show(contents) }
            case .status(let status): screen.show(status)
            case .failed(let reason): screen.say(reason)
            case .resized: screen.size = terminal.size
            case .end: return
            }
            terminal.draw(JournalView.lines(screen))
        }
    }

    /// Observes the posts that match a search, and no others any more.
    private func observe(_ search: String) {
        observation?.cancel()
        observation = Task { [sources] in await sources.followPosts(search: search) }
    }

    /// Performs an effect; returns whether the program continues.
    private func perform(_ effect: ScreenEffect) async -> Bool {
        if effect == .quit { return false }
        do {
            try await attempt(effect)
        } catch {
            screen.say("\(error)")
        }
        sources.requestStatus()
        return true
    }

    private func attempt(_ effect: ScreenEffect) async throws {
        switch effect {
        case .search(let words): observe(words)
        case .apply(let edit): screen.saved(edit, try await journal.apply(edit))
        case .step(let step, let edit): screen.stepped(step, edit, try await journal.apply(edit))
        case .remove(let id): finish(try await journal.remove(id))
        case .setPinned(let isPinned, let id): finish(try await journal.setPinned(isPinned, id))
        case .move(let id, let distance): finish(try await journal.move(id, by: distance))
        case .setOffline(let isOffline): try await journal.setOffline(isOffline)
        case .signOut: try journal.signOut()
        case .signIn(let name): try journal.signIn(name)
        case .wipe: try journal.wipe()
        case .republish: try await journal.republish()
        case .quit: break
        }
    }

    private func finish(_ edit: PostEdit?) {
        if let edit { screen.saved(edit, .done) }
    }
}
