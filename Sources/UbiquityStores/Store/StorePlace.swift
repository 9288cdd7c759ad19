internal import Logging
internal import SystemPackage
internal import UbiquityContainers

/// Where a store file may lie.
///
/// SQLite keeps its order by locks and by several files that belong together (https://sqlite.org/lockingv3.html). A synchroniser knows nothing of either: it
/// would carry halves of a store away, and bring back others.
enum StorePlace {
    /// Sees that a synchroniser leaves a store file alone, and that it is of the container's account.
    ///
    /// - Parameters:
    ///   - file: where the app wants its store.
    ///   - container: the container of its content.
    /// - Throws: `UbiquitousStoreError` with `unsupported` where the file would lie in another container, or where this one is synchronised.
    static func check(_ file: FilePath, in container: UbiquityContainer) throws(UbiquitousStoreError) {
        let root = PathFacts.resolved(container.path.removingLastComponent().removingLastComponent())
        var below = PathFacts.resolved(file.removingLastComponent())
        guard below.removePrefix(root), below.components.count >= 2 else { return }
        let (account, identifier) = (below.components.first!.string, below.components.dropFirst().first!.string)
        if account != container.account.description || identifier != container.identifier.description {
            let marks = root.appending(account).appending(identifier).appending(UbiquityContainer.markDirectoryName)
            guard try kind(of: marks, container) == .directory else { return }
            throw UbiquitousStoreError(
                .unsupported,
                "\(file) lies in the container \(identifier) of \(account), and its content in \(container.identifier) of \(container.account); put it outside of containers.",
                path: file)
        }
        guard !below.components.dropFirst(2).contains(where: { $0.string.hasSuffix(ItemPath.excludedSuffix) }) else { return }
        throw UbiquitousStoreError(
            .unsupported,
            "\(file) lies where the container is synchronised, which breaks SQLite files; put it outside, or into a folder whose name ends in \(ItemPath.excludedSuffix).",
            path: file)
    }

    private static func kind(of path: FilePath, _ container: UbiquityContainer) throws(UbiquitousStoreError) -> FileKind? {
        do {
            return try container.files.kind(of: path)
        } catch {
            throw UbiquitousStoreError(
                .fileSystem, "\(path) cannot be looked at; check the owner and mode of the directories above.", path: path, cause: error)
        }
    }

    /// Warns where a store's files lie with another machine: SQLite's locks may hold on one machine only, and a write-ahead log needs memory that all who
    /// have the file open share (https://sqlite.org/wal.html).
    ///
    /// - Parameters:
    ///   - file: where the app wants its store; its directory need not be there.
    ///   - fileSystem: tells what a path lies on.
    ///   - logger: takes the warning.
    static func warn(
        of file: FilePath, fileSystem: (FilePath) -> FileSystemFacts? = { FileSystemFacts(at: $0) }, logger: Logger = Logger(label: "UbiquityStores")
    ) {
        var directory = file.removingLastComponent()
        while true {
            if let facts = fileSystem(directory) {
                guard let name = facts.network else { return }
                return logger.warning(
                    "\(file) lies on a network file system (\(name)), where SQLite can lose or damage data; put the store on a disk of this machine. The container may stay where it is."
                )
            }
            guard directory.removeLastComponent() else { return }
        }
    }
}
