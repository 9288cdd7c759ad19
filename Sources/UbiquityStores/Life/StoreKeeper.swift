public import Foundation
internal import GRDB
internal import Logging
internal import SystemPackage
internal import UbiquityContainers

/// Leads a store from file to file as accounts come and go: carries out what ``StoreLife`` says.
actor StoreKeeper {
    private let files: StoreFiles
    private var life: StoreLife
    private weak var store: UbiquitousStore?
    /// The account's file that is being filled while another is in use.
    private var gathered: (account: AccountName, base: StoreBase)?
    /// The file that the passage under way leads to, and where it comes from.
    private var prepared: StoreBase?
    private var origin: StoreLocation?
    private var driving: Task<Void, Never>?
    private var gathering: Task<Void, Never>?
    private var asking: Task<Void, Never>?
    /// Tells who waits for an answer that there is one, or that none is asked for any more.
    private let answers = Broadcast<Void>()
    private var retrying: Task<Void, Never>?
    private var watching: Task<Void, Never>?
    private var failure: (any Error)?
    private var isStopped = false

    private var options: UbiquitousStore.Options { files.context.options }
    private var logger: Logger { files.context.logger }

    init(_ life: StoreLife, _ files: StoreFiles) {
        self.life = life
        self.files = files
    }

    /// Begins, once the store is made.
    func start(_ store: UbiquitousStore) {
        self.store = store
        report(store.current)
        watching = Task { [weak self, home = files.home] in
            guard let changes = try? home.identityChanges else { return }
            for await _ in changes {
                guard let self else { return }
                await self.identify()
            }
        }
        gatherIfNeeded()
        _ = drive()
    }

    /// Ends what runs, without waiting for it.
    nonisolated func cancel() { Task { await halt() } }

    /// Ends what runs, and waits for it.
    func stop() async {
        halt()
        await watching?.value
        await gathering?.value
        await driving?.value
        await gathered?.base.runner?.stop()
        gathered = nil
    }

    private func halt() {
        isStopped = true
        for task in [watching, gathering, asking, retrying] { task?.cancel() }
        answers.close()
    }

    // MARK: What is so

    /// Looks who is signed in.
    private func identify() {
        do {
            let account = try files.home.account
            learn { $0.identify(account) }
        } catch {
            // It says nothing, but that it is to be mended.
            failure = error
            logger.error("Ubiquity: \(files.path.lastComponent!.string): \(error)")
        }
    }

    private func learn(_ what: (inout StoreLife) -> Void) {
        what(&life)
        if case .ask = life.step {} else { endAsking() }
        gatherIfNeeded()
        _ = drive()
    }

    /// Looks at everything now, and goes as far as that leads.
    ///
    /// - Throws: what stands in the way.
    func settle() async throws {
        guard !isStopped else { return }
        failure = nil
        life.identify(try files.home.account)
        life.retry()
        gatherIfNeeded()
        try await arrive()
        if let account = life.gathering {
            let base = try await gatheringBase(of: account)
            try await base.engine.settle()
            try await checkGathered(account, base)
            try await arrive()
        }
    }

    /// Goes as far as it goes now; an answer of the app's is waited for.
    private func arrive() async throws {
        while true {
            await drive()?.value
            if let failure { throw failure }
            guard case .ask = life.step, !isStopped else { return }
            let answer = answers.subscribe()
            for await _ in answer { break }
            try Task.checkCancellation()
        }
    }

    /// What stood in the way last, in words; nil where nothing does.
    var obstacle: String? { failure.map { String(describing: $0) } }

    // MARK: Gathering

    /// Opens the file of an account whose content has not been read, and its container, which is made where this device has never seen it.
    private func gatheringBase(of account: AccountName) async throws -> StoreBase {
        if let gathered, gathered.account == account { return gathered.base }
        let container = try await UbiquityContainer(files.identifier.description, home: files.home, files: files.context.files)
        guard container.account == account else { throw CancellationError() }
        for file in options.writtenFiles(at: files.path) { try StorePlace.check(file, in: container) }
        let base = try await files.muted.open(.account(account))
        // Somebody may have been faster meanwhile.
        if let gathered, gathered.account == account { return gathered.base }
        try await base.engine.start()
        gathered = (account, base)
        return base
    }

    private func gatherIfNeeded() {
        if let gathered, gathered.account != life.account, prepared !== gathered.base { self.gathered = nil }
        guard options.exchangesAutomatically, gathering == nil, !isStopped, let account = life.gathering else { return }
        logger.info("Ubiquity: \(account): \(files.path.lastComponent!.string): waiting until what other devices have written is read")
        gathering = Task { [weak self] in
            await self?.gather(account)
            await self?.endGathering()
        }
    }

    private func endGathering() {
        gathering = nil
        // Another account may have come meanwhile.
        if life.gathering != nil, !isStopped, gathered?.account != life.account { gatherIfNeeded() }
    }

    private func gather(_ account: AccountName) async {
        var pause = Duration.milliseconds(500)
        while life.gathering == account, !Task.isCancelled {
            do {
                let base = try await gatheringBase(of: account)
                return try await base.run { [weak self] in try? await self?.checkGathered(account, base) }
            } catch {
                logger.warning("Ubiquity: \(account): \(files.path.lastComponent!.string): \(error)")
                failure = error
                guard (try? await Task.sleep(for: pause)) != nil else { return }
                pause = min(pause * 2, .seconds(60))
            }
        }
    }

    private func checkGathered(_ account: AccountName, _ base: StoreBase) async throws {
        guard life.gathering == account, try await base.engine.isCaughtUp(to: nil) else { return }
        try await StoreFiles.noteGathered(base)
        learn { $0.gather(account) }
    }

    // MARK: Going

    /// Goes on with what is to be done; nil where nothing is.
    private func drive() -> Task<Void, Never>? {
        if let driving { return driving }
        guard life.step != nil, !isStopped else { return nil }
        let task = Task { [weak self] in
            guard let self else { return }
            await self.goOn()
        }
        driving = task
        return task
    }

    private func goOn() async {
        defer { driving = nil }
        while let step = life.step, !isStopped {
            // Its answer goes on with it.
            if case .ask = step, asking != nil { return }
            do {
                try await carryOut(step)
                failure = nil
            } catch {
                failure = error
                logger.error("Ubiquity: \(files.path.lastComponent!.string): \(error)")
                life.fail()
                return retryLater()
            }
        }
    }

    /// Sets out again after a while; who calls `settled()` does not wait for that.
    private func retryLater() {
        guard options.exchangesAutomatically, retrying == nil else { return }
        retrying = Task { [weak self] in
            guard (try? await Task.sleep(for: .seconds(5))) != nil else { return }
            await self?.retry()
        }
    }

    private func retry() {
        retrying = nil
        learn { $0.retry() }
    }

    private func carryOut(_ step: StoreLife.Step) async throws {
        guard let store else { return }
        switch step {
        case .ask(let passage): await ask(passage, store)
        case .prepare(let passage):
            try await prepare(passage, store)
            life.complete(step)
        case .tellWillChange(let passage):
            await tellWillChange(passage, store)
            life.complete(step)
        case .swap(let passage):
            try await swap(passage, store)
            life.complete(step)
            gatherIfNeeded()
        case .tellDidChange(let passage):
            let transition = transition(passage, to: store.current)
            store.notices.broadcast.post(.didChange(transition))
            NotificationCenter.default.post(name: .ubiquitousStoreDidChange, object: store, userInfo: ["transition": transition])
            report(store.current)
            life.complete(step)
        }
    }

    private func ask(_ passage: StoreLife.Passage, _ store: UbiquitousStore) async {
        switch options.joiningPolicy {
        case .merge: life.answer(passage, joins: true)
        case .keepSeparate: life.answer(passage, joins: false)
        case .ask(let question):
            guard let account = passage.to.account, (try? await StoreJoin.isNeeded(from: store.current)) != false else {
                return life.answer(passage, joins: true)
            }
            asking = Task { [weak self] in
                let answer = await question(account)
                await self?.answer(passage, joins: answer == .merge)
            }
        }
    }

    private func answer(_ passage: StoreLife.Passage, joins: Bool) {
        guard life.step == .ask(passage) else { return }
        learn { $0.answer(passage, joins: joins) }
    }

    private func endAsking() {
        guard asking != nil else { return }
        asking?.cancel()
        asking = nil
        answers.post { _ in () }
    }

    /// Opens the other file, and brings it close to what is to be in it.
    private func prepare(_ passage: StoreLife.Passage, _ store: UbiquitousStore) async throws {
        let (old, new) = (store.current, try await open(passage.to))
        prepared = new
        if case .account(let account) = passage.to, passage.from != .fallback(account) { try await absorbFallback(of: account, into: new) }
        if case .account(let account) = passage.to { try await files.absorbFormer(of: account, into: new) }
        guard passage.joins else { return }
        let join = StoreJoin(source: old, destination: new, conflictRetention: options.conflictRetention)
        if passage.from == .local { try await join.give(to: try files.home.peer(of: passage.to.account!, in: files.identifier)) }
        _ = try await blocking { try join.advance() }
    }

    private func open(_ place: StoreTransition.Place) async throws -> StoreBase {
        if let gathered, place == .account(gathered.account) { return gathered.base }
        let base = try await files.muted.open(place)
        try await base.engine.start()
        return base
    }

    /// Takes over what an earlier stay in the fallback file has left.
    private func absorbFallback(of account: AccountName, into base: StoreBase) async throws {
        guard try await files.exists(.fallback(account)) else { return }
        let fallback = try await files.open(.fallback(account))
        guard try await StoreJoin.isNeeded(from: fallback) else { return }
        let join = StoreJoin(source: fallback, destination: base, conflictRetention: options.conflictRetention)
        _ = try await blocking { try join.finish {} }
    }

    private func tellWillChange(_ passage: StoreLife.Passage, _ store: UbiquitousStore) async {
        origin = StoreLocation(place: passage.from, file: store.file)
        let transition = transition(passage, to: prepared!)
        store.notices.broadcast.post(.willChange(transition))
        NotificationCenter.default.post(name: .ubiquitousStoreWillChange, object: store, userInfo: ["transition": transition])
        if await !store.handlers.call(transition, within: options.transitionDeadline) {
            logger.warning(
                "Ubiquity: \(files.path.lastComponent!.string): a handler of will-change has not returned in \(options.transitionDeadline); the file changes now"
            )
        }
    }

    private func swap(_ passage: StoreLife.Passage, _ store: UbiquitousStore) async throws {
        let (old, new) = (store.current, prepared!)
        if passage.joins {
            let join = StoreJoin(source: old, destination: new, conflictRetention: options.conflictRetention)
            do {
                _ = try await blocking { try join.finish { store.use(new) } }
            } catch {
                // What is left there is looked at again when the store is opened, or comes back to that file.
                guard store.isCurrent(new) else { throw error }
                logger.error("Ubiquity: \(old.file.path): \(error)")
            }
        } else {
            try await old.pool.writeWithoutTransaction { _ in store.use(new) }
        }
        store.observations.move(to: new.pool)
        await old.runner?.stop()
        await new.engine.tell(store.notices.broadcast)
        if options.exchangesAutomatically, new.runner == nil { try? await new.run() }
        new.runner?.wake()
        prepared = nil
        if gathered?.base === new { gathered = nil }
    }

    private func transition(_ passage: StoreLife.Passage, to base: StoreBase) -> StoreTransition {
        StoreTransition(kind: passage.kind, removed: origin!, added: StoreLocation(place: passage.to, file: base.file.path))
    }

    /// Core Data's line: who looks at a log sees which file is in use.
    private func report(_ base: StoreBase) {
        let (place, file, logger) = (life.place, base.file.path, logger)
        Task {
            let peer = await base.engine.peer
            logger.info("Ubiquity: \(peer): \(file): Using local storage: \(place.isLocalStorage ? 1 : 0)")
        }
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
