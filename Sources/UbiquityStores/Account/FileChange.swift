public import Foundation
internal import GRDB
internal import Logging
internal import StoreExchange
internal import SystemPackage
internal import TreeWatching
internal import UbiquityContainers

/// A store's change from one file to another: the work of the steps of ``StoreLife``.
///
/// It belongs to a ``StoreKeeper``, and runs on that actor.
final class FileChange {
    /// The target of the passage in progress.
    private(set) var prepared: StoreBase?
    /// The source of the passage in progress.
    private(set) var origin: (location: StoreLocation, base: StoreBase)?

    /// Announces that the account or its container differs from the last time the store was open.
    ///
    /// No handler of will-change is called: nobody can save to the other file, because the store has just opened.
    func tellBeginning(_ store: any FollowingStore, by keeper: isolated StoreKeeper) {
        let (files, place) = (keeper.files, keeper.life.place)
        let last = LastPlace(of: files.path)
        if let before = last.note, let kind = before.change(to: place, in: files.identifier),
            let file = try? files.file(of: before.place, in: before.container ?? files.identifier)
        {
            let passage = StoreLife.Passage(from: before.place, to: place)
            origin = (StoreLocation(place: before.place, file: file), store.current)
            tell(passage, store, isDone: false, as: kind, files)
            tell(passage, store, isDone: true, as: kind, files)
            origin = nil
        }
        last.note(place, in: files.identifier)
        files.home.note(KnownStore(path: files.path, content: files.content, container: files.identifier))
    }

    /// Opens the other file, and joins most of the saves into it.
    func prepare(_ passage: StoreLife.Passage, _ store: any FollowingStore, by keeper: isolated StoreKeeper) async throws {
        let files = keeper.files
        let (old, new) = (store.current, try await open(passage.to, by: keeper))
        prepared = new
        // Another process may have given the local file to another account and ended halfway: that join is finished
        // first.
        for (place, base) in [(passage.from, old), (passage.to, new)] where place == .local {
            try await files.finishGiven(in: base, but: passage.to.account)
        }
        if case .account(let account) = passage.to, passage.from != .fallback(account) { try await files.absorbFallback(of: account, into: new) }
        if case .account(let account) = passage.to { try await files.former(of: account).mergeMovedAside(into: new) }
        // An unreadable file has no clock to adopt.
        if passage.to == .local { try? await new.takeClock(of: old) }
        // Saves from now on are joined with the change of the file.
        guard passage.joins, try await StoreJoin.isNeeded(from: old) else { return }
        let join = try self.join(passage, from: old, to: new, files)
        try await blocking {
            try join.give()
            try join.advance()
        }
    }

    /// Returns the join of a passage.
    ///
    /// While the account is signed in, the saves in the local file are given to it before they are joined, however often
    /// another process empties that file.
    private func join(_ passage: StoreLife.Passage, from old: StoreBase, to new: StoreBase, _ files: StoreFiles) throws -> StoreJoin {
        let recipient = passage.from == .local ? try files.home.peer(of: passage.to.account!, in: files.identifier) : nil
        return StoreJoin(
            source: old, destination: new, conflictRetention: files.context.options.advanced.conflictRetention, recipient: recipient
        ) { [home = files.home] in
            try home.account == passage.to.account
        }
    }

    private func open(_ place: StoreTransition.Place, by keeper: isolated StoreKeeper) async throws -> StoreBase {
        let files = keeper.files
        if let opened = keeper.gathering.opened, place == .account(opened.account) { return opened.base }
        guard case .account(let account) = place else { return try await files.withoutObservers.open(place) }
        guard let base = try await files.withoutObservers.openUnlessDamaged(account) else {
            // A new one is made from the container.
            keeper.learn { $0.scatter(account) }
            throw UbiquitousStoreError(
                .notADatabase, "The file of \(account) cannot be read; a new one is made from the container.", path: files.path)
        }
        guard try await StoreFiles.isGathered(base) else {
            // The file has been removed since the check, because its account was gone.
            keeper.learn { $0.scatter(account) }
            throw UbiquitousStoreError(
                .contentIncomplete, "The file of \(account) has been removed; a new one is made from the container.", path: files.path)
        }
        return base
    }

