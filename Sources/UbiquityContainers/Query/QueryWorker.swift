internal import Synchronization
internal import SystemPackage
internal import TreeWatching

/// Handles the events of a query's containers.
struct QueryWorker {
    private let number: UInt64
    private let core: QueryCore
    private var sources: [QueryContainer]
    private let input: AsyncStream<QueryRun.Input>.Continuation

    /// The number of items to report or to ask about at once while gathering.
    private static let batch = 256

    init(number: UInt64, core: QueryCore, sources: [QueryContainer], input: AsyncStream<QueryRun.Input>.Continuation) {
        (self.number, self.core, self.sources, self.input) = (number, core, sources, input)
    }

    mutating func take(_ input: QueryRun.Input) async {
        switch input {
        case .changes(let index, let batch): await take(batch, index)
        case .rootIsMissing(let index):
            sources[index].isThere = false
            close(index)
        case .account(let index, let isSignedIn):
            guard sources[index].isSignedIn != isSignedIn else { return }
            sources[index].isSignedIn = isSignedIn
            if isSignedIn { open(index) } else { close(index) }
        case .written(let paths): await takeWritten(paths)
        case .scan(let index, let number):
            guard sources[index].scanNumber == number else { return }
            await scan(index)
        case .elsewhere(let index, let items): await takeElsewhere(items, index)
        case .stateMayDiffer(let index, .item(let path)):
            sources[index].questions.formUnion(core.known(number, below: path).filter { $0 == path })
            ask(index)
        case .stateMayDiffer(let index, .below(let path)):
            sources[index].questions.formUnion(core.known(number, below: path))
            ask(index)
        case .states(let index, let states):
            sources[index].isAsking = false
            if sources[index].isOpen { core.apply(number) { $0.stand(states) } }
            await forgetArrived(states, index)
            ask(index)
        }
    }

    // MARK: Opening and closing

    /// Starts to read a container if it exists.
    private mutating func open(_ index: Int) {
        guard sources[index].isOpen else { return }
        sources[index].scanNumber += 1
        sources[index].held = []
        sources[index].scan = sources[index].tree.withTree { $0.scan() }
        input.yield(.scan(index, sources[index].scanNumber))
    }

    /// Removes a container from the results.
    private mutating func close(_ index: Int) {
        sources[index].scanNumber += 1
        sources[index].scan = nil
        sources[index].held = []
        sources[index].questions = []
        core.apply(number) { $0.empty(sources[index].path) }
        gathered(index)
    }

    private mutating func scan(_ index: Int) async {
        guard let scan = sources[index].scan else { return }
        let tree = sources[index].tree
        let (findings, rest) = await off { tree.withTree { $0.step(scan, limit: Self.batch) } }
        tell(findings, index) { $0.gathered($1) }
        sources[index].scan = rest
        guard rest.isDone else {
            input.yield(.scan(index, sources[index].scanNumber))
            return
        }
        sources[index].scan = nil
        let held = sources[index].held + sources[index].elsewhere.keys.sorted { $0.string < $1.string }.map { QueryLook(path: $0) }
        sources[index].held = []
        await look(held, index)
        gathered(index)
    }

    private mutating func gathered(_ index: Int) {
        sources[index].isGathered = true
        if sources.allSatisfy(\.isGathered) { core.apply(number) { $0.finish() } }
    }

    // MARK: Changes

    private mutating func take(_ batch: TreeChangeBatch, _ index: Int) async {
        var looks: [QueryLook] = []
        for change in batch {
            switch change.kind {
            case .ready, .rootBack:
                // Equal results are not reported.
                looks = []
                sources[index].isThere = true
                open(index)
            case .rootLost:
                looks = []
                sources[index].isThere = false
                close(index)
            case .overflow: break
            case .rescanned:
                // What came and went while events were lost, the watch does not know of. Somebody else may have found it.
                looks += core.known(number, below: change.path).map { QueryLook(path: $0) }
            case .created where change.isDirectory:
                // What went before the directory was watched, the watch does not know of either.
                looks += [QueryLook(path: change.path)] + core.known(number, below: change.path).map { QueryLook(path: $0) }
            case .created, .modified, .attributes: looks.append(QueryLook(path: change.path))
            case .removed: looks.append(QueryLook(path: change.path, wasDirectory: change.isDirectory))
            case .moved: looks.append(QueryLook(path: change.path, isDeep: change.isDirectory, wasDirectory: change.isExchange))
            }
            if let from = change.from, change.kind == .moved || change.kind == .modified {
                looks.append(QueryLook(path: from, isDeep: change.isExchange, wasDirectory: change.isDirectory))
            }
        }
        await take(looks, index)
    }

