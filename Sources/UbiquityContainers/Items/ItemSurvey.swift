package import SystemPackage

/// The size of a container's items and the conflicts among them, from one walk.
package struct ItemSurvey: Sendable {
    /// The number of files, including `*.nosync`, but without files that only stores and this package use.
    package private(set) var files = 0
    /// Their size in bytes.
    package private(set) var bytes: Int64 = 0
    /// The unresolved conflict copies, by path.
    package private(set) var copies: [ItemPath.UnresolvedCopy] = []

    /// Walks a container without following links, and skips directories that cannot be listed.
    ///
    /// - Parameters:
    ///   - container: the container's directory. Blocks while it lists everything.
    ///   - check: called before each directory; an error that it throws ends the walk.
    package init(of container: FilePath, _ check: () throws -> Void = {}) rethrows {
        var pending = [container]
        while let directory = pending.popLast() {
            try check()
            // The other names are needed only if there is a copy, because one of them may be its original.
            var hasCopies = false
            try? DirectoryScan.forEach(in: directory, sizes: true) { entry in
                if entry.kind == .file {
                    files += 1
                    bytes += entry.size
                    if ItemSurvey.isCopy(entry.name) { hasCopies = true }
                } else if entry.kind == .directory, let name = entry.text {
                    let isOurs = directory == container && [UbiquityContainer.storesName, UbiquityContainer.markDirectoryName].contains(name)
                    if !isOurs { pending.append(directory.appending(name)) }
                }
            }
            if hasCopies {
                let names = (try? LinuxFileLayer().names(in: directory)) ?? []
                copies += ItemPath.unresolvedCopies(among: names, in: directory)
            }
        }
        copies.sort { $0.path.string < $1.path.string }
    }

    private static let mark = Array(".sync-conflict-".utf8)

    private static func isCopy(_ name: UnsafeRawBufferPointer) -> Bool {
        guard name.count > mark.count else { return false }
        return (0...(name.count - mark.count)).contains { name[$0] == mark[0] && name[$0...].starts(with: mark) }
    }
}