    /// Tells the observers and handlers of will-change, and waits for the handlers up to the deadline.
    func tellWillChange(_ passage: StoreLife.Passage, _ store: any FollowingStore, by keeper: isolated StoreKeeper) async {
        origin = (StoreLocation(place: passage.from, file: store.file), store.current)
        let transition = tell(passage, store, isDone: false, keeper.files)
        let deadline = keeper.options.advanced.transitionDeadline
        if await !store.handlers.call(transition, at: store.current, within: deadline) {
            keeper.logger.warning(
                "\(keeper.name): a handler of will-change has not returned in \(deadline); the file changes now",
                metadata: .facts([.event: "handlerLate"]))
        }
    }

    /// Joins the rest of the saves, and changes the file.
    func swap(_ passage: StoreLife.Passage, _ store: any FollowingStore, by keeper: isolated StoreKeeper) async throws {
        let (old, new) = (store.current, prepared!)
        if passage.joins {
            let join = try join(passage, from: old, to: new, keeper.files)
            do {
                try await blocking { try join.finish { store.use(new) } }
            } catch {
                // The rest is joined when the store is opened again or returns to that file.
                guard store.isCurrent(new) else { throw error }
                keeper.logger.error(
                    "\(old.file.path): \(error)",
                    metadata: .facts([.event: "joinFailed", .file: old.file.path.string, .error: "\(error)"]))
            }
        } else {
            try await old.pool.writeWithoutTransaction { _ in store.use(new) }
        }
        old.halt()
        if keeper.options.advanced.exchangesAutomatically {
            Task {
                await new.begin()
                new.trigger?.wake()
            }
        }
        prepared = nil
        keeper.gathering.release(new)
    }

    /// Announces that the file has changed.
    ///
    /// - Returns: the file that the store has left.
    func tellDidChange(_ passage: StoreLife.Passage, _ store: any FollowingStore, by keeper: isolated StoreKeeper) -> StoreBase? {
        let files = keeper.files
        tell(passage, store, isDone: true, files)
        LastPlace(of: files.path).note(passage.to, in: files.identifier)
        // No call of the actor: the runner may be exchanging with a file system that does not respond, and what it tells
        // from now on is for the store's observers.
        store.current.runner.tell(store.notices.broadcast)
        // The old file closes when no read uses it any more.
        defer { origin = nil }
        return origin?.base
    }

    /// Announces that the file will change, or has changed.
    @discardableResult
    private func tell(
        _ passage: StoreLife.Passage, _ store: any FollowingStore, isDone: Bool, as kind: StoreTransition.Kind? = nil, _ files: StoreFiles
    ) -> StoreTransition {
        let file = isDone ? store.file : prepared?.file.path ?? store.file
        let transition = StoreTransition(kind: kind ?? passage.kind, removed: origin!.location, added: StoreLocation(place: passage.to, file: file))
        let notice = isDone ? StoreNotice.didChange(transition) : .willChange(transition)
        StoreLog(logger: files.context.logger, name: files.path.lastComponent!.string).write(notice, showsContents: false)
        store.notices.broadcast.post(notice)
        NotificationCenter.default.post(
            name: isDone ? .ubiquitousStoreDidChange : .ubiquitousStoreWillChange, object: store, userInfo: ["transition": transition])
        return transition
    }
}

extension Notification.Name {
    /// Posted before a store changes files, like ``StoreNotice/willChange(_:)``.
    ///
    /// The object is the store, and the user info has the transition under `transition`. To save before the change,
    /// register a handler with ``UbiquitousStore/onWillChange(_:)``: the store waits for it.
    public static let ubiquitousStoreWillChange = Notification.Name("UbiquitousStoreWillChange")
    /// Posted after a store has changed files, like ``StoreNotice/didChange(_:)``.
    public static let ubiquitousStoreDidChange = Notification.Name("UbiquitousStoreDidChange")
    /// Posted after changes of other peers have been committed, like ``StoreNotice/didImport(_:)``, on the thread of the
    /// exchange: return soon.
    ///
    /// The object is the store, and the user info has the `ImportNotice` under `import`.
    public static let ubiquitousStoreDidImport = Notification.Name("UbiquitousStoreDidImport")
}
