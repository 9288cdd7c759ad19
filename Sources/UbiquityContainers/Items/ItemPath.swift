internal import FileCoordination
package import SystemPackage

/// What an item's path alone says, and what lies beside it.
package enum ItemPath {
    /// The ending of a name that is never synced, nor is anything below it.
    package static let excludedSuffix = ".nosync"

    /// An item's path in the container.
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

    /// Whether an item lies in or below a `*.nosync` of its container.
    package static func isExcluded(_ item: FilePath, in container: FilePath) -> Bool {
        var relative = item.lexicallyNormalized()
        guard relative.removePrefix(container.lexicallyNormalized()) else { return false }
        return relative.components.contains { $0.string.hasSuffix(excludedSuffix) }
    }

    /// The name of the item that a conflict copy is of: `Letter.txt` for `Letter.sync-conflict-20260102-030405-ABCDEFG.txt`.
    ///
    /// - Parameter name: any name.
    /// - Returns: nil for a name that no synchroniser gives to a copy.
    package static func original(ofConflictCopy name: String) -> String? { ConflictName(name)?.original }

    /// The items of a directory beside which conflict copies lie whose conflict is not resolved: those with a ``FileVersion`` to that effect.
    ///
    /// - Parameters:
    ///   - directory: an existing one or not.
    ///   - files: where it lies.
    /// - Returns: their names; of a directory that cannot be read, none.
    package static func conflicted(in directory: FilePath, files: any FileLayer) -> Set<String> {
        Set(unresolvedCopies(among: (try? files.names(in: directory)) ?? [], in: directory).map(\.original))
    }

    /// A copy of an item that lost a conflict, which nobody has resolved.
    package struct UnresolvedCopy: Sendable, Hashable {
        /// Where it lies.
        package var path: FilePath
        /// The name of the item, which lies beside it.
        package var original: String
        /// The device that wrote it, as far as its name tells.
        package var device: String?
    }

    /// The conflict copies among the names of a directory whose conflict is not resolved.
    ///
    /// - Parameters:
    ///   - names: all that lies there.
    ///   - directory: where that is.
    /// - Returns: the copies, in the names' order.
    package static func unresolvedCopies(among names: [String], in directory: FilePath) -> [UnresolvedCopy] {
        let copies = names.compactMap { name in ConflictName(name).map { ($0, directory.appending(name)) } }
        guard !copies.isEmpty else { return [] }
        // A copy of what is not there is an item like others.
        let present = Set(names)
        return copies.filter { present.contains($0.original) && ConflictCopy($0, at: $1)?.isResolved == false }.map {
            UnresolvedCopy(path: $1, original: $0.original, device: $0.device)
        }
    }
}
