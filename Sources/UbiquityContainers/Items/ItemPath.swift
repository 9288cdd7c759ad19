internal import FileCoordination
package import SystemPackage

/// Facts about an item from its path and from the names beside it.
package enum ItemPath {
    /// The suffix of a name that is never synchronised, together with everything below it.
    package static let excludedSuffix = ".nosync"
    /// The directory of versions that apps have kept of the items beside it.
    package static let keptVersionsName = ".versions\(excludedSuffix)"

    /// Returns an item's path in the container.
    ///
    /// - Parameters:
    ///   - item: an absolute path.
    ///   - container: the container's directory.
    /// - Returns: the path without `.` and `..`, absolute.
    /// - Throws: `ContainerError` with `notInContainer`.
    package static func resolve(_ item: FilePath, in container: FilePath) throws(ContainerError) -> FilePath {
        let path = item.lexicallyNormalized()
        guard path.starts(with: container.lexicallyNormalized()) else {
            throw ContainerError(
                .notInContainer, "\(item) does not lie in the container \(container); give the absolute path of one of its items.", path: item)
        }
        return path
    }

    /// Returns whether an item is in or below a `*.nosync` of its container.
    package static func isExcluded(_ item: FilePath, in container: FilePath) -> Bool {
        var relative = item.lexicallyNormalized()
        guard relative.removePrefix(container.lexicallyNormalized()) else { return false }
        return relative.components.contains { $0.string.hasSuffix(excludedSuffix) }
    }

    /// Returns the name of the original of a conflict copy: `Letter.txt` for
    /// `Letter.sync-conflict-20260102-030405-ABCDEFG.txt`.
    ///
    /// - Parameter name: any name.
    /// - Returns: nil if no synchroniser gives such a name to a copy.
    package static func original(ofConflictCopy name: String) -> String? { ConflictName(name)?.original }

    /// Returns the items of a directory that have unresolved conflict copies, and so an unresolved ``FileVersion``.
    ///
    /// - Parameters:
    ///   - directory: the directory, which need not exist.
    ///   - files: the layer that lists it.
    /// - Returns: their names; none if the directory cannot be read.
    package static func conflicted(in directory: FilePath, files: any FileLayer) -> Set<String> {
        Set(unresolvedCopies(among: (try? files.names(in: directory)) ?? [], in: directory).map(\.original))
    }

    /// A conflict copy of an item that is not resolved.
    package struct UnresolvedCopy: Sendable, Hashable {
        /// The path of the copy.
        package var path: FilePath
        /// The name of the item beside it.
        package var original: String
        /// The device that wrote it, if the name tells it.
        package var device: String?
    }

    /// Returns the unresolved conflict copies among the names of a directory.
    ///
    /// - Parameters:
    ///   - names: all names in the directory.
    ///   - directory: the directory.
    /// - Returns: the copies, in the order of the names.
    package static func unresolvedCopies(among names: [String], in directory: FilePath) -> [UnresolvedCopy] {
        let copies = names.compactMap { name in ConflictName(name).map { ($0, directory.appending(name)) } }
        guard !copies.isEmpty else { return [] }
        // A copy without its original is an ordinary item.
        let present = Set(names)
        return copies.filter { present.contains($0.original) && ConflictCopy($0, at: $1)?.isResolved == false }.map {
            UnresolvedCopy(path: $1, original: $0.original, device: $0.device)
        }
    }
}
