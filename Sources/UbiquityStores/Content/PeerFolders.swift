internal import Foundation
internal import SystemPackage
internal import UbiquityContainers

/// Lists directories of peers, in whose place anything may lie: a link, a file, a directory that this user may not read.
///
/// No link is followed. What cannot be listed is a fault of that peer alone: a ``PeerFault``, which callers note and pass over.
struct PeerFolders {
    let layout: ContentLayout
    let files: any FileLayer

    /// Lists a directory of a peer.
    ///
    /// - Parameter directory: a path below the content's directory.
    /// - Returns: the names in it; none where it is not there.
    /// - Throws: ``PeerFault`` where it cannot be listed; `Errno` where this process cannot list anything now.
    func names(in directory: FilePath) throws -> [String] {
        guard try isThere(directory) else { return [] }
        return try explained(directory) { () throws(Errno) in try files.namesIfThere(in: directory) }
    }

    /// Whether a directory of a peer is there, and everything on the way to it is a directory.
    ///
    /// - Parameter directory: a path below the content's directory.
    /// - Returns: whether it is there.
    /// - Throws: ``PeerFault`` where something else is in its place, or this user may not look; `Errno` where this process cannot look at anything now.
    func isThere(_ directory: FilePath) throws -> Bool {
        var path = layout.directory
        for component in directory.components.dropFirst(path.components.count) {
            path.append(component)
            // Who may not look at it may not search the directory that it lies in (path_resolution(7)).
            switch try explained(path.removingLastComponent(), { () throws(Errno) in try files.kind(of: path) }) {
            case .directory: continue
            case .file: throw PeerFault(directory: path, reason: "is a file, where a directory belongs")
            case .other: throw PeerFault(directory: path, reason: "is a link, a pipe or the like, where a directory belongs")
            case nil: return false
            }
        }
        return true
    }

    private func explained<Result>(_ directory: FilePath, _ body: () throws(Errno) -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            throw error.isOfProcess ? error : PeerFault(directory: directory, reason: "cannot be listed (\(error)); check its owner and mode")
        }
    }
}

/// Why a directory of a peer cannot be listed.
struct PeerFault: Error, Hashable, CustomStringConvertible {
    var directory: FilePath
    /// In words, to stand behind the directory's path.
    var reason: String

    var description: String { "\(directory) \(reason)" }
}

extension Errno {
    /// Whether this process, or the whole device, is short of something: the error says nothing of the file.
    var isOfProcess: Bool { [.tooManyOpenFiles, .tooManyOpenFilesInSystem, .noMemory].contains(self) }
}

extension QuarantinedLog {
    /// Lists a directory of a peer that cannot be listed, by its path in the peer's directory of the epoch.
    init(_ fault: PeerFault, of peer: PeerIdentifier, in layout: ContentLayout, epoch: Int64, since: Date) {
        var (file, path) = (fault.directory, fault.directory)
        let isBelow = file.removePrefix(layout.logs(of: peer, epoch: epoch)) && !file.isEmpty
        _ = path.removePrefix(layout.directory)
        self.init(
            peer: peer.description, file: isBelow ? file.string : ".", kind: .unreadable, reason: "\(path) \(fault.reason)", record: nil, since: since
        )
    }
}
