public import SystemPackage
internal import TreeWatching

/// The status of a container's items, as far as it is known without a transport.
///
/// - below a `*.nosync`: `excluded`
/// - `*.sync-conflict-*` copies lie beside the item, and their conflict is not resolved (``FileVersion``): `conflicted`
/// - anything else: `unknown`. Without a transport there is no proof that anything is current.
public struct LocalItemStatus: ItemStatusSource {
    private let container: FilePath
    private let files: any FileLayer

    /// Tells of a container's items.
    public init(_ container: UbiquityContainer) { self.init(container.path, files: container.files) }

    package init(_ container: FilePath, files: any FileLayer = LinuxFileLayer()) {
        self.container = container.lexicallyNormalized()
        self.files = files
    }

    /// Tells how an item stands; reads its directory.
    ///
    /// - Parameter item: an absolute path in the container.
    /// - Returns: `excluded`, `conflicted` or `unknown`.
    /// - Throws: `ContainerError` with `notInContainer`; `CancellationError`.
    public func status(of item: FilePath) async throws -> ItemStatus {
        try Task.checkCancellation()
        let path = try ItemPath.resolve(item, in: container)
        if ItemPath.isExcluded(path, in: container) { return .excluded }
        guard path != container, let name = path.lastComponent?.string else { return .unknown }
        let directory = path.removingLastComponent()
        let conflicted = try await blocking { [files] in ItemPath.conflicted(in: directory, files: files) }
        return conflicted.contains(name) ? .conflicted : .unknown
    }

    /// Returns the status of several items, and reads each directory once.
    ///
    /// - Parameter items: absolute paths in the container.
    /// - Returns: `excluded`, `conflicted` or `unknown` for each.
    /// - Throws: `ContainerError` with `notInContainer`; `CancellationError`.
    public func statuses(of items: [FilePath]) async throws -> [FilePath: ItemStatus] {
        try Task.checkCancellation()
        let paths = try items.map { item throws(ContainerError) in (item: item, path: try ItemPath.resolve(item, in: container)) }
        return try await blocking { [files, container] in
            var conflicted: [FilePath: Set<String>] = [:]
            var statuses: [FilePath: ItemStatus] = [:]
            statuses.reserveCapacity(paths.count)
            for (item, path) in paths {
                if ItemPath.isExcluded(path, in: container) {
                    statuses[item] = .excluded
                } else if path != container, let name = path.lastComponent?.string {
                    let directory = path.removingLastComponent()
                    let names = conflicted[directory] ?? ItemPath.conflicted(in: directory, files: files)
                    conflicted[directory] = names
                    statuses[item] = names.contains(name) ? .conflicted : .unknown
                } else {
                    statuses[item] = .unknown
                }
            }
            return statuses
        }
    }

    /// Reports items that come, go or get conflict copies, by watching the container.
    ///
    /// A missing directory is waited for.
    ///
    /// - Returns: a sequence that ends early where nothing can be watched.
    public func changes() -> AsyncStream<ItemStatusChange> {
        let reader = LocalChangeReader(container)
        return AsyncStream { await reader.next() }
    }
}

/// One reader's turn of the container's changes.
private actor LocalChangeReader {
    private let container: FilePath
    private var batches: TreeChanges.AsyncIterator?
    private var hasBegun = false
    private var pending: ArraySlice<ItemStatusChange> = []

    init(_ container: FilePath) { self.container = container }

    func next() async -> ItemStatusChange? {
        if !hasBegun {
            hasBegun = true
            // A conflict is resolved by an attribute of the copy.
            var options = TreeWatcher.Options()
            options.attributes = true
            options.followsRoot = false
            options.awaitsRoot = true
            options.sharing = .open
            batches = try? TreeWatcher(container, options: options).changes.makeAsyncIterator()
            if batches == nil { return .below(container) }
        }
        while true {
            if let change = pending.popFirst() { return change }
            guard let batch = await batches?.next(isolation: self) else { return nil }
            var seen: Set<ItemStatusChange> = []
            pending = batch.flatMap(changes(of:)).filter { seen.insert($0).inserted }[...]
        }
    }

    private func changes(of change: TreeChange) -> [ItemStatusChange] {
        switch change.kind {
        case .created, .removed: [item(change.path)]
        case .moved: [change.from, change.path].compactMap { $0 }.map(item)
        // The watch begins with the first or the third.
        case .ready, .overflow, .rootLost, .rootBack, .rescanned: [.below(container)]
        // Neither content nor mode says anything of other items here.
        case .modified, .attributes: isCopy(change.path) ? [item(change.path)] : []
        }
    }

    private func isCopy(_ path: FilePath) -> Bool { path.lastComponent.map { ItemPath.original(ofConflictCopy: $0.string) != nil } ?? false }

    /// A conflict copy changes what it is a copy of.
    private func item(_ path: FilePath) -> ItemStatusChange {
        let path = path.isAbsolute ? path : container.pushing(path)
        guard let name = path.lastComponent?.string, let original = ItemPath.original(ofConflictCopy: name) else { return .item(path) }
        return .item(path.removingLastComponent().appending(original))
    }
}
