internal import Foundation
internal import GRDB
internal import Logging
internal import StoreExchange
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import TreeWatching
internal import UbiquityContainers

/// Moves a store from file to file as accounts come and go: it performs the steps of ``StoreLife``.
actor StoreKeeper {
    let files: StoreFiles
    var life: StoreLife
    private(set) weak var store: (any FollowingStore)?
    /// Reads the account's content while another file is in use.
    let gathering: AccountGathering
    /// The change of files in progress.
    private let change = FileChange()
    /// The task that removes the file that the store has left.
    var erasing: Task<Void, Never>?
    private var driving: Task<Void, Never>?
    private var question: PendingQuestion?
    private var questions = 0
    /// Wakes waiting callers when a step is done or an answer has come.
    private let answers = Broadcast<Void>()
    var retrying: Task<Void, Never>?
    var watching: Task<Void, Never>?
    /// The reason why the home is not watched.
    var unwatched: (any Error)?
    var failure: (any Error)?
    var isStopped = false

    /// A question that the app has not answered yet.
    private struct PendingQuestion {
        let passage: StoreLife.Passage
        let number: Int
        let task: Task<Void, Never>
    }

    var options: StoreOptions { files.context.options }
    var logger: Logger { files.context.logger }
    /// The store's file name, for messages.
    nonisolated var name: String { files.path.lastComponent!.string }

    init(_ life: StoreLife, _ files: StoreFiles) {
        self.life = life
        self.files = files
        gathering = AccountGathering(rebuilding: files.context.options.rebuildsFromUbiquitousContent ? life.gathering : nil)
    }

    /// Begins, after the store has been created.
    func start(_ store: any FollowingStore) {
        self.store = store
        change.tellBeginning(store, by: self)
        report(store.current)
        if options.advanced.removesFilesOfGoneAccounts { erase { files, isStopped in try await files.eraseGone(unless: isStopped) } }
        watch()
        gatherIfNeeded()
        _ = drive()
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
        gathering.cancel()
        for task in [watching, question?.task, retrying] { task?.cancel() }
        answers.close()
    }

    // MARK: State

    func learn(_ what: (inout StoreLife) -> Void) {
        what(&life)
        if let question, life.step != .ask(question.passage) { endAsking() }
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
        await gathering.moveAside(by: self)
        try await arrive()
        if let account = life.gathering, !isStopped {
            let base: StoreBase
            do {
                base = try await gathering.base(of: account, by: self)
            } catch is CancellationError where !Task.isCancelled {
                // While the file was being opened, the content has been read, or another account has signed in.
                return try await settle()
            }
            try await base.runner.settleByPolicy()
            try await gathering.check(account, base, by: self)
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
    var gatheringRunner: ExchangeRunner? { gathering.opened?.base.runner }

    /// The last obstacle, in words; nil if there is none.
    var obstacle: String? { (failure ?? gathering.refusal ?? unwatched).map { String(describing: $0) } }

    // MARK: Gathering

    /// Opens the file and the container of an account whose content has not been read.
    func gatheringBase(of account: AccountName) async throws -> StoreBase { try await gathering.base(of: account, by: self) }

    /// Opens the file of the signed-in account; returns nil if its content has been read, or nobody is signed in.
    func gatheringBase() async throws -> StoreBase? { try await gathering.base(by: self) }

    func gatherIfNeeded() { gathering.beginIfNeeded(besides: change.prepared, by: self) }

    func gather(_ account: AccountName) async { await gathering.gather(account, by: self) }

    func endGathering() { gathering.end(by: self) }

    func checkGathered(_ account: AccountName, _ base: StoreBase) async throws { try await gathering.check(account, base, by: self) }

    /// Notes that the account's file has been moved aside for a rebuild, or why it has not.
    func endMovingAside(_ refusal: (any Error)?) async {
        if let refusal { logger.error("\(name): \(refusal)") }
        gathering.endMovingAside(refusal)
        await identify()
    }

    // MARK: Steps

    /// Starts the pending steps; returns nil if there are none.
    private func drive() -> Task<Void, Never>? {
        if let driving { return driving }
        guard let step = life.step, !isStopped else { return nil }
        // The app's answer will start it again.
        if case .ask = step, question != nil { return nil }
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
            if case .ask = step, question != nil { return }
            await files.moments?(.begins(step.kind))
            do {
                try await carryOut(step)
                failure = nil
            } catch {
                await files.moments?(.failed(step.kind))
                failure = error
                logger.error("\(name): \(error)", metadata: .facts([.event: "stepFailed", .error: "\(error)"]))
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
            try await change.prepare(passage, store, by: self)
            await complete(step)
        case .tellWillChange(let passage):
            await change.tellWillChange(passage, store, by: self)
            await complete(step)
        case .swap(let passage):
            try await change.swap(passage, store, by: self)
            await complete(step)
            gatherIfNeeded()
        case .tellDidChange(let passage):
            let left = change.tellDidChange(passage, store, by: self)
            report(store.current)
            if let left { eraseIfGone(passage, left) }
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
        case .ask(let ask):
            guard let account = passage.to.account, (try? await StoreJoin.isNeeded(from: store.current)) != false else {
                return life.answer(passage, joins: true)
            }
            // The question may have become void in the meantime.
            guard life.step == .ask(passage), question == nil, !isStopped else { return }
            questions += 1
            let number = questions
            question = PendingQuestion(
                passage: passage, number: number,
                task: Task { [weak self] in
                    let answer = await ask(account)
                    await self?.answer(number, joins: answer == .merge)
                })
        }
    }

    private func answer(_ number: Int, joins: Bool) {
        guard let question, question.number == number else { return }
        learn { $0.answer(question.passage, joins: joins) }
    }

    private func endAsking() {
        guard let asked = question else { return }
        question = nil
        asked.task.cancel()
        answers.post { _ in () }
    }

    /// Logs Core Data's line, which shows the file in use.
    private func report(_ base: StoreBase) {
        let (place, file, logger) = (life.place, base.file.path, logger)
        Task {
            let peer = await base.runner.peer
            logger.info(
                "\(peer): \(file): Using local storage: \(place.isLocalStorage ? 1 : 0)",
                metadata: .facts([.event: "using", .peer: peer.description, .file: file.string]))
        }
    }

    /// Returns the store's files: the one in use, and the others that exist.
    func locations(besides file: FilePath) async throws -> [StoreLocation] {
        let others = try await files.locations()
        return [StoreLocation(place: life.place, file: file)] + others.filter { $0.file != file }
    }

    /// The place of the store.
    var place: StoreTransition.Place { life.place }

    /// Whether a question waits for the app's answer.
    var isAsking: Bool { question != nil }
}
