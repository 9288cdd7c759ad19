public import Foundation
public import SystemPackage

/// An item of a container as a query finds it; Cocoa's `NSMetadataItem`.
public struct MetadataItem: Hashable, Sendable, Identifiable {
    /// Its absolute path, below the container's as that is spelled.
    public let path: FilePath
    /// Its size in bytes; of a package that of the files in it, of a directory or link nothing of use.
    public let size: Int64
    /// When its content was last changed; of a package, that of what was changed last in it.
    public let contentModificationDate: Date
    /// Whether it is a directory, a package included.
    public let isDirectory: Bool
    /// Whether it is a directory that counts as one item (`FileCoordinator.filePackages`).
    public let isPackage: Bool
    /// Whether it is a symbolic link, wherever that leads.
    public let isSymbolicLink: Bool
    /// Whether versions of it lost a conflict which nobody has resolved: those of ``FileVersion/unresolvedConflictVersions(ofItemAt:)``.
    public internal(set) var hasUnresolvedConflicts: Bool
    /// How it stands, where the query has somebody to ask; nil until the answer is there.
    public internal(set) var status: ItemStatus?

    package init(
        path: FilePath, size: Int64 = 0, contentModificationDate: Date = Date(timeIntervalSince1970: 0), isDirectory: Bool = false,
        isPackage: Bool = false, isSymbolicLink: Bool = false, hasUnresolvedConflicts: Bool = false, status: ItemStatus? = nil
    ) {
        self.path = path
        self.size = size
        self.contentModificationDate = contentModificationDate
        self.isDirectory = isDirectory
        self.isPackage = isPackage
        self.isSymbolicLink = isSymbolicLink
        self.hasUnresolvedConflicts = hasUnresolvedConflicts
        self.status = status
    }

    /// The path, by which an item is the same in two updates.
    public var id: FilePath { path }
    /// The last component of the path.
    public var name: String { path.lastComponent?.string ?? "" }
    /// The path as a URL.
    public var url: URL { URL(filePath: path.string, directoryHint: isDirectory ? .isDirectory : .notDirectory) }
}
