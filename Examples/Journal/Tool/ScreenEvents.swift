import GRDB
import JournalModel
import Ubiquity
import UnixSignals

/// Something that happens to the screen.
enum ScreenEvent: Sendable {
    case key(Key)
    case contents(JournalContents, search: String)
    case status(JournalStatus)
    case failed(String)
    case resized
    case end
}

/// The sources of events: the keyboard, signals, and the store.
struct ScreenEvents: Sendable {
    let journal: Journal
    let event: AsyncStream<ScreenEvent>.Continuation
    // Requests to read the status: several that wait are one.
    private let requests: AsyncStream<Void>
    private let request: AsyncStream<Void>.Continuation

    init(journal: Journal, event: AsyncStream<ScreenEvent>.Continuation) {
        self.journal = journal
        self.event = event
        (requests, request) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Reports keys, and the end with the last one.
    func follow(_ keys: AsyncStream<Key>) async {
        for await key in keys { event.yield(.key(key)) }
        event.yield(.end)
    }

    /// Reports new sizes of the terminal, and the end.
    func follow(_ signals: UnixSignalsSequence) async {
        for await signal in signals { event.yield(signal == .sigwinch ? .resized : .end) }
    }

    /// Requests the status after each notice of the store: each can mean another account or file, a wipe, or a failure.
    func followNotices() async {
        var notices = journal.store.notices.makeAsyncIterator()
        repeat { requestStatus() } while await notices.next() != nil
    }

    /// Requests a report of the status, which is read after this call.
    func requestStatus() { request.yield() }

    /// Reports the status after each request, one after the other: so the last report is the newest.
    func followRequests() async {
        for await _ in requests {
            do {
                event.yield(.status(try await journal.status()))
            } catch {
                event.yield(.failed("\(error)"))
            }
        }
    }

    /// Reports the posts whenever they change.
    func followPosts(search: String) async {
        do {
            for try await contents in journal.observe(search: search) { event.yield(.contents(contents, search: search)) }
        } catch {
            // A cancelled observation belongs to an earlier search.
            if !Task.isCancelled { event.yield(.failed("\(error)")) }
        }
    }
}