    /// Reports this process's own writes, before any other source reports them.
    private mutating func takeWritten(_ paths: [FilePath]) async {
        for index in sources.indices where sources[index].isOpen {
            let looks = paths.compactMap { sources[index].own($0) }.map { QueryLook(path: $0, isDeep: true) }
            guard !looks.isEmpty else { continue }
            if sources[index].scan != nil { sources[index].held += looks }
            await look(looks, index, isUrgent: true)
        }
    }

    private mutating func look(_ looks: [QueryLook], _ index: Int, isUrgent: Bool = false) async {
        // Inspects the current state, so once is enough.
        var seen: [QueryLook: Int] = [:]
        let looks = looks.enumerated().filter { seen.updateValue($0.offset, forKey: $0.element) == nil }.map(\.element)
        guard !looks.isEmpty else { return }
        let tree = sources[index].tree
        let elsewhere = sources[index].elsewhere
        let findings = await off { tree.withTree { tree in looks.flatMap { tree.look(at: $0) }.flatMap { tree.filledUp($0, elsewhere) } } }
        tell(findings, index) { $0.found($1, isUrgent: isUrgent) }
    }

    // MARK: Items that are elsewhere

    /// Replaces the items that only other devices have.
    private mutating func takeElsewhere(_ items: [FilePath: ItemState], _ index: Int) async {
        let before = sources[index].elsewhere
        sources[index].elsewhere = items
        let differing = Set(before.keys).symmetricDifference(items.keys).sorted { $0.string < $1.string }
        await take(differing.map { QueryLook(path: $0) }, index)
    }

    /// Removes items that have arrived, or are no longer anywhere.
    private mutating func forgetArrived(_ states: [FilePath: ItemState], _ index: Int) async {
        let missing: Set<ItemStatus> = [.notDownloaded, .downloading, .failed]
        let arrived = states.filter { sources[index].elsewhere[$0.key] != nil && !missing.contains($0.value.status) }.keys
        for path in arrived { sources[index].elsewhere[path] = nil }
        await take(arrived.map { QueryLook(path: $0) }, index)
    }

    /// Inspects paths, or does so after the scan.
    private mutating func take(_ looks: [QueryLook], _ index: Int) async {
        guard sources[index].isOpen, !looks.isEmpty else { return }
        if sources[index].scan != nil { sources[index].held += looks } else { await look(looks, index) }
    }

    // MARK: Reporting

    private mutating func tell(
        _ findings: [QueryTree.Finding], _ index: Int,
        _ change: (inout MetadataQueryState, [QueryTree.Finding]) -> [MetadataQueryState.Action]
    ) {
        core.apply(number) { change(&$0, findings) }
        guard sources[index].question != nil else { return }
        for case .item(let item) in findings { sources[index].questions.insert(item.path) }
        ask(index)
    }

    private mutating func ask(_ index: Int) {
        guard let question = sources[index].question, !sources[index].isAsking, !sources[index].questions.isEmpty else { return }
        let paths = Array(sources[index].questions.prefix(Self.batch))
        sources[index].questions.subtract(paths)
        sources[index].isAsking = true
        question.yield(paths)
    }

    /// Runs blocking work outside the cooperative pool.
    private func off<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        // The body throws nothing.
        try! await blocking(body)
    }
}

/// Holds a tree for use on any thread that may block, one thread at a time.
final class QueryTreeBox: Sendable {
    private let tree: Mutex<QueryTree>

    init(_ tree: QueryTree) { self.tree = Mutex(tree) }

    func withTree<Value: Sendable>(_ body: (inout QueryTree) -> Value) -> Value { tree.withLock { body(&$0) } }
}
