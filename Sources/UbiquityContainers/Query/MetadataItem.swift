public import Foundation
public import SystemPackage

/// An item of a container that a query has found; Cocoa's `NSMetadataItem`.
public struct MetadataItem: Hashable, Sendable, Identifiable {
    /// Its absolute path, which begins with the container's path as the caller spelled it.
    public let path: FilePath
    /// Its size in bytes, of the newest known version if the item is not here; for a package the size of all its files; for a directory or link, no useful value.
    public let size: Int64
    /// The time of the last change of its content; for a package the latest change of a file in it; 1970 if the item is
    /// not here and has no placeholder.
    public let contentModificationDate: Date
    /// Whether it is a directory, a package included.
    public let isDirectory: Bool
    /// Whether it is a directory that counts as one item (see `FileCoordinator.filePackages`).
    public let isPackage: Bool
    /// Whether it is a symbolic link, with any destination.
    public let isSymbolicLink: Bool
    /// Whether the item has the unresolved versions of ``FileVersion/unresolvedConflictVersions(ofItemAt:)``.
    public internal(set) var hasUnresolvedConflicts: Bool
    /// Whether any version of it is on this device; otherwise only the query's transport knows it, from other devices.
    public let isHere: Bool
    /// Where it is, if the query has a transport; nil until the transport has answered.
    public internal(set) var state: ItemState?
    /// Its status, if the query has a transport; nil until the transport has answered.
    public var status: ItemStatus? { state?.status }

    package init(
        path: FilePath, size: Int64 = 0, contentModificationDate: Date = Date(timeIntervalSince1970: 0), isDirectory: Bool = false,
        isPackage: Bool = false, isSymbolicLink: Bool = false, hasUnresolvedConflicts: Bool = false, isHere: Bool = true, state: ItemState? = nil
    ) {
        self.path = path
        self.size = size
        self.contentModificationDate = contentModificationDate
        self.isDirectory = isDirectory
        self.isPackage = isPackage
        self.isSymbolicLink = isSymbolicLink
        self.hasUnresolvedConflicts = hasUnresolvedConflicts
        self.isHere = isHere
        self.state = state
    }

    /// The path, which identifies the item across updates.
    public var id: FilePath { path }
    /// The last component of the path.
    public var name: String { path.lastComponent?.string ?? "" }
    /// The path as a URL.
    public var url: URL { URL(filePath: path.string, directoryHint: isDirectory ? .isDirectory : .notDirectory) }
}
