package import SystemPackage

/// Some items of one container, and how they stand.
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

    /// Takes some items.
    ///
    /// - Parameters:
    ///   - roots: paths in the container.
    ///   - container: the container's directory.
    ///   - isRecursive: whether what lies below is listed, too: but for what only stores and the package itself use.
    ///   - source: tells how items stand.
    package init(of roots: [FilePath], in container: FilePath, isRecursive: Bool, source: any ItemStatusSource) {
        self.container = container.lexicallyNormalized()
        self.roots = roots.map { $0.lexicallyNormalized() }
        self.isRecursive = isRecursive
        self.source = source
    }

    /// The items, in order.
    ///
    /// - Parameter check: is called before each directory; what it throws ends the listing.
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
                    // A directory that is gone into is listed then.
                    if !isOurs, !isDirectory, !ForeignNames.matches(entry.text) { items.append(directory.path.appending(entry.name)) }
                }
                return skipped
            }
        }
        return items.sorted { $0.string < $1.string }
    }

    /// How the items stand.
    ///
    /// - Returns: a line each, in order.
    /// - Throws: what the source throws; `CancellationError`.
    package func lines() async throws -> [Line] {
        let paths = try await blockingCancellably { try items($0) }
        let statuses = try await source.statuses(of: paths)
        return paths.map { Line(path: $0.string, status: statuses[$0] ?? .unknown) }
    }

    /// Tells how the items stand, and then each that stands otherwise, until the source ends or the task is cancelled.
    ///
    /// An item that comes is told of; one that goes is told of as `unknown`, once.
    ///
    /// - Parameter body: is given the lines that are new, first all of them.
    /// - Throws: what the source throws, and the body; `CancellationError`.
    package func follow(_ body: ([Line]) async throws -> Void) async throws {
        var known: [String: ItemStatus] = [:]
        // The first change is always the whole container.
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
