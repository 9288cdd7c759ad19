public import Foundation
internal import GRDB
internal import Logging
internal import StoreExchange
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// Moves a store from file to file as accounts come and go: it performs the steps of ``StoreLife``.
actor StoreKeeper {
    let files: StoreFiles
    var life: StoreLife
    private(set) weak var store: (any FollowingStore)?
    /// The account's file that is being filled while another file is in use.
    var gathered: (account: AccountName, base: StoreBase)?
    /// The target of the passage in progress; `origin` is its source.
    var prepared: StoreBase?
    var origin: (location: StoreLocation, base: StoreBase)?
    /// The task that removes the file that the store has left.
    var erasing: Task<Void, Never>?
    private var driving: Task<Void, Never>?
    var gathering: Task<Void, Never>?
    private var asking: (passage: StoreLife.Passage, number: Int, task: Task<Void, Never>)?
    private var questions = 0
    /// Wakes waiting callers when a step is done or an answer has come.
    private let answers = Broadcast<Void>()
    var retrying: Task<Void, Never>?
    var rechecking: Task<Void, Never>?
    var watching: Task<Void, Never>?
    /// The reason why the home is not watched.
    var unwatched: (any Error)?
    var failure: (any Error)?
    /// The reason why the account's file was not rebuilt although the options demand it.
    var refusal: (any Error)?
    var isStopped = false
    /// The account whose file is still to be rebuilt.
    var rebuilding: AccountName?
    var makingAnew: Task<Void, Never>?

    var options: StoreOptions { files.context.options }
    var logger: Logger { files.context.logger }

    init(_ life: StoreLife, _ files: StoreFiles) {
        self.life = life
        self.files = files
        rebuilding = files.context.options.rebuildsFromUbiquitousContent ? life.gathering : nil
    }

    /// Begins, after the store has been created.
    func start(_ store: any FollowingStore) {
        self.store = store
        tellBeginning(store)
        report(store.current)
        if options.removesFilesOfGoneAccounts { erase { files, isStopped in try await files.eraseGone(unless: isStopped) } }
        watch()
        gatherIfNeeded()
        _ = drive()
    }

    /// Announces that the account or its container differs from the last time the store was open.
    ///
    /// No handler of will-change is called: nobody can save to the other file, because the store has just opened.
    private func tellBeginning(_ store: any FollowingStore) {
        let last = LastPlace(of: files.path)
        if let before = last.note, let kind = before.change(to: life.place, in: files.identifier),
            let file = try? files.file(of: before.place, in: before.container ?? files.identifier)
        {
            let passage = StoreLife.Passage(from: before.place, to: life.place)
            origin = (StoreLocation(place: before.place, file: file), store.current)
            tell(passage, store, isDone: false, as: kind)
            tell(passage, store, isDone: true, as: kind)
            origin = nil
        }
        last.note(life.place, in: files.identifier)
        files.home.note(KnownStore(path: files.path, content: files.context.options.content, container: files.identifier))
    }

    /// Ends all tasks, without waiting for them.
    nonisolated func cancel() { Task { await halt() } }

    /// Ends all tasks, and waits for them.
    func stop() async {
        halt()
        await watching?.value
        // The gathering task is not awaited: it may wait for a file system that does not respond.
        await driving?.value
    }

    private func halt() {
        isStopped = true
        dropGathered()
        for task in [watching, gathering, makingAnew, asking?.task, retrying, rechecking] { task?.cancel() }
        answers.close()
    }

    // MARK: State

    func learn(_ what: (inout StoreLife) -> Void) {
        what(&life)
        if let asking, life.step != .ask(asking.passage) { endAsking() }
        gatherIfNeeded()
        _ = drive()
        resume()
    }

    /// Reads the present state, and runs every step that it leads to.
    ///
    /// - Throws: the obstacle.
    func settle() async throws {
        guard !isStopped else { return }
        failure = nil
        await identify()
        if let failure { throw failure }
        learn { $0.retry() }
        try await arrive()
        await makeAnew()
        try await arrive()
        if let account = life.gathering, !isStopped {
            let base: StoreBase
            do {
                base = try await gatheringBase(of: account)
            } catch is CancellationError where !Task.isCancelled {
                // While the file was being opened, the content has been read, or another account has signed in.
                return try await settle()
            }
            try await base.runner.settleByPolicy()
            try await checkGathered(account, base)
            try await arrive()
        }
    }

    /// Runs every step that can run now, and waits for the app's answer if one is pending.
    private func arrive() async throws {
        while true {
            let changes = answers.subscribe()
            if drive() == nil {
                if let failure { throw failure }
                guard case .ask = life.step, !isStopped else { return }
            }
            // A cancelled task stops waiting, whatever the steps wait for.
            for await _ in changes { break }
            try Task.checkCancellation()
            // After a stop, a running step ends by itself and wakes nobody.
            guard !isStopped else { return }
            // A failed step stays pending, and the next caller tries it again.
            if let failure { throw failure }
        }
    }

    /// The runner that exchanges for the account while another file is in use; nil if the file in use has it.
    var gatheringRunner: ExchangeRunner? { gathered?.base.runner }

    /// The last obstacle, in words; nil if there is none.
    var obstacle: String? { (failure ?? refusal ?? unwatched).map { String(describing: $0) } }

    // MARK: Steps

    /// Starts the pending steps; returns nil if there are none.
    private func drive() -> Task<Void, Never>? {
        if let driving { return driving }
        guard let step = life.step, !isStopped else { return nil }
        // The app's answer will start it again.
        if case .ask = step, asking != nil { return nil }
        let task = Task { [weak self] in
            guard let self else { return }
            await self.goOn()
        }
        driving = task
        return task
    }

    private func goOn() async {
        defer {
            driving = nil
            answers.post { _ in () }
        }
        while let step = life.step, !isStopped {
            // The store has been released.
            guard store != nil else { return halt() }
            if case .ask = step, asking != nil { return }
            await files.moments?(.begins(step.kind))
            do {
                try await carryOut(step)
                failure = nil
            } catch {
                await files.moments?(.failed(step.kind))
                failure = error
                logger.error("\(files.path.lastComponent!.string): \(error)")
                life.fail()
                // Saves from now on must not become visible to others under another account.
                if let account = life.place.account, account != life.account { store?.current.halt() }
                return retryLater()
            }
        }
    }

    private func carryOut(_ step: StoreLife.Step) async throws {
        guard let store else { return }
        switch step {
        case .ask(let passage): await ask(passage, store)
        case .prepare(let passage):
            try await prepare(passage, store)
            await complete(step)
        case .tellWillChange(let passage):
            await tellWillChange(passage, store)
            await complete(step)
        case .swap(let passage):
            try await swap(passage, store)
            await complete(step)
            gatherIfNeeded()
        case .tellDidChange(let passage):
            tell(passage, store, isDone: true)
            LastPlace(of: files.path).note(passage.to, in: files.identifier)
            report(store.current)
            let (runner, notices) = (store.current.runner, store.notices.broadcast)
            // Not awaited: the runner may be exchanging with a file system that does not respond.
            Task { await runner.tell(notices) }
            eraseIfGone(passage)
            // The old file closes when no read uses it any more.
            origin = nil
            await complete(step)
        }
    }

    private func complete(_ step: StoreLife.Step) async {
        await files.moments?(.done(step.kind))
        life.complete(step)
    }

    private func ask(_ passage: StoreLife.Passage, _ store: any FollowingStore) async {
        switch options.joiningPolicy {
        case .merge: life.answer(passage, joins: true)
        case .keepSeparate: life.answer(passage, joins: false)
        case .ask(let question):
            guard let account = passage.to.account, (try? await StoreJoin.isNeeded(from: store.current)) != false else {
                return life.answer(passage, joins: true)
            }
            // The question may have become void in the meantime.
            guard life.step == .ask(passage), asking == nil, !isStopped else { return }
            questions += 1
            let number = questions
            asking = (
                passage, number,
                Task { [weak self] in
                    let answer = await question(account)
                    await self?.answer(number, joins: answer == .merge)
                }
            )
        }
    }

    private func answer(_ number: Int, joins: Bool) {
        guard let asking, asking.number == number else { return }
        learn { $0.answer(asking.passage, joins: joins) }
    }

    private func endAsking() {
        guard let asking else { return }
        self.asking = nil
        asking.task.cancel()
        answers.post { _ in () }
    }

    /// Opens the other file, and joins most of the saves into it.
    private func prepare(_ passage: StoreLife.Passage, _ store: any FollowingStore) async throws {
        let (old, new) = (store.current, try await open(passage.to))
        prepared = new
        // Another process may have given the local file to another account and ended halfway: that join is finished
        // first.
        for (place, base) in [(passage.from, old), (passage.to, new)] where place == .local {
            try await files.finishGiven(in: base, but: passage.to.account)
        }
        if case .account(let account) = passage.to, passage.from != .fallback(account) { try await absorbFallback(of: account, into: new) }
        if case .account(let account) = passage.to { try await files.mergeMovedAside(of: account, into: new) }
        // An unreadable file has no clock to adopt.
        if passage.to == .local { try? await new.takeClock(of: old) }
        guard passage.joins else { return }
        let join = try self.join(passage, from: old, to: new)
        try await blocking {
            try join.give()
            try join.advance()
        }
    }

    /// Returns the join of a passage.
    ///
    /// While the account is signed in, all saves in the local file are given to it, however often another process
    /// empties that file.
    private func join(_ passage: StoreLife.Passage, from old: StoreBase, to new: StoreBase) throws -> StoreJoin {
        let recipient = passage.from == .local ? try files.home.peer(of: passage.to.account!, in: files.identifier) : nil
        return StoreJoin(source: old, destination: new, conflictRetention: options.conflictRetention, recipient: recipient) { [home = files.home] in
            try home.account == passage.to.account
        }
    }

    private func open(_ place: StoreTransition.Place) async throws -> StoreBase {
        if let gathered, place == .account(gathered.account) { return gathered.base }
        guard case .account(let account) = place else { return try await files.withoutObservers.open(place) }
        guard let base = try await files.withoutObservers.openUnlessDamaged(account) else {
            // A new one is made from the container.
            learn { $0.scatter(account) }
            throw UbiquitousStoreError(
                .notADatabase, "The file of \(account) cannot be read; a new one is made from the container.", path: files.path)
        }
        guard try await StoreFiles.isGathered(base) else {
            // The file has been removed since the check, because its account was gone.
            learn { $0.scatter(account) }
            throw UbiquitousStoreError(
                .contentIncomplete, "The file of \(account) has been removed; a new one is made from the container.", path: files.path)
        }
        return base
    }

    /// Joins the saves that an earlier use of the fallback file has left.
    private func absorbFallback(of account: AccountName, into base: StoreBase) async throws {
        guard try await files.exists(.fallback(account)) else { return }
        let fallback = try await files.open(.fallback(account))
        guard try await StoreJoin.isNeeded(from: fallback) else { return }
        let join = StoreJoin(source: fallback, destination: base, conflictRetention: options.conflictRetention)
        try await blocking { try join.finish() }
    }

    private func tellWillChange(_ passage: StoreLife.Passage, _ store: any FollowingStore) async {
        origin = (StoreLocation(place: passage.from, file: store.file), store.current)
        let transition = tell(passage, store, isDone: false)
        if await !store.handlers.call(transition, at: store.current, within: options.transitionDeadline) {
            logger.warning(
                "\(files.path.lastComponent!.string): a handler of will-change has not returned in \(options.transitionDeadline); the file changes now"
            )
        }
    }

    private func swap(_ passage: StoreLife.Passage, _ store: any FollowingStore) async throws {
        let (old, new) = (store.current, prepared!)
        if passage.joins {
            let join = try join(passage, from: old, to: new)
            do {
                try await blocking { try join.finish { store.use(new) } }
            } catch {
                // The rest is joined when the store is opened again or returns to that file.
                guard store.isCurrent(new) else { throw error }
                logger.error("\(old.file.path): \(error)")
            }
        } else {
            try await old.pool.writeWithoutTransaction { _ in store.use(new) }
        }
        old.halt()
        if options.exchangesAutomatically {
            Task {
                await new.begin()
                new.trigger?.wake()
            }
        }
        prepared = nil
        if gathered?.base === new { gathered = nil }
    }

    /// Announces that the file will change, or has changed.
    @discardableResult
    private func tell(
        _ passage: StoreLife.Passage, _ store: any FollowingStore, isDone: Bool, as kind: StoreTransition.Kind? = nil
    ) -> StoreTransition {
        let file = isDone ? store.file : prepared?.file.path ?? store.file
        let transition = StoreTransition(kind: kind ?? passage.kind, removed: origin!.location, added: StoreLocation(place: passage.to, file: file))
        let notice = isDone ? StoreNotice.didChange(transition) : .willChange(transition)
        StoreLog(logger: logger, name: files.path.lastComponent!.string).write(notice, showsContents: false)
        store.notices.broadcast.post(notice)
        NotificationCenter.default.post(
            name: isDone ? .ubiquitousStoreDidChange : .ubiquitousStoreWillChange, object: store, userInfo: ["transition": transition])
        return transition
    }

    /// Logs Core Data's line, which shows the file in use.
    private func report(_ base: StoreBase) {
        let (place, file, logger) = (life.place, base.file.path, logger)
        Task {
            let peer = await base.runner.peer
            logger.info("\(peer): \(file): Using local storage: \(place.isLocalStorage ? 1 : 0)")
        }
    }

    /// Returns the store's files: the one in use, and the others that exist.
    func locations(besides file: FilePath) async throws -> [StoreLocation] {
        let others = try await files.locations()
        return [StoreLocation(place: life.place, file: file)] + others.filter { $0.file != file }
    }

    /// The place of the store.
    var place: StoreTransition.Place { life.place }
}

extension Notification.Name {
    /// Posted before a store changes files, like ``StoreNotice/willChange(_:)``.
    ///
    /// The object is the store, and the user info has the transition under `transition`. To save before the change,
    /// register a handler with ``UbiquitousStore/onWillChange(_:)``: the store waits for it.
    public static let ubiquitousStoreWillChange = Notification.Name("UbiquitousStoreWillChange")
    /// Posted after a store has changed files, like ``StoreNotice/didChange(_:)``.
    public static let ubiquitousStoreDidChange = Notification.Name("UbiquitousStoreDidChange")
}
