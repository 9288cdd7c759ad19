internal import Foundation
internal import StoreFormat
internal import StoreRecords
package import SystemPackage
package import UbiquityContainers

/// Lists the directories of peers, where anything may lie: a link, a file, a directory that this user may not read.
///
/// It follows no link. A directory that cannot be listed is a fault of that peer alone: callers note the ``PeerFault``
/// and continue.
package struct PeerFolders {
    package let layout: ContentLayout
    package let files: any FileLayer

    package init(layout: ContentLayout, files: any FileLayer) {
        self.layout = layout
        self.files = files
    }

    /// Lists a directory of a peer.
    ///
    /// - Parameter directory: a path below the content's directory.
    /// - Returns: the names in it. The list is empty if the directory does not exist.
    /// - Throws: ``PeerFault`` if it cannot be listed; `Errno` if this process cannot list anything now.
    package func names(in directory: FilePath) throws -> [String] {
        guard try isThere(directory) else { return [] }
        return try names(inChecked: directory)
    }

    /// Lists a directory of a peer that ``isThere(_:)`` or ``isThere(_:in:)`` has found.
    ///
    /// - Throws: the errors of ``names(in:)``.
    func names(inChecked directory: FilePath) throws -> [String] {
        try explained(directory) { () throws(Errno) in try files.namesIfThere(in: directory) }
    }

    /// Returns whether a directory of a peer exists and every component of its path is a directory.
    ///
    /// - Parameter directory: a path below the content's directory.
    /// - Returns: whether it exists.
    /// - Throws: ``PeerFault`` if something else is in its place, or this user may not look; `Errno` if this process
    ///   cannot look at anything now.
    package func isThere(_ directory: FilePath) throws -> Bool {
        var path = layout.directory
        for component in directory.components.dropFirst(path.components.count) {
            let parent = path
            path.append(component)
            guard try isThere(path, in: parent) else { return false }
        }
        return true
    }

    /// Returns whether a directory exists in one that has been found to be a directory.
    ///
    /// A listing of many peers looks at each directory once.
    ///
    /// - Parameters:
    ///   - directory: a path in the parent directory.
    ///   - parent: the parent directory.
    /// - Returns: whether it exists.
    /// - Throws: the errors of ``isThere(_:)``.
    func isThere(_ directory: FilePath, in parent: FilePath) throws -> Bool {
        // EACCES means that this user may not search the parent directory (path_resolution(7)).
        switch try explained(parent, { () throws(Errno) in try files.kind(of: directory) }) {
        case .directory: return true
        case .file: throw PeerFault(directory: directory, reason: "is a file, where a directory belongs")
        case .other: throw PeerFault(directory: directory, reason: "is a link, a pipe or another special file, where a directory belongs")
        case nil: return false
        }
    }

    private func explained<Result>(_ directory: FilePath, _ body: () throws(Errno) -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            throw error.isOfProcess ? error : PeerFault(directory: directory, reason: "cannot be listed (\(error)); check its owner and mode")
        }
    }
}

/// The reason why a directory of a peer cannot be listed.
package struct PeerFault: Error, Hashable, CustomStringConvertible {
    var directory: FilePath
    /// The reason in words, to follow the path of the directory.
    var reason: String

    package var description: String { "\(directory) \(reason)" }
}

extension Errno {
    /// Whether the process or the whole device lacks a resource, so that the error says nothing about the file.
    var isOfProcess: Bool { [.tooManyOpenFiles, .tooManyOpenFilesInSystem, .noMemory].contains(self) }
}

extension QuarantinedLog {
    /// Describes a peer's unlistable directory, by its path in the peer's directory of the epoch.
    init(_ fault: PeerFault, of peer: PeerIdentifier, in layout: ContentLayout, epoch: Int64, since: Date) {
        var (file, path) = (fault.directory, fault.directory)
        let isBelow = file.removePrefix(layout.logs(of: peer, epoch: epoch)) && !file.isEmpty
        _ = path.removePrefix(layout.directory)
        self.init(
            peer: peer.description, file: isBelow ? file.string : ".", kind: .unreadable, reason: "\(path) \(fault.reason)", record: nil, since: since
        )
    }
}
