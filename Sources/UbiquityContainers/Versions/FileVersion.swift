public import FileCoordination
public import Foundation
internal import Glibc
public import SystemPackage

/// One version of a file's content: the current one, or one that lost a conflict; Cocoa's `NSFileVersion`.
///
/// If two devices change a file at the same time, the synchroniser chooses one content, and leaves the other beside it
/// as a copy with another name (Syncthing: `Letter.sync-conflict-20260102-030405-ABCDEFG.txt`). Such a copy is a
/// version in conflict until it is resolved or removed:
///
/// ```swift
/// for version in try await FileVersion.unresolvedConflictVersions(ofItemAt: letter) ?? [] {
///     try await merge(version.url)
///     try await version.setResolved(true)
/// }
/// try await FileVersion.removeOtherVersions(ofItemAt: letter)
/// ```
///
/// A value describes the version at the time of the lookup, except ``isResolved`` and ``hasLocalContents``, which look
/// again. Plain files are versions in conflict, and packages that a cloud carries. Any other directory has only its current version, and the files in it have their own. A copy
/// without its original is an ordinary item. Presenters are told about versions that appear, disappear, and are resolved.
public struct FileVersion: Hashable, Sendable {
    /// The URL of the version's content; read it under coordination, like any file.
    public let url: URL
    /// The path of ``url``.
    public let path: FilePath
    /// The URL of the version's item.
    public let itemURL: URL
    /// Finds the version again, together with the item's URL; it stays valid when item and version move together.
    public let persistentIdentifier: FileVersionIdentifier
    /// Whether the version lost a conflict, resolved or not.
    public let isConflict: Bool
    /// The time of the last change of its content.
    public let modificationDate: Date
    /// The device that wrote it, if the copy's name tells it: the first seven characters of Syncthing's device
    /// identifier.
    public let nameOfSavingComputer: String?

    /// The name of the item, for people.
    public var localizedName: String { itemURL.lastPathComponent }

    /// Whether the version needs no attention: its conflict was resolved, or it never was in one.
    ///
    /// Blocks for one or two system calls.
    public var isResolved: Bool { !isConflict || ConflictCopy(at: path)?.isResolved ?? true }

    /// Whether the content is on this device.
    ///
    /// Blocks for one system call.
    public var hasLocalContents: Bool { (try? LinuxFileLayer().kind(of: path)) ?? nil != nil }

    /// Whether an app has kept it with ``addVersion(ofItemAt:withContentsOf:byMoving:coordinator:deadline:)``; it is on this device only.
    public var isKept: Bool { persistentIdentifier.rawValue.hasPrefix(KeptVersions.prefix) }

    static let current = FileVersionIdentifier(rawValue: "current")

    // MARK: Lookups

    /// Returns the current version, which is at the item's own path.
    ///
    /// - Parameter url: a file URL.
    /// - Returns: nil if there is no item.
    /// - Throws: `ContainerError` when the item cannot be inspected.
    public static func currentVersion(ofItemAt url: URL) async throws(ContainerError) -> FileVersion? {
        let item = try path(of: url)
        return try await look { () throws(ContainerError) in try current(of: item, url) }
    }

    /// Returns the versions other than the current one, newest first: the ones that lost a conflict, resolved or not, and the ones that
    /// were kept.
    ///
    /// - Parameter url: a file URL.
    /// - Returns: nil if there is no item.
    /// - Throws: `ContainerError` when the item or its directory cannot be read.
    public static func otherVersions(ofItemAt url: URL) async throws(ContainerError) -> [FileVersion]? {
        let item = try path(of: url)
        return try await look { () throws(ContainerError) in
            guard try current(of: item, url) != nil else { return nil }
            let versions = try copies(of: item, url).map(\.version) + kept(of: item, url)
            return versions.sorted { ($1.modificationDate, $1.path.string) < ($0.modificationDate, $0.path.string) }
        }
    }

    /// Returns the versions with an unresolved conflict, newest first.
    ///
    /// - Parameter url: a file URL.
    /// - Returns: an empty array if there are none; nil if there is no item.
    /// - Throws: `ContainerError` when the item or its directory cannot be read.
    public static func unresolvedConflictVersions(ofItemAt url: URL) async throws(ContainerError) -> [FileVersion]? {
        let item = try path(of: url)
        return try await look { () throws(ContainerError) in
            guard try current(of: item, url) != nil else { return nil }
            return try copies(of: item, url).filter { !$0.isResolved }.map(\.version)
        }
    }

    /// Returns the version with an identifier.
    ///
    /// - Parameters:
    ///   - url: a file URL.
    ///   - identifier: an earlier ``persistentIdentifier``, of any age.
    /// - Returns: nil if the item does not have the version any more, or does not exist.
    /// - Throws: `ContainerError` when the item or its directory cannot be read.
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

    /// Returns a version that has been removed, as its identifier describes it; for `presentedItemDidLose(_:)`.
    ///
    /// - Parameters:
    ///   - identifier: the identifier of the lost version.
    ///   - url: the item.
    /// - Returns: a version whose URL is the one that the version had beside the item, and whose date is the one in its name; nil if the
    ///   identifier is that of no such version.
    public static func lost(_ identifier: FileVersionIdentifier, ofItemAt url: URL) -> FileVersion? {
        guard let item = try? path(of: url) else { return nil }
        if let place = KeptVersions(of: item).path(of: identifier) {
            return version(identifier, at: place, ofItemAt: url, date: KeptVersions.date(of: identifier) ?? Date(timeIntervalSince1970: 0))
        }
        guard let name = ConflictName(identifier, of: url.lastPathComponent) else { return nil }
        let text = name.copy
        return FileVersion(
            url: url.deletingLastPathComponent().appending(path: text, directoryHint: .notDirectory),
            path: item.removingLastComponent().appending(text), itemURL: url, persistentIdentifier: identifier, isConflict: true,
            modificationDate: name.date ?? Date(timeIntervalSince1970: 0), nameOfSavingComputer: name.device)
    }

    /// Runs blocking work outside the cooperative pool.
    private static func look<Value: Sendable>(
        _ body: @escaping @Sendable () throws(ContainerError) -> Value
    ) async throws(ContainerError) -> Value {
        do {
            return try await blocking(body)
        } catch {
            // The body throws no other error.
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

    /// Returns an item's conflict copies, newest first.
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

    /// Returns the kept versions of an item, oldest first.
    private static func kept(of item: FilePath, _ url: URL) -> [FileVersion] {
        let versions = KeptVersions(of: item)
        return versions.identifiers.compactMap { identifier in
            guard let place = versions.path(of: identifier), let date = (try? modificationDate(of: place)) ?? nil else { return nil }
            return version(identifier, at: place, ofItemAt: url, date: KeptVersions.date(of: identifier) ?? date)
        }
    }

    static func version(_ kept: FileVersionIdentifier, at place: FilePath, ofItemAt url: URL, date: Date) -> FileVersion {
        FileVersion(
            url: URL(filePath: place.string, directoryHint: .notDirectory), path: place, itemURL: url, persistentIdentifier: kept,
            isConflict: false, modificationDate: date, nameOfSavingComputer: nil)
    }

    private static func modificationDate(of path: FilePath) throws(Errno) -> Date? {
        guard let facts = try FileFacts(of: path) else { return nil }
        return facts.modificationDate
    }
}
