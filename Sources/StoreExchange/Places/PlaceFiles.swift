internal import Foundation
package import StoreFormat
package import SystemPackage
internal import UbiquityContainers

/// The files of a public place in a directory: what a publisher writes and a web server serves, or what a reader has
/// fetched.
package struct PlaceFiles: Sendable {
    /// The directory of the place.
    package let root: FilePath

    package init(_ root: FilePath) { self.root = root }

    /// Returns where a file lies.
    package func path(_ path: PublishedPath) -> FilePath { path.components.reduce(root) { $0.appending($1) } }

    /// Returns whether a file is here, with its size.
    package func has(_ path: PublishedPath, _ file: PublishedFile) -> Bool { (try? LinuxFileLayer().size(of: self.path(path))) == file.size }

    /// Returns a file of the place that has just been written, under a name that tells nothing.
    package func draft() throws(Errno) -> FilePath {
        let files = LinuxFileLayer()
        try makeDirectories(root)
        let drafts = root.appending(Self.draftsName)
        try files.makeDirectory(drafts)
        return drafts.appending(UUID().uuidString)
    }

    /// Gives a draft its name, and makes the name durable; a file that is there already is the same.
    ///
    /// - Parameters:
    ///   - draft: the draft, which is synced first.
    ///   - path: its place.
    ///   - isReplacing: whether a file of that name is replaced, as only the newest head is.
    /// - Throws: `Errno`.
    package func place(_ draft: FilePath, at path: PublishedPath, isReplacing: Bool = false) throws(Errno) {
        let files = LinuxFileLayer()
        let file = self.path(path)
        try files.syncFile(draft)
        try makeDirectories(file.removingLastComponent())
        if isReplacing {
            try files.renameOver(draft, to: file)
        } else {
            do {
                try files.renameNew(draft, to: file)
            } catch Errno.fileExists {
                try files.renameOver(draft, to: file)
            }
        }
        try files.syncDirectory(file.removingLastComponent())
    }

    /// Removes what a killed process has left of its drafts.
    package func removeDrafts() {
        let files = LinuxFileLayer()
        let drafts = root.appending(Self.draftsName)
        for name in (try? files.directoryNames(in: drafts) ?? []) ?? [] { try? files.remove(drafts.appending(name)) }
    }

    private static let draftsName = "drafts.nosync"

    private func makeDirectories(_ directory: FilePath) throws(Errno) {
        let files = LinuxFileLayer()
        var missing: [FilePath] = []
        var parent = directory
        while try files.kind(of: parent) == nil, parent.lastComponent != nil {
            missing.append(parent)
            parent = parent.removingLastComponent()
        }
        for directory in missing.reversed() {
            try files.makeDirectory(directory)
            try files.syncDirectory(directory.removingLastComponent())
        }
    }
}
