internal import FileCoordination
internal import Glibc
internal import Logging
internal import SystemPackage
internal import TreeWatching

/// Watches a container's directory, whether it is there or not; nothing is polled.
enum QueryRoot {
    /// Passes a directory's changes on until the task is cancelled, or nothing on the way to it can be watched.
    ///
    /// - Parameters:
    ///   - directory: which need not be there.
    ///   - isMissing: is called while it is not.
    ///   - body: gets the changes, as `TreeWatcher.changes` gives them.
    static func watch(_ directory: FilePath, isMissing: () -> Void, _ body: (TreeChangeBatch) -> Void) async {
        var options = TreeWatcher.Options()
        // A conflict is resolved by an attribute of the copy.
        options.attributes = true
        options.collapses = true
        options.followsRoot = false
        options.exclude = ["*\(ItemPath.excludedSuffix)/", ".stversions/"]
        options.exclude += [UbiquityContainer.storesName, UbiquityContainer.markDirectoryName].map { "/\($0)/" }
        while !Task.isCancelled {
            do {
                let watcher = try TreeWatcher(directory, options: options)
                for await batch in watcher.changes { body(batch) }
                return
            } catch {
                isMissing()
                guard [.notFound, .notADirectory, .permissionDenied].contains(error.code) else {
                    return Logger.ubiquity.warning("A query finds nothing in \(directory): \(error.message)")
                }
                guard await comes(directory) else { return }
            }
        }
    }

    /// Returns once a directory may be there: watches the nearest one above it that is.
    ///
    /// - Returns: false where none can be watched, or the task is cancelled.
    private static func comes(_ directory: FilePath) async -> Bool {
        var above = directory
        while above.removeLastComponent(), !Task.isCancelled {
            var options = TreeWatcher.Options()
            options.attributes = true
            // What lies deeper is nobody's business.
            options.exclude = ["*/*"]
            guard let watcher = try? TreeWatcher(above, options: options) else { continue }
            var next = directory
            while next.components.count > above.components.count + 1 { next.removeLastComponent() }
            for await batch in watcher.changes {
                if isReadable(next) { return true }
                // Then something further up is the nearest.
                if batch.contains(where: { if case .rootLost = $0.kind { true } else { false } }) { return true }
            }
        }
        return false
    }

    private static func isReadable(_ directory: FilePath) -> Bool {
        (try? FileFacts(of: directory))??.kind == .directory && directory.withPlatformString { access($0, R_OK | X_OK) } == 0
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
