public import Foundation
internal import GRDB
internal import Logging
internal import SystemPackage
internal import UbiquityContainers

/// Leads a store from file to file as accounts come and go: carries out what ``StoreLife`` says.
actor StoreKeeper {
    let files: StoreFiles
    var life: StoreLife
    private(set) weak var store: UbiquitousStore?
    /// The account's file that is being filled while another is in use.
    var gathered: (account: AccountName, base: StoreBase)?
    /// The file that the passage under way leads to, and where it comes from.
    var prepared: StoreBase?
    var origin: (location: StoreLocation, base: StoreBase)?
    /// Removes the file that the store has left.
    var erasing: Task<Void, Never>?
    private var driving: Task<Void, Never>?
    var gathering: Task<Void, Never>?
    private var asking: (passage: StoreLife.Passage, number: Int, task: Task<Void, Never>)?
    private var questions = 0
    /// Tells who waits that a step has been done, or an answer has come.
    private let answers = Broadcast<Void>()
    var retrying: Task<Void, Never>?
    var rechecking: Task<Void, Never>?
    var watching: Task<Void, Never>?
    /// Why the home is not watched.
    var unwatched: (any Error)?
    var failure: (any Error)?
    /// Why the account's file has not been made anew, though that was asked for.
    var refusal: (any Error)?
    var isStopped = false
    /// Whose file is still to be made anew.
    var rebuilding: AccountName?
    var makingAnew: Task<Void, Never>?

    var options: UbiquitousStore.Options { files.context.options }
    var logger: Logger { files.context.logger }

    init(_ life: StoreLife, _ files: StoreFiles) {
        self.life = life
        self.files = files
        rebuilding = files.context.options.rebuildsFromUbiquitousContent ? life.gathering : nil
    }

    /// Begins, once the store is made.
    func start(_ store: UbiquitousStore) {
        self.store = store
        tellBeginning(store)
        report(store.current)
        if options.removesFilesOfGoneAccounts { erase { files, isStopped in try await files.eraseGone(unless: isStopped) } }
        watch()
        gatherIfNeeded()
        _ = drive()
    }

    /// Tells that the account, or its container, is another than when the store was open last.
    ///
    /// Nobody can have been told before, nor can save to the other file: a handler of will-change has nothing to do.
    private func tellBeginning(_ store: UbiquitousStore) {
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

    /// Ends what runs, without waiting for it.
    nonisolated func cancel() { Task { await halt() } }

    /// Ends what runs, and waits for it.
    func stop() async {
        halt()
        await watching?.value
        // One that gathers may wait for a file system that does not answer.
        await driving?.value
    }

    private func halt() {
        isStopped = true
        dropGathered()
        for task in [watching, gathering, makingAnew, asking?.task, retrying, rechecking] { task?.cancel() }
        answers.close()
    }

    // MARK: What is so

    func learn(_ what: (inout StoreLife) -> Void) {
        what(&life)
        if let asking, life.step != .ask(asking.passage) { endAsking() }
        gatherIfNeeded()
        _ = drive()
        resume()
    }

    /// Looks at everything now, and goes as far as that leads.
    ///
    /// - Throws: what stands in the way.
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
                // The content has been read, or another account has come, while the file was being opened.
                return try await settle()
            }
            try await base.engine.settleByPolicy()
            try await checkGathered(account, base)
            try await arrive()
        }
    }

    /// Goes as far as it goes now; an answer of the app's is waited for.
    private func arrive() async throws {
        while true {
            let changes = answers.subscribe()
            if drive() == nil {
                if let failure { throw failure }
                guard case .ask = life.step, !isStopped else { return }
            }
            // A cancelled task waits no longer, whatever the steps wait for.
            for await _ in changes { break }
            try Task.checkCancellation()
            // A step under way ends by itself, and tells nobody.
            guard !isStopped else { return }
            // A step that has failed stays to be done, and is tried again by who asks next.
            if let failure { throw failure }
        }
    }

    /// What exchanges for the account while another file is in use; nil where that file's own does.
    var gatheringEngine: ExchangeRunner? { gathered?.base.engine }

    /// What stood in the way last, in words; nil where nothing does.
    var obstacle: String? { (failure ?? refusal ?? unwatched).map { String(describing: $0) } }

    // MARK: Going

    /// Goes on with what is to be done; nil where nothing is.
    private func drive() -> Task<Void, Never>? {
        if let driving { return driving }
        guard let step = life.step, !isStopped else { return nil }
        // Its answer goes on with it.
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
            // Nobody has the store any more.
            guard store != nil else { return halt() }
            if case .ask = step, asking != nil { return }
            await files.context.moments?(.begins(step.kind))
            do {
                try await carryOut(step)
                failure = nil
            } catch {
                await files.context.moments?(.failed(step.kind))
                failure = error
                logger.error("\(files.path.lastComponent!.string): \(error)")
                life.fail()
                // What is saved meanwhile is not for others to see under another account.
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
            let (engine, notices) = (store.current.engine, store.notices.broadcast)
            // It may be at an exchange, with a file system that does not answer.
            Task { await engine.tell(notices) }
            eraseIfGone(passage)
            // The file that has been left is closed once nobody reads from it.
            origin = nil
            await complete(step)
        }
    }

    private func complete(_ step: StoreLife.Step) async {
        await files.context.moments?(.done(step.kind))
        life.complete(step)
    }

    private func ask(_ passage: StoreLife.Passage, _ store: UbiquitousStore) async {
        switch options.joiningPolicy {
        case .merge: life.answer(passage, joins: true)
        case .keepSeparate: life.answer(passage, joins: false)
        case .ask(let question):
            guard let account = passage.to.account, (try? await StoreJoin.isNeeded(from: store.current)) != false else {
                return life.answer(passage, joins: true)
            }
            // It may have become void meanwhile.
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

    /// Opens the other file, and brings it close to what is to be in it.
    private func prepare(_ passage: StoreLife.Passage, _ store: UbiquitousStore) async throws {
        let (old, new) = (store.current, try await open(passage.to))
        prepared = new
        // What was given to another is that one's, and left half way by somebody else.
        for (place, base) in [(passage.from, old), (passage.to, new)] where place == .local {
            try await files.finishGiven(in: base, but: passage.to.account)
        }
        if case .account(let account) = passage.to, passage.from != .fallback(account) { try await absorbFallback(of: account, into: new) }
        if case .account(let account) = passage.to { try await files.absorbFormer(of: account, into: new) }
        // A file that cannot be read says nothing.
        if passage.to == .local { try? await new.takeClock(of: old) }
        guard passage.joins else { return }
        let join = try self.join(passage, from: old, to: new)
        try await blocking {
            try join.give()
            try join.advance()
        }
    }

    /// What is saved in a local file is the account's that it is joined to, however often another process empties it meanwhile, while that account is signed in.
    private func join(_ passage: StoreLife.Passage, from old: StoreBase, to new: StoreBase) throws -> StoreJoin {
        let recipient = passage.from == .local ? try files.home.peer(of: passage.to.account!, in: files.identifier) : nil
        return StoreJoin(source: old, destination: new, conflictRetention: options.conflictRetention, recipient: recipient) { [home = files.home] in
            try home.account == passage.to.account
        }
    }

    private func open(_ place: StoreTransition.Place) async throws -> StoreBase {
        if let gathered, place == .account(gathered.account) { return gathered.base }
        guard case .account(let account) = place else { return try await files.muted.open(place) }
        guard let base = try await files.muted.openUnlessDamaged(account) else {
            // A new one is made from the container.
            learn { $0.scatter(account) }
            throw UbiquitousStoreError(
                .notADatabase, "The file of \(account) cannot be read; a new one is made from the container.", path: files.path)
        }
        guard try await StoreFiles.isGathered(base) else {
            // It has been removed since it was looked at, as that of an account that was gone.
            learn { $0.scatter(account) }
            throw UbiquitousStoreError(
                .contentIncomplete, "The file of \(account) has been removed; a new one is made from the container.", path: files.path)
        }
        return base
    }

    /// Takes over what an earlier stay in the fallback file has left.
    private func absorbFallback(of account: AccountName, into base: StoreBase) async throws {
        guard try await files.exists(.fallback(account)) else { return }
        let fallback = try await files.open(.fallback(account))
        guard try await StoreJoin.isNeeded(from: fallback) else { return }
        let join = StoreJoin(source: fallback, destination: base, conflictRetention: options.conflictRetention)
        try await blocking { try join.finish() }
    }

    private func tellWillChange(_ passage: StoreLife.Passage, _ store: UbiquitousStore) async {
        origin = (StoreLocation(place: passage.from, file: store.file), store.current)
        let transition = tell(passage, store, isDone: false)
        if await !store.handlers.call(transition, at: store.current, within: options.transitionDeadline) {
            logger.warning(
                "\(files.path.lastComponent!.string): a handler of will-change has not returned in \(options.transitionDeadline); the file changes now"
            )
        }
    }

    private func swap(_ passage: StoreLife.Passage, _ store: UbiquitousStore) async throws {
        let (old, new) = (store.current, prepared!)
        if passage.joins {
            let join = try join(passage, from: old, to: new)
            do {
                try await blocking { try join.finish { store.use(new) } }
            } catch {
                // What is left there is looked at again when the store is opened, or comes back to that file.
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
                new.runner?.wake()
            }
        }
        prepared = nil
        if gathered?.base === new { gathered = nil }
    }

    /// Tells observers that the file will change, or has.
    @discardableResult
    private func tell(
        _ passage: StoreLife.Passage, _ store: UbiquitousStore, isDone: Bool, as kind: StoreTransition.Kind? = nil
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

    /// Core Data's line: who looks at a log sees which file is in use.
    private func report(_ base: StoreBase) {
        let (place, file, logger) = (life.place, base.file.path, logger)
        Task {
            let peer = await base.engine.peer
            logger.info("\(peer): \(file): Using local storage: \(place.isLocalStorage ? 1 : 0)")
        }
    }

    /// Where the store's files lie: the one in use, and the others that are there.
    func locations(besides file: FilePath) async throws -> [StoreLocation] {
        let others = try await files.locations()
        return [StoreLocation(place: life.place, file: file)] + others.filter { $0.file != file }
    }

    /// Where the store is.
    var place: StoreTransition.Place { life.place }
}

extension Notification.Name {
    /// A store is about to change files; what ``StoreNotice/willChange(_:)`` says, with the transition under `transition` and the store as the object.
    ///
    /// Whoever wants to save before registers a handler, which is waited for: ``UbiquitousStore/onWillChange(_:)``.
    public static let ubiquitousStoreWillChange = Notification.Name("UbiquitousStoreWillChange")
    /// A store has changed files; what ``StoreNotice/didChange(_:)`` says.
    public static let ubiquitousStoreDidChange = Notification.Name("UbiquitousStoreDidChange")
}
