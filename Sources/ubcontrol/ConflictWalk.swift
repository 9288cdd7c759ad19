import FileCoordination
import Foundation
import SystemPackage
import UbiquityContainers

/// Finds the documents that have other versions: in plain directories, without following links, and without what a query skips.
///
/// It blocks.
struct ConflictWalk {
    /// A document that may have other versions.
    struct Item {
        let container: KnownContainer
        let path: FilePath
        let isHere: Bool

        /// Returns the versions other than the current one, the newest first.
        func versions() async throws -> [ConflictVersion] {
            if isHere { return try await ConflictDocument.find(path)?.versions ?? [] }
            let directory = path.removingLastComponent()
            let names = (try? LinuxFileLayer().names(in: directory)) ?? []
            let copies = names.compactMap { name in
                ConflictName(name)?.original == path.lastComponent?.string ? ConflictCopy(at: directory.appending(name)) : nil
            }
            let dated = copies.compactMap { copy in ((try? FileFacts(of: copy.path)) ?? nil).map { (copy, $0.modificationDate) } }
            let sorted = dated.sorted { ($1.1, $1.0.path.string) < ($0.1, $0.0.path.string) }
            return sorted.enumerated().map { ConflictVersion($1.0, date: $1.1, number: $0 + 1) }
        }
    }

    /// Whether documents are found too whose versions are all resolved, or kept by an app.
    let includesSettled: Bool
    /// What was found, in no order, each once.
    private(set) var items: [Item] = []
    /// The directories that cannot be listed.
    private(set) var failures: [(directory: FilePath, error: Errno)] = []
    private var found: Set<FilePath> = []

    init(includesSettled: Bool) { self.includesSettled = includesSettled }

    /// Looks at a document, or at a directory and everything below it.
    ///
    /// - Parameters:
    ///   - root: a path in the container.
    ///   - container: the container.
    ///   - step: called before each directory.
    mutating func look(below root: FilePath, in container: KnownContainer, _ step: () -> Void) {
        let names = root.components.dropFirst(container.path.components.count).map(\.string)
        if Self.isOurs(names.first) || names.contains(where: Self.isSkipped) { return }
        if !names.isEmpty { add(root, in: container, isHere: PathFacts(at: root).kind != .nothing) }
        guard PathFacts(at: root).kind == .directory, !FileCoordinator.filePackages.contains(root) else { return }
        var pending = [root]
        while let directory = pending.popLast() {
            step()
            let facts = DirectoryFacts(of: directory, in: container.path)
            // A directory that went away meanwhile has no documents.
            if let error = facts.error, error != .noSuchFileOrDirectory { failures.append((directory, error)) }
            pending += look(at: facts, in: container).reversed()
        }
    }

    /// Finds the documents in one directory.
    ///
    /// - Returns: the directories to go on with.
    private mutating func look(at directory: DirectoryFacts, in container: KnownContainer) -> [FilePath] {
        let entries = directory.entries.filter(\.isText)
        let present = Set(entries.map(\.text))
        let elsewhere = Set(
            entries.filter { $0.kind == .file && Placeholder.isName($0.text) }
                .compactMap { Placeholder(at: directory.path.appending($0.text))?.name }
        ).subtracting(present)
        var originals: Set<String> = []
        var copies: Set<String> = []
        for entry in entries {
            // A copy without its original is an ordinary document.
            guard let name = ConflictName(entry.text), present.contains(name.original) || elsewhere.contains(name.original),
                let copy = ConflictCopy(name, at: directory.path.appending(entry.text))
            else { continue }
            copies.insert(entry.text)
            if includesSettled || !copy.isResolved { originals.insert(name.original) }
        }
        if includesSettled, present.contains(ItemPath.keptVersionsName) {
            let kept = (try? LinuxFileLayer().directoryNames(in: directory.path.appending(ItemPath.keptVersionsName))) ?? nil
            originals.formUnion(present.intersection(kept ?? []))
        }
        for name in originals where !Self.isSkipped(name) && !copies.contains(name) {
            add(directory.path.appending(name), in: container, isHere: present.contains(name))
        }
        return entries.compactMap { entry in
            let path = directory.path.appending(entry.text)
            guard entry.kind == .directory, !Self.isSkipped(entry.text), !copies.contains(entry.text),
                !(directory.path == container.path && Self.isOurs(entry.text)), !FileCoordinator.filePackages.contains(path)
            else { return nil }
            return path
        }
    }

    private mutating func add(_ path: FilePath, in container: KnownContainer, isHere: Bool) {
        if found.insert(path).inserted { items.append(Item(container: container, path: path, isHere: isHere)) }
    }

    /// Returns whether a query skips an entry of this name: it is hidden, or stays on this device.
    private static func isSkipped(_ name: String) -> Bool { name.hasPrefix(".") || ForeignNames.staysHere(name) }

    /// Returns whether an entry of a container's directory is of stores or of this package.
    static func isOurs(_ name: String?) -> Bool { name == UbiquityContainer.storesName || name == UbiquityContainer.markDirectoryName }
}
