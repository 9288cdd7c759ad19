internal import Synchronization
internal import SystemPackage

/// A query's state under its lock, with its readers: each change and its report are one step.
///
/// Each start of the query has its own run; results of an earlier run are ignored.
final class QueryCore: Sendable {
    private struct Guarded {
        var state: MetadataQueryState
        var predicate: MetadataQueryState.Predicate
        var order: MetadataQueryState.Order
        var interval: Duration
        var readers: [ObjectIdentifier: Weak] = [:]
        /// The number of the current run.
        var run: UInt64 = 0
        var task: Task<Void, Never>?
        var timer: Task<Void, Never>?
    }

    private struct Weak: Sendable {
        weak let reader: QueryReader?
    }

    private let clock: any Clock<Duration>
    private let makeRun: @Sendable (_ core: QueryCore, _ number: UInt64) -> Task<Void, Never>
    private let guarded: Mutex<Guarded>

    init(
        predicate: @escaping MetadataQueryState.Predicate, order: @escaping MetadataQueryState.Order, interval: Duration, clock: any Clock<Duration>,
        run: @escaping @Sendable (_ core: QueryCore, _ number: UInt64) -> Task<Void, Never>
    ) {
        self.clock = clock
        makeRun = run
        guarded = Mutex(
            Guarded(state: MetadataQueryState(predicate: predicate, order: order), predicate: predicate, order: order, interval: interval))
    }

    // MARK: The query's side

    var results: [MetadataItem] { guarded.withLock { $0.state.results } }
    var phase: MetadataQueryState.Phase { guarded.withLock { $0.state.phase } }

    var predicate: MetadataQueryState.Predicate {
        get { guarded.withLock { $0.predicate } }
        set { change { $0.predicate = newValue } }
    }

    var order: MetadataQueryState.Order {
        get { guarded.withLock { $0.order } }
        set { change { $0.order = newValue } }
    }

    var interval: Duration {
        get { guarded.withLock { $0.interval } }
        set { guarded.withLock { $0.interval = newValue } }
    }

    private func change(_ body: (inout Guarded) -> Void) {
        guarded.withLock { guarded in
            body(&guarded)
            if guarded.state.phase != .stopped { begin(&guarded) }
        }
    }

    func start() -> Bool {
        guarded.withLock { guarded in
            guard guarded.state.phase == .stopped else { return false }
            begin(&guarded)
            return true
        }
    }

    func stop() {
        guarded.withLock { guarded in
            guarded.state.stop()
            end(&guarded)
        }
    }

    func disableUpdates() { guarded.withLock { $0.state.disableUpdates() } }

    func enableUpdates() {
        guarded.withLock { guarded in
            let actions = guarded.state.enableUpdates()
            perform(actions, &guarded)
        }
    }

    func subscribe() -> QueryReader {
        let reader = QueryReader()
        guarded.withLock { guarded in
            if let present = guarded.state.present { reader.take(present) }
            guarded.readers = guarded.readers.filter { $0.value.reader != nil }
            guarded.readers[ObjectIdentifier(reader)] = Weak(reader: reader)
        }
        return reader
    }

    private func begin(_ guarded: inout Guarded) {
        end(&guarded)
        let actions = guarded.state.start(predicate: guarded.predicate, order: guarded.order)
        perform(actions, &guarded)
        guarded.task = makeRun(self, guarded.run)
    }

    private func end(_ guarded: inout Guarded) {
        guarded.run += 1
        guarded.task?.cancel()
        guarded.timer?.cancel()
        (guarded.task, guarded.timer) = (nil, nil)
    }

    // MARK: The run's side

    /// Changes the state for a run, if it is still the current one.
    func apply(_ number: UInt64, _ change: (inout MetadataQueryState) -> [MetadataQueryState.Action]) {
        guarded.withLock { guarded in
            guard guarded.run == number else { return }
            let actions = change(&guarded.state)
            perform(actions, &guarded)
        }
    }

    /// Returns the known items at or below a path.
    func known(_ number: UInt64, below path: FilePath) -> [FilePath] {
        guarded.withLock { $0.run == number ? $0.state.known(below: path) : [] }
    }

    private func perform(_ actions: [MetadataQueryState.Action], _ guarded: inout Guarded) {
        for action in actions {
            switch action {
            case .tell(let update): for reader in guarded.readers.values { reader.reader?.take(update) }
            case .wait:
                guarded.timer = Task { [weak self, clock, interval = guarded.interval, run = guarded.run] in
                    guard (try? await clock.sleep(for: interval)) != nil else { return }
                    self?.apply(run) { $0.intervalPassed() }
                }
            }
        }
    }
}
