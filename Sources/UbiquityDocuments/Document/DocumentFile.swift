internal import FileCoordination
internal import Foundation
internal import Glibc
internal import SystemPackage
internal import UbiquityContainers

/// A document's item on disk: reads it, and puts new content in its place in one step.
///
/// It blocks, and the caller coordinates.
struct DocumentFile: Sendable {
    /// A named point of a save at which a test can kill the process.
    enum SavePoint: String, Sendable {
        case begun = "document.begun"
        case otherKept = "document.otherKept"
        case drafted = "document.drafted"
        case replaced = "document.replaced"

        func pass() { KillPoint.pass(rawValue) }
    }

    /// An item, as this process has read or written it last.
    struct Seen: Sendable {
        var stamp: ContentStamp
        var hold: ItemHold?
    }

    let path: FilePath

    init(_ url: URL) { path = FilePath(url.path(percentEncoded: false)).lexicallyNormalized() }

    /// The URL of the item to which a symbolic link leads; the given URL if it is that of no link.
    static func destination(of url: URL) -> URL {
        let path = DocumentFile(url).path
        guard (try? FileFacts(of: path))?.kind == .link else { return url }
        return path.withPlatformString { path in
            guard let real = realpath(path, nil) else { return url }
            defer { free(real) }
            return URL(filePath: String(cString: real), directoryHint: url.hasDirectoryPath ? .isDirectory : .notDirectory)
        }
    }

    /// Reads the item.
    func read() throws(DocumentError) -> (content: FileWrapper, seen: Seen) {
        let hold = ItemHold(path)
        let stamp = try self.stamp()
        let content = try FileWrapper(reading: path)
        guard let stamp else { throw missing }
        if content.isDirectory, !FileCoordinator.filePackages.contains(path) {
            throw DocumentError(
                .notPackage,
                "\(path) is a directory, and no file package: declare its extension with FileCoordinator.filePackages, or open a file in it.",
                path: path)
        }
        return (content, Seen(stamp: stamp, hold: hold))
    }

    /// Looks at the item; nil if there is none.
    func stamp() throws(DocumentError) -> ContentStamp? {
        do {
            return try ContentStamp(of: path)
        } catch {
            throw DocumentError(
                .unreadable, "\(path) cannot be looked up; check the owner and mode of the directories above it.", path: path, cause: error)
        }
    }

    /// The item was deleted while its document was open.
    var gone: DocumentError {
        DocumentError(
            .gone, "\(path) was deleted while it was open. Its content is in memory: save it at another place, or close the document.", path: path)
    }

    private var missing: DocumentError {
        DocumentError(.unreadable, "\(path) cannot be read: there is no such item.", path: path, cause: Errno.noSuchFileOrDirectory)
    }

    /// Writes a new item; fails if there is one.
    func create(_ content: FileWrapper) throws -> Seen {
        try requireNothing()
        return try put(content)
    }

    /// Fails if there is an item.
    func requireNothing() throws {
        if try stamp() != nil {
            throw CocoaError(
                .fileWriteFileExists,
                userInfo: [
                    NSFilePathErrorKey: path.string, NSLocalizedDescriptionKey: "There is an item at \(path) already; choose another name.",
                ])
        }
    }

    /// What came of a save.
    enum Outcome: Sendable {
        /// The item was moved or deleted before it could be replaced.
        case moved
        /// It was replaced; `isConflict` if another program had written it without coordination, which is a version now.
        case replaced(Seen, isConflict: Bool)
    }

    /// Replaces the item.
    ///
    /// If the item is not as this process has seen it last, another program has written it without coordination. What it has written
    /// becomes a version in conflict, also if it was written in the last moment.
    func replace(with content: FileWrapper, seen: ContentStamp) throws(DocumentError) -> Outcome {
        SavePoint.begun.pass()
        guard let old = try stamp() else { return .moved }
        if old != seen { try keepOther() }
        let (draft, replacement) = (ItemReplacement.draft(beside: path), ItemReplacement())
        let swap = ItemReplacement.swap(of: draft)
        do throws(Errno) {
            let new = try write(content, to: draft)
            try takeMode(of: path, to: draft, content)
            SaveMark(swap: swap, replaces: old).set(on: draft)
            SavePoint.drafted.pass()
            try LinuxFileLayer().renameNew(draft, to: swap)
            guard try exchange(swap, old) else {
                replacement.discard(swap)
                return .moved
            }
            SavePoint.replaced.pass()
            try? LinuxFileLayer().syncDirectory(path.removingLastComponent())
            let isConflict = try putAway(swap, isAsBefore: (try? ContentStamp(of: swap)) == old)
            return .replaced(new, isConflict: old != seen || isConflict)
        } catch {
            for draft in [draft, swap] where SaveMark(of: draft)?.name == swap.lastComponent?.string { replacement.discard(draft) }
            replacement.discard(draft)
            throw unwritable(error)
        }
    }

    /// Removes the item that was replaced; if another program has written it in the last moment, it becomes a version in conflict.
    private func putAway(_ replaced: FilePath, isAsBefore: Bool) throws(Errno) -> Bool {
        guard isAsBefore else {
            try takeName(replaced)
            return true
        }
        carryOver(from: replaced, to: path)
        ItemReplacement().discard(replaced)
        return false
    }

