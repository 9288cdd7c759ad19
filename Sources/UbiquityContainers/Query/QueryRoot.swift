internal import Glibc
internal import Logging
internal import SystemPackage
internal import TreeWatching

/// Watches a container's directory, whether it is there or not; nothing is polled.
enum QueryRoot {
    /// Passes a directory's changes on until the task is cancelled, or nothing can be watched.
    ///
    /// - Parameters:
    ///   - directory: which need not be there.
    ///   - body: gets the changes, as `TreeWatcher.changes` gives them.
    static func watch(_ directory: FilePath, _ body: (TreeChangeBatch) -> Void) async {
        var options = TreeWatcher.Options()
        // A conflict is resolved by an attribute of the copy.
        options.attributes = true
        // Not collapsed: an item may be found by a coordinated write or a transport's word before its creation is
        // reported. If it is removed in the same batch, only the removal tells.
        options.collapses = false
        options.followsRoot = false
        options.awaitsRoot = true
        options.sharing = .open
        options.exclude = ["*\(ItemPath.excludedSuffix)/", ".stversions/"]
        options.exclude += [UbiquityContainer.storesName, UbiquityContainer.markDirectoryName].map { "/\($0)/" }
        do {
            let watcher = try TreeWatcher(directory, options: options)
            for await batch in watcher.changes { body(batch) }
        } catch {
            Logger.ubiquity.warning("A query finds nothing in \(directory): \(error.message)")
        }
    }

    /// A directory as coordination spells it: without symbolic links above it, realpath(3).
    static func canonical(_ directory: FilePath) -> FilePath {
        guard let name = directory.lastComponent else { return directory }
        return directory.removingLastComponent().withPlatformString { path in
            guard let real = realpath(path, nil) else { return directory }
            defer { free(real) }
            return FilePath(platformString: real).appending(name)
        }
    }
}
