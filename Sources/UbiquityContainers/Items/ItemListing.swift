package import SystemPackage

/// Some items of one container, with their statuses.
package struct ItemListing: Sendable {
    /// An item's status at a moment.
    package struct Line: Sendable, Hashable, Codable {
        package var path: String
        package var status: ItemStatus
    }

    /// The container's directory.
    package let container: FilePath
    private let roots: [FilePath]
    private let isRecursive: Bool
    private let source: any ItemStatusSource

    /// Makes a listing of items.
    ///
    /// - Parameters:
    ///   - roots: paths in the container.
    ///   - container: the container's directory.
    ///   - isRecursive: whether to list everything below, except items that only stores and this package use.
    ///   - source: returns the statuses of items.
    package init(of roots: [FilePath], in container: FilePath, isRecursive: Bool, source: any ItemStatusSource) {
        self.container = container.lexicallyNormalized()
        self.roots = roots.map { $0.lexicallyNormalized() }
        self.isRecursive = isRecursive
        self.source = source
    }

    /// Returns the items in order.
    ///
    /// - Parameter check: called before each directory; an error that it throws ends the listing.
    /// - Returns: their paths. Blocks while it lists directories.
    package func items(_ check: () throws -> Void = {}) rethrows -> [FilePath] {
        guard isRecursive else { return roots }
        var items: [FilePath] = []
        for root in roots {
            if root != container { items.append(root) }
            guard PathFacts(at: root).kind == .directory, !ItemPath.isExcluded(root, in: container) else { continue }
            try DirectoryFacts.walk(root) { directory, _ in
                try check()
                if directory.path != root { items.append(directory.path) }
                var skipped: Set<FilePath.Component> = []
                for entry in directory.entries {
                    let isOurs =
                        directory.path == container
                        && [UbiquityContainer.storesName, UbiquityContainer.markDirectoryName].contains(entry.text)
                    let isDirectory = entry.kind == .directory && !DirectoryFacts.isLocal(entry)
                    if entry.kind == .directory, isOurs || !isDirectory || ForeignNames.matches(entry.text) { skipped.insert(entry.name) }
                    // A directory that the walk enters is listed there.
                    if !isOurs, !isDirectory, !ForeignNames.matches(entry.text) { items.append(directory.path.appending(entry.name)) }
                }
                return skipped
            }
        }
        return items.sorted { $0.string < $1.string }
    }

    /// Returns the statuses of the items.
    ///
    /// - Returns: one line for each item, in order.
    /// - Throws: the source's error; `CancellationError`.
    package func lines() async throws -> [Line] {
        let paths = try await blockingCancellably { try items($0) }
        let statuses = try await source.statuses(of: paths)
        return paths.map { Line(path: $0.string, status: statuses[$0] ?? .unknown) }
    }

    /// Reports the statuses of the items, and then each change, until the source ends or the task is cancelled.
    ///
    /// A new item is reported; an item that disappears is reported once as `unknown`.
    ///
    /// - Parameter body: receives the new lines, at first all of them.
    /// - Throws: the error of the source or the body; `CancellationError`.
    package func follow(_ body: ([Line]) async throws -> Void) async throws {
        var known: [String: ItemStatus] = [:]
        // The first change always concerns the whole container.
        for await _ in source.changes() {
            let lines = try await lines()
            var new = lines.filter { known[$0.path] != $0.status }
            let gone = Set(known.keys).subtracting(lines.map(\.path)).sorted()
            new += gone.map { Line(path: $0, status: .unknown) }
            known = Dictionary(lines.map { ($0.path, $0.status) }) { $1 }
            if !new.isEmpty { try await body(new) }
        }
        try Task.checkCancellation()
    }
}