    /// Exchanges a draft and the item; false if the item has gone.
    private func exchange(_ draft: FilePath, _ old: ContentStamp) throws(Errno) -> Bool {
        do throws(Errno) {
            try ItemReplacement().exchange(path, for: draft)
            return true
        } catch .noSuchFileOrDirectory {
            return false
        } catch .invalidArgument {
            // A file system that exchanges nothing; a file is replaced by a rename.
            let displaced = ItemReplacement.draft(beside: path)
            guard try ContentStamp(of: path) == old else { throw .resourceBusy }
            try LinuxFileLayer().renameNew(path, to: displaced)
            try LinuxFileLayer().renameNew(draft, to: path)
            try LinuxFileLayer().renameNew(displaced, to: draft)
            return true
        }
    }

    /// Writes a new item.
    private func put(_ content: FileWrapper) throws(DocumentError) -> Seen {
        let draft = ItemReplacement.draft(beside: path)
        do throws(Errno) {
            let new = try write(content, to: draft)
            SavePoint.drafted.pass()
            try LinuxFileLayer().renameNew(draft, to: path)
            SavePoint.replaced.pass()
            try? LinuxFileLayer().syncDirectory(path.removingLastComponent())
            return new
        } catch {
            ItemReplacement().discard(draft)
            throw unwritable(error)
        }
    }

    /// Writes a draft, and describes it as it will be under the item's name.
    private func write(_ content: FileWrapper, to draft: FilePath) throws(Errno) -> Seen {
        try content.write(to: draft)
        guard let stamp = try ContentStamp(of: draft) else { throw .noSuchFileOrDirectory }
        return Seen(stamp: stamp, hold: ItemHold(draft))
    }

    private func unwritable(_ error: Errno) -> DocumentError {
        DocumentError(
            .unwritable, "\(path) cannot be saved; check that its directory exists, is writable, and has space.", path: path, cause: error)
    }

    /// Gives a draft the permissions of the item that it replaces.
    private func takeMode(of item: FilePath, to draft: FilePath, _ content: FileWrapper) throws(Errno) {
        var status = Glibc.stat()
        guard item.withPlatformString({ lstat($0, &status) }) == 0 else { return }
        let kind = status.st_mode & S_IFMT
        guard kind == (content.isDirectory ? S_IFDIR : S_IFREG), !content.isSymbolicLink else { return }
        guard draft.withPlatformString({ chmod($0, status.st_mode & 0o7777) }) == 0 else { throw Errno(rawValue: errno) }
    }

    /// Keeps what another program has written, as a version in conflict beside the item.
    private func keepOther() throws(DocumentError) {
        let (draft, replacement) = (ItemReplacement.draft(beside: path), ItemReplacement())
        do {
            try FileManager.default.copyItem(atPath: path.string, toPath: draft.string)
            try replacement.sync(draft)
            try takeName(draft)
        } catch {
            replacement.discard(draft)
            throw DocumentError(
                .unwritable,
                "\(path) was changed by another program, and its content cannot be kept as a version; check that its directory is writable.",
                path: path, cause: error)
        }
        SavePoint.otherKept.pass()
    }

    /// Gives what another program has written the name of a version in conflict.
    private func takeName(_ other: FilePath) throws(Errno) {
        var milliseconds = Int64(((try FileFacts(of: other))?.modificationDate.timeIntervalSince1970 ?? 0) * 1000)
        for _ in 0..<1000 {
            do throws(Errno) {
                try LinuxFileLayer().renameNew(other, to: path.removingLastComponent().appending(versionName(milliseconds)))
                try? LinuxFileLayer().syncDirectory(path.removingLastComponent())
                return
            } catch .fileExists {
                milliseconds += 1000
            }
        }
        throw .fileExists
    }

    private func versionName(_ milliseconds: Int64) -> String {
        let name = path.lastComponent?.string ?? ""
        let version = ConflictName.name(for: name, modified: milliseconds, device: Self.deviceOfUncoordinated)
        guard version.utf8.count > 255 else { return version }
        // It is no version by this name, and is kept as a document of its own.
        let end = path.extension.map { ".\($0)" } ?? ""
        return ConflictName.name(for: String(name.unicodeScalars.prefix(40)) + end, modified: milliseconds, device: Self.deviceOfUncoordinated)
    }

    /// What stands for the device in the name of a version that a program of this device wrote; seven characters of base 32.
    private static let deviceOfUncoordinated = "LOCALLY"

    /// Removes what crashes of earlier saves have left; what another program wrote in their last moment becomes a version in conflict.
    func clean() {
        let replacement = ItemReplacement()
        replacement.removeDrafts(beside: path)
        for swap in replacement.abandonedSwaps(beside: path) {
            let name = swap.lastComponent?.string ?? ""
            guard SaveMark(of: swap)?.name != name, let mark = SaveMark(of: path), mark.name == name else {
                // It has not been exchanged, or the file system keeps no marks.
                replacement.discard(swap)
                continue
            }
            let stamp = (try? ContentStamp(of: swap)) ?? nil
            _ = try? putAway(swap, isAsBefore: stamp.map { mark.isReplacing($0) } ?? true)
        }
    }
}
