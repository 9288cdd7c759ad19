import Foundation
import StoreInspection
import SystemPackage
import TreeWatching
import UbiquityContainers
import UbiquityStores

/// Watches the containers of the account that is signed in, and tells the readers of the page what changes.
///
/// It reads as the terminal's view does, whether or not somebody reads the page. Tables are made only for readers.
actor PageHub {
    /// A reader of the page.
    private struct Reader {
        /// The container that it shows; nil for all of them.
        let container: String?
        let messages: AsyncStream<[UInt8]>.Continuation
    }

    private struct Watched {
        var container: PageContainer
        var watch: Task<Void, Never>
        /// Tells this watch from an earlier one of the container.
        var number: Int
    }

    private let home: DeviceHome
    private let options: WatchReader.Options
    private var account = PageMessage.Account(name: nil, words: "looking for an account", containers: [])
    private var containers: [String: Watched] = [:]
    private var overview = PageContainer(overview: ())
    /// What was known of containers that are not shown now, and of all containers of other accounts, by account and identifier.
    private var former: [String: PageContainer] = [:]
    private var readers: [UUID: Reader] = [:]
    private var lastNumber = 0
    /// What `config.json` says of transports; a watch begins with it.
    private var transports = ""
    private let events: AsyncStream<(String, Int, ContainerWatch.Event)>
    private let teller: AsyncStream<(String, Int, ContainerWatch.Event)>.Continuation
    /// Ends once the account has been looked at.
    private let beginning = AsyncStream.makeStream(of: Void.self)
    /// Is told each new state of a container's facts, with the one before.
    private let notify: (@Sendable (WatchFacts?, WatchFacts) -> Void)?

    /// How many messages may wait for a reader after its first ones; one that is slower gets everything again.
    private static let patience = 256
    private static let beat = Duration.seconds(15)

    /// - Parameters:
    ///   - home: the device home.
    ///   - options: what is read of the containers.
    ///   - notify: is told new facts.
    init(_ home: DeviceHome, options: WatchReader.Options, notify: (@Sendable (WatchFacts?, WatchFacts) -> Void)?) {
        (self.home, self.options, self.notify) = (home, options, notify)
        (events, teller) = AsyncStream.makeStream()
    }

    /// Watches until the task is cancelled.
    func run() async {
        await withTaskGroup { group in
            group.addTask { await self.followAccount() }
            group.addTask { await self.followContainers() }
            group.addTask { await self.keepBeating() }
        }
        for reader in readers.values { reader.messages.finish() }
        for watched in containers.values { watched.watch.cancel() }
    }

    /// The names of the containers, as the shell of the page needs them.
    var present: PageMessage.Account { account }

    /// Returns when the account has been looked at for the first time, or the task is cancelled; for one caller.
    func hasLooked() async { for await _ in beginning.stream {} }

    // MARK: The account

    private func followAccount() async {
        var options = TreeWatcher.Options()
        options.exclude = ["containers/", "kept/", "quarantine/"]
        options.awaitsRoot = true
        options.historyLimit = 0
        options.diagnostics = { _ in }
        await lookAtAccount()
        beginning.continuation.finish()
        do {
            let watcher = try TreeWatcher(home.path, options: options)
            defer { watcher.close() }
            for await _ in watcher.changes { await lookAtAccount() }
        } catch {
            tell("sign-ins are not seen any more: \(error.message)")
        }
    }

    private func lookAtAccount() async {
        let home = home
        do {
            let (name, known) = try await blocking { () -> (String?, [KnownContainer]) in
                guard let (name, _) = try home.signedIn else { return (nil, []) }
                return (name.description, try KnownContainer.list(in: home).filter(\.state.isOfInterest))
            }
            follow(known, of: name)
        } catch {
            // It may be written right now; what is watched stays.
            tell("\(error)")
        }
    }

    /// Says what stands in the way, and leaves everything else as it is.
    private func tell(_ obstacle: String) {
        var new = account
        new.words = obstacle.visible
        show(new)
    }

    private func show(_ new: PageMessage.Account, again: Bool = false) {
        guard new != account || again else { return }
        account = new
        let message = PageMessage("account", new)
        for reader in readers.keys { send([message], to: reader) }
    }

    /// Watches the containers of an account, and no others.
    private func follow(_ known: [KnownContainer], of name: String?) {
        let wanted = Dictionary(known.map { ($0.identifier.description, PathFacts.absolute($0.path)) }) { first, _ in first }
        let transports = home.transportSettings
        let isSame = transports == self.transports
        self.transports = transports
        var hasRemoved = false
        for (id, watched) in containers where wanted[id]?.string != watched.container.view.path || watched.container.account != name {
            watched.watch.cancel()
            containers[id] = nil
            var container = watched.container
            container.forget()
            former["\(container.account)/\(id)"] = container
            tell(nil) { [PageMessage("removed", PageMessage.Removed(id: id))] }
            hasRemoved = true
        }
        let isOther = name != account.name
        if isOther {
            overview.forget()
            former[account.name ?? ""] = overview
            overview = former[name ?? ""] ?? PageContainer(overview: ())
        }
        for (id, path) in wanted {
            if containers[id] == nil { add(id, path, account: name ?? "") } else if !isSame { watch(id, path) }
        }
        let words = name.map { "\($0) is signed in on this device" } ?? "nobody is signed in on this device: ubcontrol sign-in ACCOUNT"
        show(.init(name: name, words: words, containers: known.map(\.identifier.description)), again: hasRemoved)
        if isOther { tell(nil) { overview.whole(at: Date()) } }
    }

    private func add(_ id: String, _ path: FilePath, account: String) {
        var container = former.removeValue(forKey: "\(account)/\(id)") ?? PageContainer(id: id, account: account, path: path.string)
        if container.view.path != path.string { container = PageContainer(id: id, account: account, path: path.string) }
        containers[id] = Watched(container: container, watch: Task {}, number: 0)
        watch(id, path)
        // A reader may show a container that comes back.
        for (reader, about) in readers where about.container == id || about.container == nil { send(whole(of: id, for: about), to: reader) }
    }

    /// Begins to watch a container, with what `config.json` says now.
    private func watch(_ id: String, _ path: FilePath) {
        lastNumber += 1
        let number = lastNumber
        let watch = ContainerWatch(path, home: home, options: options) { [teller] event in teller.yield((id, number, event)) }
        containers[id]?.watch.cancel()
        containers[id]?.watch = Task { await watch.run() }
        containers[id]?.number = number
    }

    // MARK: The containers

    private func followContainers() async { for await (id, number, event) in events { take(event, of: id, number) } }

    private func take(_ event: ContainerWatch.Event, of id: String, _ number: Int) {
        // A watch that was ended may have told something before.
        guard let watched = containers[id], watched.number == number else { return }
        let now = Date()
        let before = watched.container.view.facts
        let done = watched.container.view.transfers.total
        containers[id]?.container.take(event, at: now)
        if case .facts(let facts) = event { notify?(before, facts) }
        switch event {
        case .changes(let changes):
            overview.take(.changes(changes.map { $0.naming(id) }), at: now)
        case .facts:
            let total = containers[id]?.container.view.transfers.total ?? done
            overview.add(.init(up: total.up - done.up, down: total.down - done.down), at: now)
        case .failed: break
        }
        tellNews(of: id, at: now)
    }

    /// Sends readers what is new in a container and in all of them.
    private func tellNews(of id: String, at now: Date) {
        guard !readers.isEmpty else { return }
        let isWhole = readers.values.contains { $0.container == id }
        if let news = containers[id]?.container.news(at: now, isWhole: isWhole) {
            tell(nil) { news.summary }
            tell(id) { news.summary + news.rest }
        }
        if readers.values.contains(where: { $0.container == nil }) {
            let news = overview.news(at: now)
            tell(nil) { news.rest }
        }
    }

    // MARK: The readers

    /// Adds a reader.
    ///
    /// - Parameter container: the container that it shows; nil for all.
    /// - Returns: the messages, which end when the reader is too slow.
    func read(_ container: String?) -> AsyncStream<[UInt8]> {
        let number = UUID()
        // Its first messages are the whole state, so the others must have got theirs.
        if let container { tellNews(of: container, at: Date()) } else { for id in containers.keys.sorted() { tellNews(of: id, at: Date()) } }
        let (messages, continuation) = AsyncStream<[UInt8]>.makeStream(bufferingPolicy: .bufferingOldest(containers.count + Self.patience))
        let reader = Reader(container: container, messages: continuation)
        readers[number] = reader
        continuation.onTermination = { [weak self] _ in Task { await self?.remove(number) } }
        send([PageMessage("hello", PageMessage.Hello(container: container)), PageMessage("account", account)], to: number)
        if let container {
            send(whole(of: container, for: reader), to: number)
        } else {
            for id in containers.keys.sorted() { send(whole(of: id, for: reader), to: number) }
            send(overview.whole(at: Date()), to: number)
        }
        return messages
    }

    private func whole(of id: String, for reader: Reader) -> [PageMessage] {
        (reader.container == nil ? containers[id]?.container.brief(at: Date()) : containers[id]?.container.whole(at: Date())) ?? []
    }

    private func remove(_ number: UUID) {
        guard let gone = readers.removeValue(forKey: number) else { return }
        // What nobody reads is not kept.
        if let id = gone.container, !readers.values.contains(where: { $0.container == id }) { containers[id]?.container.forget() }
        if gone.container == nil, !readers.values.contains(where: { $0.container == nil }) { overview.forget() }
    }

    private func tell(_ container: String?, _ messages: () -> [PageMessage]) {
        let concerned = readers.filter { $0.value.container == container }.map(\.key)
        guard !concerned.isEmpty else { return }
        let messages = messages()
        for reader in concerned { send(messages, to: reader) }
    }

    private func send(_ messages: [PageMessage], to number: UUID) {
        guard let reader = readers[number] else { return }
        for message in messages {
            guard case .dropped = reader.messages.yield(message.bytes) else { continue }
            reader.messages.finish()
            return
        }
    }

    /// A page that hears nothing for long knows that the connection is broken.
    private func keepBeating() async {
        while (try? await Task.sleep(for: Self.beat, tolerance: .seconds(2))) != nil {
            let message = PageMessage("beat", PageMessage.Beat())
            for reader in readers.keys { send([message], to: reader) }
        }
    }

    // MARK: Questions

    /// The facts of a container; nil if there is no such container, or they are not read yet.
    func facts(of id: String) -> WatchFacts? { containers[id]?.container.view.facts }

    /// The view of a container, or of all for an empty identifier; nil if there is no such container.
    func view(of id: String) -> ContainerView? { id.isEmpty ? overview.view : containers[id]?.container.view }
}

extension DeviceHome {
    /// The members of `config.json` that can be about transports, as text.
    fileprivate var transportSettings: String {
        guard let data = FileManager.default.contents(atPath: path.appending("config.json").string),
            var members = try? JSONSerialization.jsonObject(with: data) as? [String: Any]
        else { return "" }
        for other in ["format", "deviceName", "storageMark"] { members[other] = nil }
        return (try? JSONSerialization.data(withJSONObject: members, options: .sortedKeys)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}

extension KnownContainer.State {
    /// Whether there is, or was, something to look at.
    fileprivate var isOfInterest: Bool {
        if case .notMade = self { return false }
        return true
    }
}

extension ContainerChange {
    /// The change with its container's name, for a list of changes of several.
    fileprivate func naming(_ container: String) -> ContainerChange {
        var change = self
        change.text = "\(container): \(text)"
        return change
    }
}
