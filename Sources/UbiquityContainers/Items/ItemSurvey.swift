package import SystemPackage

/// What the items of a container take, and which of them are in conflict, from one walk.
package struct ItemSurvey: Sendable {
    /// How many files there are, `*.nosync` included, but for what stores and the package itself use.
    package private(set) var files = 0
    /// Their bytes.
    package private(set) var bytes: Int64 = 0
    /// The conflict copies that nobody has resolved, by path.
    package private(set) var copies: [ItemPath.UnresolvedCopy] = []

    /// Walks; follows no link, and passes over what cannot be listed.
    ///
    /// - Parameters:
    ///   - container: its directory. Blocks while it lists all of it.
    ///   - check: is called before each directory; what it throws ends the walk.
    package init(of container: FilePath, _ check: () throws -> Void = {}) rethrows {
        var pending = [container]
        while let directory = pending.popLast() {
            try check()
            // What else lies there is asked for only where there is a copy, of which that may be the original.
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
