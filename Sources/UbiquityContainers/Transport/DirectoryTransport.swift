internal import Foundation
public import SystemPackage
internal import TreeWatching

/// A container in a directory that no synchroniser answers for.
///
/// If the user has said that all devices share this disk (`"transport": "directory"` in `config.json`, which
/// `ubcontrol setup shared` writes), whatever is in the directory has reached the other devices, and the directory is
/// the transport. Otherwise the transport is unknown. The state of an item is then:
///
/// - below a `*.nosync`: `excluded`
/// - `*.sync-conflict-*` copies lie beside the item, and their conflict is not resolved (``FileVersion``): `conflicted`
/// - a placeholder stands for it: `notDownloaded`
/// - anything else: `current` in a shared directory, `unknown` otherwise. Without a transport there is no proof that
///   anything is current.
public struct DirectoryTransport: Transport {
    /// `directory`, or `none` if the transport is unknown.
    public let kind: TransportKind
    private let container: FilePath
    private let files: any FileLayer

    /// Makes the transport of a container, as the device home configures it.
    ///
    /// - Parameter container: a container on this device. A configuration that cannot be read counts as none.
    public init(_ container: UbiquityContainer) {
        self.init(container.path, isShared: container.home.sharesDirectory, files: container.files)
    }

    package init(_ container: FilePath, isShared: Bool = false, files: any FileLayer = LinuxFileLayer()) {
        self.container = container.lexicallyNormalized()
        self.files = files
        kind = isShared ? .directory : .none
    }

    /// Returns whether the container's directory answers, and the free space there.
    ///
    /// - Returns: the condition. It names no devices, because a disk does not know who uses it.
    /// - Throws: `CancellationError`.
    public func condition() async throws -> TransportCondition {
        try Task.checkCancellation()
        switch await DirectoryProbe.ask(container) {
        case .there(let facts): return TransportCondition(kind, free: facts.map { Int64(clamping: $0.available) })
        case .missing:
            return TransportCondition(kind, failure: "\(container) is not there; mount its file system, or see `ubcontrol doctor`")
        case .failed(let error):
            return TransportCondition(kind, failure: "\(container) cannot be read (\(error)); check its mount, owner and mode")
        case .silent(let since):
            return TransportCondition(
                kind, failure: "\(container) does not answer; check the server or the program that its file system depends on", since: since)
        }
    }

    /// Returns the states of items, and reads each directory once.
    ///
    /// - Parameter items: absolute paths in the container.
    /// - Returns: a state for each item, by the rules above; `unknown` for items that are not there.
    /// - Throws: `ContainerError` with `notInContainer`; `CancellationError`.
    public func states(of items: [FilePath]) async throws -> [FilePath: ItemState] {
        try Task.checkCancellation()
        let paths = try items.map { item throws(ContainerError) in (item: item, path: try ItemPath.resolve(item, in: container)) }
        return try await blocking { [self] in
            var conflicted: [FilePath: Set<String>] = [:]
            var states: [FilePath: ItemState] = [:]
            states.reserveCapacity(paths.count)
            for (item, path) in paths {
                if ItemPath.isExcluded(path, in: container) {
                    states[item] = ItemState(.excluded)
                    continue
                }
                if path != container, let name = path.lastComponent?.string {
                    let directory = path.removingLastComponent()
                    let names = conflicted[directory] ?? ItemPath.conflicted(in: directory, files: files)
                    conflicted[directory] = names
                    if names.contains(name) {
                        states[item] = ItemState(.conflicted)
                        continue
                    }
                }
                if path != container, let placeholder = Placeholder.standing(for: path) {
                    states[item] = ItemState(.notDownloaded, size: placeholder.size, isDirectory: placeholder.isPackage)
                    continue
                }
                let isHere = kind == .directory && (try? files.kind(of: path)) ?? nil != nil
                states[item] = ItemState(isHere ? .current : .unknown)
            }
            return states
        }
    }

    /// Returns nothing: what a disk does not hold is not known here.
    ///
    /// - Parameter directory: any directory.
    /// - Returns: no items.
    /// - Throws: nothing.
    public func elsewhere(below directory: FilePath) async throws -> [FilePath: ItemState] { [:] }

    /// Does nothing: the files are there already.
    ///
    /// - Parameter directory: any directory.
    public func published(in directory: FilePath) async {}

    /// Reports items that come, go or get conflict copies, by watching the container.
    ///
    /// A missing directory is waited for.
    ///
    /// - Returns: a sequence that ends early where nothing can be watched.
    public func changes() -> AsyncStream<TransportChange> {
        let reader = DirectoryChangeReader(container)
        return AsyncStream { await reader.next() }
    }
}

/// One reader's turn of the container's changes.
private actor DirectoryChangeReader {
    private let container: FilePath
    private var batches: TreeChanges.AsyncIterator?
    private var hasBegun = false
    private var pending: ArraySlice<TransportChange> = []

    init(_ container: FilePath) { self.container = container }

    func next() async -> TransportChange? {
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
            var seen: Set<TransportChange> = []
            pending = batch.flatMap(changes(of:)).filter { seen.insert($0).inserted }[...]
        }
    }

    private func changes(of change: TreeChange) -> [TransportChange] {
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
    private func item(_ path: FilePath) -> TransportChange {
        let path = path.isAbsolute ? path : container.pushing(path)
        guard let name = path.lastComponent?.string, let original = ItemPath.original(ofConflictCopy: name) else { return .item(path) }
        return .item(path.removingLastComponent().appending(original))
    }
}
