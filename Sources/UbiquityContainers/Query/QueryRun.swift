internal import FileCoordination
internal import SystemPackage
internal import TreeWatching

/// One run of a query, from its start to its stop: receives events, inspects files, and reports results to the core.
///
/// All events come through one queue and are handled in order, so that a later inspection of a path is always reported
/// later. A scan runs in steps, with other events between them; paths that change meanwhile are inspected after the
/// scan.
struct QueryRun: Sendable {
    let number: UInt64
    let core: QueryCore
    let containers: [UbiquityContainer]
    let scope: MetadataQuery.Scope
    let includesHidden: Bool
    let transport: (@Sendable (UbiquityContainer) -> any Transport)?

    /// The events; the number identifies a container.
    enum Input: Sendable {
        case changes(Int, TreeChangeBatch)
        case rootIsMissing(Int)
        /// Whether the container's account is signed in.
        case account(Int, isSignedIn: Bool)
        /// A coordinated write of this process has ended.
        case written([FilePath])
        /// The next step of this scan is due.
        case scan(Int, UInt64)
        case stateMayDiffer(Int, TransportChange)
        case states(Int, [FilePath: ItemState])
        /// All items of the container that only other devices have.
        case elsewhere(Int, [FilePath: ItemState])
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
                if let transport = transport?(container) {
                    let (questions, question) = AsyncStream.makeStream(of: [FilePath].self)
                    source.question = question
                    group.addTask {
                        for await change in transport.changes() {
                            // What is elsewhere comes first, so that the states of these items are asked for too.
                            if case .below = change, let items = try? await transport.elsewhere(below: container.path) {
                                input.yield(.elsewhere(index, items))
                            }
                            input.yield(.stateMayDiffer(index, change))
                        }
                    }
                    group.addTask {
                        for await paths in questions { input.yield(.states(index, (try? await transport.states(of: paths)) ?? [:])) }
                    }
                }
                sources.append(source)
            }
            var worker = QueryWorker(number: number, core: core, sources: sources, input: input)
            for await input in inputs { await worker.take(input) }
            group.cancelAll()
        }
    }

    /// Reports whether the container's account is signed in, whenever that changes.
    private func followAccount(of container: UbiquityContainer, _ index: Int, _ input: AsyncStream<Input>.Continuation) async {
        func look() {
            // An unreadable home tells nothing about the account.
            guard let account = try? container.home.account else { return }
            input.yield(.account(index, isSignedIn: account == container.account))
        }
        guard let changes = try? container.home.identityChanges else { return look() }
        for await token in changes {
            if token == nil { input.yield(.account(index, isSignedIn: false)) } else { look() }
        }
    }
}

/// A run's state of a container.
struct QueryContainer: Sendable {
    let path: FilePath
    /// The path as coordination spells it.
    let canonical: FilePath
    let tree: QueryTreeBox
    /// Sends paths to the transport; nil without one.
    var question: AsyncStream<[FilePath]>.Continuation?
    var isSignedIn: Bool?
    /// Nil until it is known.
    var isThere: Bool?
    var scan: QueryTree.Scan?
    /// Distinguishes a scan from abandoned ones.
    var scanNumber: UInt64 = 0
    /// Whether all items that existed at the start are found.
    var isGathered = false
    /// The paths to inspect after the scan.
    var held: [QueryLook] = []
    /// The items that only other devices have, as the transport tells.
    var elsewhere: [FilePath: ItemState] = [:]
    /// The items whose state is needed.
    var questions: Set<FilePath> = []
    var isAsking = false

    init(_ container: UbiquityContainer, scope: MetadataQuery.Scope, includesHidden: Bool) {
        path = container.path
        canonical = QueryRoot.canonical(container.path)
        tree = QueryTreeBox(QueryTree(container: container.path, scope: scope, includesHidden: includesHidden))
    }

    var isOpen: Bool { isSignedIn == true && isThere == true }

    /// Returns a path as the container spells it.
    func own(_ path: FilePath) -> FilePath? {
        var relative = path
        if relative.removePrefix(canonical) { return self.path.pushing(relative) }
        return path.starts(with: self.path) ? path : nil
    }
}
