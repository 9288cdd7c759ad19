internal import FileCoordination
internal import SystemPackage
internal import TreeWatching

/// One run of a query, from its start to its stop: hears of what happens, looks, and tells the core what was found.
///
/// Everything that happens comes in by one queue and is worked off in its order, so that a later look at a path is always told later. A scan goes on in steps
/// between which other things have their turn; what changes meanwhile is looked at when it is done.
struct QueryRun: Sendable {
    let number: UInt64
    let core: QueryCore
    let containers: [UbiquityContainer]
    let scope: MetadataQuery.Scope
    let includesHidden: Bool
    let statusSource: (@Sendable (UbiquityContainer) -> any ItemStatusSource)?

    /// What can happen; the number is a container's.
    enum Input: Sendable {
        case changes(Int, TreeChangeBatch)
        case rootIsMissing(Int)
        /// Whether the container's account is signed in.
        case account(Int, isSignedIn: Bool)
        /// A coordinated write of this process has ended.
        case written([FilePath])
        /// Go on with this scan.
        case scan(Int, UInt64)
        case statusMayDiffer(Int, ItemStatusChange)
        case statuses(Int, [FilePath: ItemStatus])
    }

    /// Runs until the task is cancelled.
    func run() async {
        let (inputs, input) = AsyncStream.makeStream(of: Input.self)
        let writes = FileCoordinator.observeWrites { input.yield(.written($0)) }
        defer { withExtendedLifetime(writes) {} }
        await withTaskGroup { group in
            var sources: [QueryContainer] = []
            for (index, container) in containers.enumerated() {
                group.addTask {
                    await QueryRoot.watch(container.path) { input.yield(.changes(index, $0)) }
                    if !Task.isCancelled { input.yield(.rootIsMissing(index)) }
                }
                group.addTask { await followAccount(of: container, index, input) }
                var source = QueryContainer(container, scope: scope, includesHidden: includesHidden)
                if let status = statusSource?(container) {
                    let (questions, question) = AsyncStream.makeStream(of: [FilePath].self)
                    source.question = question
                    group.addTask {
                        for await change in status.changes() { input.yield(.statusMayDiffer(index, change)) }
                    }
                    group.addTask {
                        for await paths in questions { input.yield(.statuses(index, (try? await status.statuses(of: paths)) ?? [:])) }
                    }
                }
                sources.append(source)
            }
            var worker = QueryWorker(number: number, core: core, sources: sources, input: input)
            for await input in inputs { await worker.take(input) }
            group.cancelAll()
        }
    }

    /// Tells whether the container's account is the one that is signed in, as that changes.
    private func followAccount(of container: UbiquityContainer, _ index: Int, _ input: AsyncStream<Input>.Continuation) async {
        func look() {
            // A home that cannot be read says nothing of the account.
            guard let account = try? container.home.account else { return }
            input.yield(.account(index, isSignedIn: account == container.account))
        }
        guard let changes = try? container.home.identityChanges else { return look() }
        for await token in changes {
            if token == nil { input.yield(.account(index, isSignedIn: false)) } else { look() }
        }
    }
}

/// A container, as a run of a query knows it.
struct QueryContainer: Sendable {
    let path: FilePath
    /// As coordination spells it.
    let canonical: FilePath
    let tree: QueryTreeBox
    /// Takes what is to be asked of the status source; nil without one.
    var question: AsyncStream<[FilePath]>.Continuation?
    var isSignedIn: Bool?
    /// Nil until that is known.
    var isThere: Bool?
    var scan: QueryTree.Scan?
    /// Tells a scan from those that were given up.
    var scanNumber: UInt64 = 0
    /// Whether all that was there at the beginning was found.
    var isGathered = false
    /// What is to be looked at when the scan is done.
    var held: [QueryLook] = []
    /// The items whose status is to be asked for.
    var questions: Set<FilePath> = []
    var isAsking = false

    init(_ container: UbiquityContainer, scope: MetadataQuery.Scope, includesHidden: Bool) {
        path = container.path
        canonical = QueryRoot.canonical(container.path)
        tree = QueryTreeBox(QueryTree(container: container.path, scope: scope, includesHidden: includesHidden))
    }

    var isOpen: Bool { isSignedIn == true && isThere == true }

    /// A path as the container spells it.
    func own(_ path: FilePath) -> FilePath? {
        var relative = path
        if relative.removePrefix(canonical) { return self.path.pushing(relative) }
        return path.starts(with: self.path) ? path : nil
    }
}
