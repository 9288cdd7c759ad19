internal import Logging
internal import StoreFormat
internal import SystemPackage
internal import TreeWatching
internal import UbiquityContainers

/// Decides where a store file may lie.
///
/// SQLite keeps its files consistent by locks and by several files that belong together
/// (https://sqlite.org/lockingv3.html). A synchroniser knows about neither: it would upload parts of a store, and
/// download parts of others.
enum StorePlace {
    /// Checks that a store file lies neither where a container is synchronised nor in another container.
    ///
    /// - Parameters:
    ///   - file: the path at which the app wants its store, absolute.
    ///   - container: the container of its content.
    /// - Throws: `UbiquitousStoreError` with `unsupported`.
    static func check(_ file: FilePath, in container: UbiquityContainer) throws(UbiquitousStoreError) {
        // A container that does not answer cannot be compared by its real path. The store was checked when it was made.
        if container.files.silence(of: container.path) != nil { return }
        let place = PathFacts.resolved(file.removingLastComponent())
        let own = PathFacts.resolved(container.path)
        var isExcluded = false
        var directory = place
        while directory != own, let name = directory.lastComponent?.string {
            if isContainer(directory) {
                throw UbiquitousStoreError(
                    .unsupported, "\(file) lies in another container than its content, in \(directory); put it outside of containers.", path: file)
            }
            isExcluded = isExcluded || name.hasSuffix(ItemPath.excludedSuffix)
            directory.removeLastComponent()
        }
        // The account's directory, which holds the containers, is synchronised with them.
        let account = own.removingLastComponent()
        guard directory == own || place.starts(with: account) || place == account.removingLastComponent(), !isExcluded else { return }
        throw UbiquitousStoreError(
            .unsupported,
            "\(file) lies where the container is synchronised, which breaks SQLite files; put it outside, or into a folder whose name ends in \(ItemPath.excludedSuffix).",
            path: file)
    }

    /// Returns whether a device has attached itself to a directory.
    private static func isContainer(_ directory: FilePath) -> Bool {
        (try? LinuxFileLayer().kind(of: directory.appending(UbiquityContainer.markDirectoryName))) == .directory
    }

    /// Warns if a store's files may lie on another machine.
    ///
    /// SQLite's locks may hold on one machine only, and a write-ahead log needs memory that is shared by all programs
    /// that have the file open (https://sqlite.org/wal.html).
    ///
    /// - Parameters:
    ///   - file: the path at which the app wants its store; its directory need not exist.
    ///   - fileSystem: returns the file system of a path.
    ///   - logger: receives the warning.
    static func warn(of file: FilePath, fileSystem: (FilePath) -> FileSystemFacts?, logger: Logger) {
        var directory = file.removingLastComponent()
        while true {
            if let facts = fileSystem(directory) {
                guard let name = facts.network ?? (facts.isFUSE ? "FUSE" : nil) else { return }
                let kind = facts.network == nil ? "may lie on a network file system" : "lies on a network file system"
                return logger.warning(
                    "\(file) \(kind) (\(name)), where SQLite can lose or damage data; put the store on a disk of this machine. The container may stay where it is."
                )
            }
            guard directory.removeLastComponent() else { return }
        }
    }
}
