public import FileCoordination
public import Foundation
internal import Glibc
public import SystemPackage

/// One of the contents that a file has: the current one, or one that lost a conflict; Cocoa's `NSFileVersion`.
///
/// Where a file was changed on two devices at once, the synchroniser picks one content, and leaves the other beside it as a copy with a name of its own
/// (Syncthing: `Letter.sync-conflict-20260102-030405-ABCDEFG.txt`). Such a copy is a version in conflict until somebody resolves or removes it:
///
/// ```swift
/// for version in try await FileVersion.unresolvedConflictVersions(ofItemAt: letter) ?? [] {
///     try await merge(version.url)
///     try await version.setResolved(true)
/// }
/// try await FileVersion.removeOtherVersions(ofItemAt: letter)
/// ```
///
/// A value tells how the version was when it was looked up, save ``isResolved`` and ``hasLocalContents``, which look again. Only plain files are versions in
/// conflict. A directory or package has its current version alone, and what lies in it has versions of its own. A copy of a file that is not there is an item
/// like others. Presenters hear of versions that come, go, and are resolved.
public struct FileVersion: Hashable, Sendable {
    /// Where the version's content is: read it, coordinated, like any file.
    public let url: URL
    /// The same as a path.
    public let path: FilePath
    /// The item that it is a version of.
    public let itemURL: URL
    /// Finds the version again, with the item's URL; it stays when both are moved together.
    public let persistentIdentifier: FileVersionIdentifier
    /// Whether it is one that lost a conflict, resolved or not.
    public let isConflict: Bool
    /// When its content was last changed.
    public let modificationDate: Date
    /// The device that wrote it, as far as the copy's name tells: the first seven characters of Syncthing's device identifier.
    public let nameOfSavingComputer: String?

    /// The name of the item, for people.
    public var localizedName: String { itemURL.lastPathComponent }

    /// Whether nobody need look at the version: its conflict was resolved, or it never was in one.
    ///
    /// Blocks for a system call or two.
    public var isResolved: Bool { !isConflict || ConflictCopy(at: path)?.isResolved ?? true }

    /// Whether the content is on this device.
    ///
    /// Blocks for a system call.
    public var hasLocalContents: Bool { (try? LinuxFileLayer().kind(of: path)) ?? nil != nil }

    static let current = FileVersionIdentifier(rawValue: "current")

    // MARK: Looking up

    /// The version that stands at the item's own place.
    ///
    /// - Parameter url: a file URL.
    /// - Returns: nil where nothing is there.
    /// - Throws: `ContainerError` where the item cannot be looked up.
    public static func currentVersion(ofItemAt url: URL) async throws(ContainerError) -> FileVersion? {
        let item = try path(of: url)
        return try await look { () throws(ContainerError) in try current(of: item, url) }
    }

    /// The versions beside the current one, the newest first; today those that lost a conflict, resolved or not.
    ///
    /// - Parameter url: a file URL.
    /// - Returns: nil where the item is not there.
    /// - Throws: `ContainerError` where the item or its directory cannot be read.
    public static func otherVersions(ofItemAt url: URL) async throws(ContainerError) -> [FileVersion]? {
        let item = try path(of: url)
        return try await look { () throws(ContainerError) in
            guard try current(of: item, url) != nil else { return nil }
            return try copies(of: item, url).map(\.version)
        }
    }

    /// The versions that lost a conflict which nobody has resolved, the newest first.
    ///
    /// - Parameter url: a file URL.
    /// - Returns: none where all is well; nil where the item is not there.
    /// - Throws: `ContainerError` where the item or its directory cannot be read.
    public static func unresolvedConflictVersions(ofItemAt url: URL) async throws(ContainerError) -> [FileVersion]? {
        let item = try path(of: url)
        return try await look { () throws(ContainerError) in
            guard try current(of: item, url) != nil else { return nil }
            return try copies(of: item, url).filter { !$0.isResolved }.map(\.version)
        }
    }

    /// The version that an identifier stands for.
    ///
    /// - Parameters:
    ///   - url: a file URL.
    ///   - identifier: what ``persistentIdentifier`` was, perhaps long ago.
    /// - Returns: nil where the item has no such version any more, or is not there.
    /// - Throws: `ContainerError` where the item or its directory cannot be read.
    public static func version(
        ofItemAt url: URL, forPersistentIdentifier identifier: FileVersionIdentifier
    ) async throws(ContainerError) -> FileVersion? {
        if identifier == current { return try await currentVersion(ofItemAt: url) }
        return try await otherVersions(ofItemAt: url)?.first { $0.persistentIdentifier == identifier }
    }

    static func path(of url: URL) throws(ContainerError) -> FilePath {
        let path = FilePath(url.path(percentEncoded: false)).lexicallyNormalized()
        guard url.isFileURL, path.isAbsolute, path.lastComponent != nil else {
            throw ContainerError(.invalidName, "\(url.absoluteString) has no versions: give the file URL of an item.")
        }
        return path
    }

    /// Runs what blocks away from the cooperative pool.
    private static func look<Value: Sendable>(
        _ body: @escaping @Sendable () throws(ContainerError) -> Value
    ) async throws(ContainerError) -> Value {
        do {
            return try await blocking(body)
        } catch {
            // The body throws nothing else.
            throw error as! ContainerError
        }
    }

    private static func current(of item: FilePath, _ url: URL) throws(ContainerError) -> FileVersion? {
        do {
            guard let date = try modificationDate(of: item) else { return nil }
            return FileVersion(
                url: url, path: item, itemURL: url, persistentIdentifier: current, isConflict: false, modificationDate: date,
                nameOfSavingComputer: nil)
        } catch {
            throw ContainerError(
                .fileSystem, "\(item) cannot be looked up; check the owner and mode of the directories above it.", path: item, cause: error)
        }
    }

    /// An item's conflict copies, the newest first.
    private static func copies(of item: FilePath, _ url: URL) throws(ContainerError) -> [(version: FileVersion, isResolved: Bool)] {
        let directory = item.removingLastComponent()
        guard let original = item.lastComponent.flatMap({ String(validating: $0) }) else { return [] }
        let names: [String]
        do {
            names = try LinuxFileLayer().names(in: directory)
        } catch {
            throw ContainerError(.fileSystem, "\(directory) cannot be listed; check its owner and mode.", path: directory, cause: error)
        }
        var found: [(version: FileVersion, isResolved: Bool)] = []
        for text in names {
            guard let name = ConflictName(text), name.original == original, let copy = ConflictCopy(name, at: directory.appending(text)),
                let date = try? modificationDate(of: copy.path)
            else { continue }
            let place = url.deletingLastPathComponent().appending(path: text, directoryHint: .notDirectory)
            let version = FileVersion(
                url: place, path: copy.path, itemURL: url, persistentIdentifier: name.identifier, isConflict: true, modificationDate: date,
                nameOfSavingComputer: name.device)
            found.append((version, copy.isResolved))
        }
        return found.sorted { ($1.version.modificationDate, $1.version.path.string) < ($0.version.modificationDate, $0.version.path.string) }
    }

    private static func modificationDate(of path: FilePath) throws(Errno) -> Date? {
        guard let facts = try FileFacts(of: path) else { return nil }
        return facts.modificationDate
    }
}
