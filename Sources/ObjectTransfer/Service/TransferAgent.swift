internal import FileCoordination
internal import Foundation
internal import Logging
internal import SystemPackage
internal import TreeWatching
package import UbiquityContainers

/// Carries the containers of the signed-in account between a device and its cloud, for as long as it runs.
///
/// It follows the account and the configuration, watches the containers, and asks the remote from time to time. All
/// decisions are the book's; this type only decides when to look.
package actor TransferAgent {
    /// Opens the store of an account in a cloud.
    package typealias Opening = @Sendable (CloudConfiguration, AccountName) async throws -> any ObjectStore

    let home: TransferHome
    private let open: Opening
    private let options: TransferOptions
    private var log = AgentLog()
    private let board = TransferBoard()
    var run: Run?
    var status = TransferStatus(.off)
    private var followers: [UUID: AsyncStream<Void>.Continuation] = [:]
    /// Wakes the loop: a request, a change here, or the end of a wait.
    let wakes: (stream: AsyncStream<Wake>, end: AsyncStream<Wake>.Continuation)
    var dirty: Dirty = .everything
    var wantsPass = false
    /// Whether something has changed since the last pass began.
    var isWoken = false
    var waiters: [CheckedContinuation<Void, Never>] = []
    var allowed: Set<String> = []
    /// The pass that is being made.
    var passing: Task<TransferRunner.Outcome, any Error>?

    enum Wake: Sendable {
        case changed
        case timer(Int)
    }

    enum Dirty {
        case nothing
        case paths(Set<TransferPath>, Set<DocumentPath>)
        case everything
    }

    /// The transfer of one account with one cloud.
    struct Run {
        var account: AccountName
        var root: FilePath
        var cloud: CloudConfiguration
        var runner: TransferRunner
        var store: any ObjectStore
        var index: TransferIndex
        var watch: Task<Void, Never>
        var backoff = Backoff()
        var lastActivity = ContinuousClock.now
        var lastRepair: ContinuousClock.Instant?
        var lastScan: ContinuousClock.Instant?
    }

    /// Creates an agent, which does nothing before ``serve()``.
    package init(_ home: DeviceHome, options: TransferOptions = TransferOptions(), open: @escaping Opening) {
        (self.home, self.options, self.open) = (TransferHome(home), options, open)
        let (stream, end) = AsyncStream.makeStream(of: Wake.self, bufferingPolicy: .bufferingNewest(64))
        wakes = (stream, end)
    }

    // MARK: The loop

    /// How long changes here are gathered before they are sent.
    private static let gathering = Duration.milliseconds(250)
    /// How often all objects are listed, as repair, and all files here are looked at.
    private static let repairing = Duration.seconds(86400)

    /// Runs until the task is cancelled, or the device home is removed or replaced.
    ///
    /// - Parameter lock: the lock in the home; nil if nobody else can serve it.
    package func serve(holding lock: FileLock? = nil) async {
        let identity = Task { [weak self, home] in
            // The present account comes first. Where the home cannot be watched, the account is read at each pass.
            guard let changes = try? home.home.identityChanges else { return }
            for await _ in changes { await self?.note(.everything) }
        }
        defer {
            identity.cancel()
            run?.watch.cancel()
            for follower in followers.values { follower.finish() }
        }
        var timer: Task<Void, Never>?
        var turn = 0
        // The first pass begins.
        status.since = Date()
        tell()
        while !Task.isCancelled {
            if lock?.isReplaced == true {
                log.logger.warning("transfer: the lock in \(home.directory) is gone or another one, so this agent ends")
                break
            }
            let wait = await passOnce()
            // Who has asked during the pass waits for the next one.
            if wantsPass || wait == .zero, !Task.isCancelled { continue }
            for waiter in waiters { waiter.resume() }
            waiters = []
            if Task.isCancelled { continue }
            turn += 1
            let (own, wake) = (turn, wakes.end)
            timer?.cancel()
            timer = Task {
                guard (try? await Task.sleep(for: wait)) != nil else { return }
                wake.yield(.timer(own))
            }
            status.next = Date().addingTimeInterval(wait / .seconds(1))
            tell()
            await awaitWake(turn)
        }
        timer?.cancel()
        for waiter in waiters { waiter.resume() }
        waiters = []
        try? run?.index.close()
        await run?.store.close()
    }

    /// Waits until something has changed here, somebody asks, or the timer of a turn has fired.
    private func awaitWake(_ turn: Int) async {
        for await wake in wakes.stream {
            switch wake {
            case .timer(turn): return
            case .timer: continue
            case .changed:
                if wantsPass { return }
                // It was heard in the pass that has just ended.
                guard isWoken else { continue }
                // Files that a save writes come one after the other.
                try? await Task.sleep(for: Self.gathering)
                return
            }
        }
    }

    /// Makes one pass, and returns how long to wait until the next one.
    private func passOnce() async -> Duration {
        (wantsPass, isWoken) = (false, false)
        do {
            guard let run = try await currentRun() else { return .seconds(60) }
            return try await pass(run)
        } catch is CancellationError {
            return .zero
        } catch {
            set(.blocked, block: "unusable", "\(error)")
            return .seconds(60)
        }
    }

    private func pass(_ begun: Run) async throws -> Duration {
        let runner = begun.runner
        set(.working)
        await runner.set(try situation(begun))
        let look: TransferRunner.Look
        let isScanDue = run?.lastScan.map { $0.duration(to: .now) > Self.repairing } ?? true
        switch dirty {
        case .everything: look = .everything
        case _ where isScanDue: look = .everything
        case .paths(let paths, let documents): look = .paths(paths, documents: documents)
        case .nothing: look = .paths([])
        }
        dirty = .nothing
        if look == .everything { run?.lastScan = .now }
        let task = Task { try await runner.pass(look) }
        passing = task
        defer { passing = nil }
        let outcome: TransferRunner.Outcome
        do {
            outcome = try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch {
            dirty = .everything
            throw error
        }
        await gather(runner)
        if outcome.isBusy { run?.lastActivity = .now }
        // Where space is short, what is elsewhere too goes first.
        if let least = try home.home.downloads.evictBelow { await evictForSpace(least, runner) }
        var isLookDone = outcome.failure == nil
        if let block = outcome.block {
            if case .diskFull = block {} else { isLookDone = false }
        }
        if !isLookDone {
            switch look {
            case .everything: dirty = .everything
            case .paths(let paths, let documents): merge(paths, documents)
            }
        }
        if let failure = outcome.failure {
            set(.waiting, failure)
            return run?.backoff.next(jitter: .random(in: 0...1)) ?? .seconds(60)
        }
        if let block = outcome.block {
            set(.blocked, block: block.name, block.text(begun.cloud.remote))
            switch block {
            case .rootGone, .diskFull: return .seconds(15)
            // A listing may have been late.
            case .remoteReplaced: return run?.backoff.next(jitter: .random(in: 0...1)) ?? .seconds(60)
            case .quota: return .seconds(60)
            case .authorization, .wrongPassword, .newerFormat, .unusable: return .seconds(900)
            }
        }
        run?.backoff.reset()
        if outcome.hasMore { return .zero }
        if run?.lastRepair == nil { run?.lastRepair = .now }
        if let last = run?.lastRepair, last.duration(to: .now) > Self.repairing {
            run?.lastRepair = .now
            // What it finds is sent in the next pass.
            _ = try? await runner.verify()
        }
        set(.idle)
        if await runner.awaitsLook {
            dirty = .everything
            return .seconds(2)
        }
        return schedule(begun)
    }

    /// Evicts documents where the disk runs low; their presenters are asked.
    private func evictForSpace(_ least: Int64, _ runner: TransferRunner) async {
        guard let root = run?.root, let account = run?.account else { return }
        let directory = root.appending(account.description)
        let count = try? await runner.evictForSpace(least) { path, evict in
            let url = URL(filePath: directory.pushing(FilePath(path.description)).string, directoryHint: .notDirectory)
            try await FileCoordinator.evict(url, deadline: .after(.seconds(5)), accessor: evict)
        }
        if let count, count > 0 { log.logger.info("transfer: \(count) documents evicted, because less than \(least) bytes were free") }
    }

    private func schedule(_ begun: Run) -> Duration {
        PollSchedule(isMetered: begun.cloud.metered == true).wait(after: (run?.lastActivity ?? .now).duration(to: .now))
    }

    func situation(_ run: Run) throws -> TransferSituation {
        // The account may have been switched since the pass began.
        guard let account = try home.home.signedIn, account.name == run.account else { throw CancellationError() }
        return TransferSituation(
            peers: Set(account.record.peers.values.compactMap { PeerIdentifier($0.identifier) }),
            limit: try home.home.configuration.massDeletion ?? MassDeletionLimit(), allowed: allowed,
            downloads: DownloadRules(try home.home.downloads))
    }

    /// Waits until the first pass has begun.
    ///
    /// - Returns: false if the task was cancelled, or the agent has ended, before.
    package func begun() async -> Bool {
        for await _ in follow() where status.since != nil { return true }
        return false
    }

    // MARK: The account

    /// Returns the run of the account that is signed in; nil if there is nothing to do.
    private func currentRun() async throws -> Run? {
        guard let account = try home.home.signedIn, let cloud = try home.home.cloud, home.home.usesCloud else {
            end()
            set(.off, "no account with a cloud is signed in; set one up with: ubcontrol setup cloud REMOTE:DIRECTORY")
            return nil
        }
        let root = home.home.root(of: account.record)
        if cloud.paused == true {
            // Nothing runs meanwhile, also no program that reaches the remote.
            end()
            (status.account, status.remote) = (account.name.description, cloud.remote)
            set(.paused, "paused; go on with: ubcontrol transfer resume")
            return nil
        }
        if let run, run.account == account.name, run.root == root, run.cloud == cloud { return run }
        // A limit alone needs no new connection.
        if var run, run.account == account.name, run.root == root, run.cloud.remote == cloud.remote, run.cloud.rclone == cloud.rclone,
            run.cloud.rcloneConfig == cloud.rcloneConfig
        {
            if run.cloud.bytesPerSecond != cloud.bytesPerSecond { try await run.store.limit(bytesPerSecond: cloud.bytesPerSecond) }
            run.cloud = cloud
            self.run = run
            return try await currentRun()
        }
        end()
        (status.account, status.remote) = (account.name.description, cloud.remote)
        log.name(status)
        let store: any ObjectStore
        do {
            store = try await open(cloud, account.name)
            if let limit = cloud.bytesPerSecond { try await store.limit(bytesPerSecond: limit) }
        } catch let error as ObjectStoreError {
            set(.blocked, block: error.kind.rawValue, error.reason)
            return nil
        }
        let disk = ContainersDisk(root: root, account: account.name)
        await disk.removeStaged()
        var packages = FilePackages()
        packages.extensions.formUnion((try home.home.downloads.packages ?? []).map { $0.lowercased() })
        FileCoordinator.filePackages = packages
        // A container whose identifier looks like a package's name is none.
        FilePackages.addContainers(account.record.peers.keys.map { root.appending(account.name.description).appending($0) })
        let documents = DocumentDisk(root: root, account: account.name, packages: packages)
        await documents.recover()
        let index = try TransferIndex(home.index(of: account.name))
        let runner = try TransferRunner(
            account: account.name, store: store, disk: disk, documents: documents, memory: index, situation: TransferSituation(peers: []),
            options: options, board: board)
        dirty = .everything
        run = Run(
            account: account.name, root: root, cloud: cloud, runner: runner, store: store, index: index,
            watch: watch(root.appending(account.name.description), account.name, packages))
        return run
    }

    private func end() {
        run?.watch.cancel()
        try? run?.index.close()
        if let store = run?.store { Task { await store.close() } }
        run = nil
        (status.account, status.remote) = (nil, nil)
        log.name(status)
    }

    // MARK: Changes here

    private func watch(_ directory: FilePath, _ account: AccountName, _ packages: FilePackages) -> Task<Void, Never> {
        var options = TreeWatcher.Options()
        options.awaitsRoot = true
        guard let changes = try? TreeWatcher(directory, options: options).changes else { return Task {} }
        return Task { [weak self] in
            for await batch in changes {
                var paths: Set<TransferPath> = []
                var documents: Set<DocumentPath> = []
                var isWide = false
                for change in batch {
                    switch change.kind {
                    case .created, .modified, .removed, .moved:
                        for path in [change.path, change.from].compactMap(\.self) {
                            if let item = Self.item(path, below: directory, account) {
                                paths.insert(item)
                            } else if let document = Self.document(path, below: directory, packages), !change.isDirectory || packages.contains(path) {
                                documents.insert(document)
                            } else if change.isDirectory, change.kind != .created {
                                isWide = true
                            }
                        }
                        // What a directory held when it came is not reported file by file.
                        if change.isDirectory, change.kind == .moved { isWide = true }
                    case .attributes: continue
                    case .ready, .overflow, .rescanned, .rootLost, .rootBack: isWide = true
                    }
                }
                if isWide {
                    await self?.note(.everything)
                } else if !paths.isEmpty || !documents.isEmpty {
                    await self?.note(.paths(paths, documents))
                }
            }
        }
    }

    private static func item(_ path: FilePath, below directory: FilePath, _ account: AccountName) -> TransferPath? {
        var rest = path
        guard rest.removePrefix(directory) else { return nil }
        return TransferPath(rest.string, of: account)
    }

    /// The document that a change of a path concerns: of a placeholder and a conflict copy, the one beside it.
    private static func document(_ path: FilePath, below directory: FilePath, _ packages: FilePackages) -> DocumentPath? {
        var rest = path
        guard rest.removePrefix(directory), let name = rest.lastComponent?.string else { return nil }
        if Placeholder.isName(name) {
            // A hashed name tells nothing of a document that is gone; the next look at everything does.
            let item = Placeholder(at: path)?.name ?? String(name.dropFirst().dropLast(Placeholder.suffix.count))
            rest = rest.removingLastComponent().appending(item)
        } else if let original = ItemPath.original(ofConflictCopy: name) {
            rest = rest.removingLastComponent().appending(original)
        }
        return DocumentPath(of: rest.string, packages)
    }

    private func note(_ change: Dirty) {
        switch (change, dirty) {
        case (.everything, _): dirty = .everything
        case (.paths(let paths, let documents), _): merge(paths, documents)
        case (.nothing, _): break
        }
        isWoken = true
        wakes.end.yield(.changed)
    }

    private func merge(_ paths: Set<TransferPath>, _ documents: Set<DocumentPath>) {
        switch dirty {
        case .everything: break
        case .nothing: dirty = .paths(paths, documents)
        case .paths(let others, let otherDocuments): dirty = .paths(others.union(paths), otherDocuments.union(documents))
        }
    }

    // MARK: The status

    private func set(_ activity: TransferStatus.Activity, block: String? = nil, _ reason: String? = nil) {
        if status.activity != activity || status.block != block { status.since = Date() }
        (status.activity, status.block, status.reason) = (activity, block, reason)
        log.note(status)
        tell()
    }

    /// Reads the runner's facts into the status.
    private func gather(_ runner: TransferRunner) async {
        let facts = await runner.facts
        status.device = facts.device
        status.bulletin = facts.bulletin
        status.others = facts.others
        (status.filesToSend, status.bytesToSend) = facts.toSend
        (status.filesToFetch, status.bytesToFetch) = facts.toFetch
        (status.filesInCloud, status.documentsElsewhere) = (facts.inCloud, facts.elsewhere)
        status.faults = facts.faults.map { TransferStatus.Fault(path: $0, reason: $1.reason, attempts: $1.attempts) }.sorted { $0.path < $1.path }
        status.quarantine = facts.quarantine
        status.guarded = facts.guarded
        allowed.formIntersection(Set(facts.guarded.keys))
        status.bytesPerSecond = run?.cloud.bytesPerSecond
        status.isMetered = run?.cloud.metered == true
    }

    func tell() { for follower in followers.values { follower.yield() } }

    /// The status at this moment.
    func currentStatus() async -> TransferStatus {
        if let run, status.activity == .working { await gather(run.runner) }
        var status = status
        status.transfers = board.entries
        (status.sent, status.received) = board.bytes
        return status
    }

    /// A signal now, and one after each change of the status or of what is transferred.
    package func follow() -> AsyncStream<Void> {
        let identifier = UUID()
        let (stream, follower) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        followers[identifier] = follower
        follower.onTermination = { [weak self] _ in Task { await self?.forget(identifier) } }
        follower.yield()
        return stream
    }

    private func forget(_ follower: UUID) { followers[follower] = nil }
}
