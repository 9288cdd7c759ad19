internal import GRDB
internal import Logging
internal import StoreExchange
internal import StoreRecords
internal import TreeWatching
internal import UbiquityContainers
internal import UbiquityStores

/// Opens the store of a key-value store, saves what is set, and reads what others have written.
///
/// Saves and reads of the file come one after another: a read shows every save before it, and a change that is pending
/// during a read is in no save.
actor KeyValueKeeper {
    private let options: KeyValueOptions
    private let shared: SharedKeyValues
    /// Whether the app has the handle before the store is open.
    private let opensLater: Bool
    /// The open store.
    private(set) var store: UbiquitousStore?
    private var isClosed = false
    private var closing: Task<Void, any Error>?
    private let turns = QueueExecutor()
    /// The end of the last turn.
    private var lastTurn: Task<Void, Never>?
    /// The tasks that observe the store or wait for a time.
    private var observing: [Task<Void, Never>] = []
    /// The saves that wait for their time, by number.
    private var saving: [Int: Task<Void, Never>] = [:]
    private var lastSaving = 0
    private var opening: Task<Void, Never>?
    private var handler: TransitionHandler?
    /// The failed saves since the last good one.
    private var failures = 0

    init(_ options: KeyValueOptions, _ shared: SharedKeyValues, opensLater: Bool) {
        self.options = options
        self.shared = shared
        self.opensLater = opensLater
    }

    /// Runs a body after those that were asked for before, also if the caller is cancelled.
    private func inTurn<Result: Sendable>(
        _ body: @escaping @Sendable (isolated KeyValueKeeper) async throws -> Result
    ) async throws -> Result {
        let before = lastTurn
        // On threads of its own: the caller may block one of the cooperative pool, or all of them.
        let task = Task(executorPreference: turns) {
            await before?.value
            return try await body(self)
        }
        lastTurn = Task(executorPreference: turns) { _ = await task.result }
        return try await task.value
    }

    // MARK: Opening

    /// Opens the store, and reads its values.
    ///
    /// - Throws: the errors of ``KeyValueOptions/open()``, and GRDB's.
    func open() async throws { _ = try await inTurn { keeper in try await keeper.opened() } }

    /// Opens the store in the background, and tries again until it is open.
    nonisolated func openLater() { Task { await beginOpening() } }

    private func beginOpening() {
        guard !isClosed else { return }
        // What is set from now on belongs to this account, although its file cannot be read yet.
        let home = try? options.home ?? .standard()
        if let account = try? home?.account { shared.begin(of: account.description) }
        opening = Task {
            var attempts = 0
            while !Task.isCancelled {
                do {
                    return try await open()
                } catch {
                    attempts += 1
                    note(error)
                }
                guard (try? await options.clock.sleep(for: options.pause(after: attempts))) != nil else { return }
            }
        }
    }

    private func opened() async throws -> UbiquitousStore {
        if let store { return store }
        guard !isClosed else { throw KeyValueError(.closed, "The key-value store has been closed; open it again.") }
        let store = try await options.open()
        // Observed before the first read, so that nothing is missed.
        let notices = store.notices.broadcast.subscribe()
        do {
            try await read(store)
        } catch {
            try? await store.close()
            throw error
        }
        // It may have been closed meanwhile, by somebody who waits for this turn.
        guard !isClosed else {
            try? await store.close()
            throw KeyValueError(.closed, "The key-value store has been closed; open it again.")
        }
        self.store = store
        handler = store.onWillChange { [weak self] _ in try? await self?.save() }
        observe(store, notices)
        return store
    }

    // MARK: Observing

    private func observe(_ store: UbiquitousStore, _ notices: AsyncStream<StoreNotice>) {
        observing = [
            Task { [weak self, clock = options.clock] in
                // It follows the store from file to file, and delivers once more in each.
                let observation = ValueObservation.tracking(region: Table(StoreMetadata.table), fetch: { _ in () })
                while !Task.isCancelled {
                    do {
                        for try await _ in observation.values(in: store, bufferingPolicy: .bufferingNewest(1)) { await self?.refreshInBackground() }
                        return
                    } catch {
                        await self?.note(error)
                    }
                    guard (try? await clock.sleep(for: .seconds(5))) != nil else { return }
                }
            },
            Task { [weak self] in
                for await notice in notices {
                    guard case .didChange(let transition) = notice, transition.kind == .initialImportCompleted,
                        let account = transition.added.place.account
                    else { continue }
                    await self?.refreshInBackground()
                    self?.shared.gathered(account.description)
                }
            },
            Task { [weak self, exchanges = options.exchangesAutomatically] in
                // The exchange tells of writes by other processes from its first look at the file on; this read shows
                // those before.
                guard exchanges else { return }
                try? await store.runner.start()
                await self?.refreshInBackground()
            },
        ]
    }

    private func refreshInBackground() async {
        do {
            try await refresh()
        } catch {
            note(error)
        }
    }

    /// Reads the values of the file in use, and tells observers what others have changed.
    private func refresh() async throws {
        try await inTurn { keeper in
            guard let store = keeper.store else { return }
            try await keeper.read(store)
        }
    }

    private func read(_ store: UbiquitousStore) async throws {
        let (file, values) = try await store.read { db in
            let table = KeyValueTable(db)
            return (try table.file(), try table.values())
        }
        shared.merge(values, from: file, isObserved: opensLater)
        // Changes for this account may have waited for its return.
        if shared.schedule() { beginSaving() }
    }

    // MARK: Saving

    /// Saves what is pending after the delay.
    nonisolated func saveLater() { Task { await beginSaving() } }

    private func beginSaving() {
        guard !isClosed else { return }
        // Detached from a handler of will-change, whose task can write only to the file that the store leaves.
        lastSaving += 1
        saving[lastSaving] = Task.detached { [number = lastSaving] in await self.saveAfterDelay(number) }
    }

    private func saveAfterDelay(_ number: Int) async {
        defer { saving[number] = nil }
        repeat {
            guard (try? await options.clock.sleep(for: options.pause(after: failures))) != nil else { return }
            shared.beginScheduled()
            do {
                return try await save()
            } catch {
                note(error)
            }
        } while !isClosed && shared.schedule()
    }

    /// Saves what is pending.
    ///
    /// - Throws: the errors of opening, `UbiquitousStoreError`, and GRDB's; the changes are pending again then.
    func save() async throws {
        try await inTurn { keeper in
            do {
                try await keeper.saveNow()
                keeper.failures = 0
                keeper.shared.note(nil)
            } catch {
                keeper.failures += 1
                keeper.shared.note(error)
                throw error
            }
        }
    }

    private func saveNow() async throws {
        let store = try await opened()
        var waiting: [String] = []
        while let taken = shared.take() {
            do {
                try await store.write { db in try KeyValueTable(db).save(taken) }
                shared.finishSave()
                break
            } catch is KeyValueTable.OtherAccount {
                // The changes wait until their account returns; those of this account are saved.
                waiting += taken.changes.keys
                shared.failSave()
                try await read(store)
            } catch {
                shared.failSave()
                throw error
            }
        }
        if let key = waiting.inByteOrder.first {
            throw KeyValueError(
                .waitsForAccount,
                "\(key.debugDescription) was set for an account that is not signed in any more; it is saved when the account returns, while the program runs.",
                path: key)
        }
    }

    /// Saves what is pending, exchanges with the other devices, and reads what has come.
    func synchronize() async throws {
        try await save()
        // Not in a turn: the store may change files meanwhile, and asks for a save before.
        try await store?.settled()
        try await refresh()
        // Changes that waited for the account that is signed in now.
        if shared.hasPending { try await save() }
    }

    // MARK: Closing

    /// Saves, and closes the store; several calls are one.
    ///
    /// - Throws: the error of the save, and the store stays open. `waitsForAccount` closes it nevertheless.
    func close() async throws {
        if let closing { return try await closing.value }
        guard !isClosed else { return }
        let task = Task(executorPreference: turns) { try await self.closeNow() }
        closing = task
        defer { closing = nil }
        try await task.value
    }

    private func closeNow() async throws {
        shared.setClosed(true)
        var lost: KeyValueError?
        if shared.hasUnsaved {
            do {
                try await save()
            } catch let error as KeyValueError where error.code == .waitsForAccount {
                lost = error
            } catch {
                shared.setClosed(false)
                throw error
            }
        }
        try await end()
        if let lost { throw lost }
    }

    /// Closes the store, after a save if that is possible.
    func finish() async {
        if shared.hasUnsaved { try? await save() }
        try? await end()
    }

    private func end() async throws {
        isClosed = true
        for task in observing + saving.values + [opening].compactMap({ $0 }) { task.cancel() }
        handler?.cancel()
        for task in observing { await task.value }
        // Earlier turns use the store.
        let store = try await inTurn { keeper in
            defer { keeper.store = nil }
            return keeper.store
        }
        shared.changes.close()
        try await store?.close()
    }

    private func note(_ error: any Error) {
        guard !isClosed, !(error is CancellationError) else { return }
        // A failure that repeats is logged once.
        if "\(error)" != shared.failure.map({ "\($0)" }) {
            Logger.ubiquity.error("The key-value store \(options.container ?? "of the first declared container") has failed: \(error)")
        }
        shared.note(error)
    }
}
