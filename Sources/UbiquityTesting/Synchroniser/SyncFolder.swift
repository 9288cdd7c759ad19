internal import CLinux
internal import Foundation
internal import Glibc
internal import SystemPackage
internal import UbiquityContainers
internal import UbiquityStores

/// One account's folder on one device: scans it, and transfers files into it.
///
/// A file is written under a temporary name and renamed, as Syncthing does. A file that changed since the last scan is
/// left alone, and so are files that never leave the device.
struct SyncFolder: Sendable {
    /// Distinguishes contents of a file without reading them, within the resolution of the file system's clock.
    private struct Stamp: Hashable, Sendable {
        var inode: UInt64
        var size: Int64
        /// In nanoseconds since 1970.
        var modified: Int64
        var changed: Int64

        init(_ status: inout stat) {
            inode = UInt64(status.st_ino)
            size = Int64(status.st_size)
            modified = clinux_modified(&status)
            changed = clinux_changed(&status)
        }
    }

    private struct Seen: Sendable {
        var stamp: Stamp
        var hash: ContentHash
        /// Whether a later change could leave the stamp unchanged.
        var isYoung: Bool
    }

    /// `<containers root>/<account>`.
    let path: FilePath
    var index: FolderIndex
    private var seen: [String: Seen] = [:]
    private let base: String
    private let files = LinuxFileLayer()

    init(_ path: FilePath, of device: Int) {
        self.path = path
        base = path.string
        index = FolderIndex(of: device)
    }

    // MARK: Scanning

    /// Scans everything, and records changes.
    ///
    /// - Returns: whether the scan was possible: without the containers root nothing is known, and nothing is deleted
    ///   elsewhere.
    /// - Throws: `Errno` when a directory cannot be read.
    mutating func look() throws(Errno) -> Bool {
        guard try files.kind(of: path.removingLastComponent()) == .directory else { return false }
        var found: [String: FolderIndex.Finding] = [:]
        try look(into: "", &found)
        // It may have disappeared meanwhile.
        guard try files.kind(of: path.removingLastComponent()) == .directory else { return false }
        seen = seen.filter { found[$0.key] != nil }
        index.note(found)
        return true
    }

    private mutating func look(into directory: String, _ found: inout [String: FolderIndex.Finding]) throws(Errno) {
        let names: [String]
        do {
            names = try files.names(in: place(directory))
        } catch  where Self.isPassing(error) {
            return
        }
        for name in names where !ForeignNames.staysHere(name) {
            let path = directory.isEmpty ? name : "\(directory)/\(name)"
            guard var status = try status(path) else { continue }
            switch status.st_mode & S_IFMT {
            case S_IFDIR:
                found[path] = .init(content: .directory)
                try look(into: path, &found)
            case S_IFREG: if let finding = try finding(path, Stamp(&status)) { found[path] = finding }
            default: break
            }
        }
    }

    /// Returns the content of a file; nil if it has disappeared.
    private mutating func finding(_ path: String, _ stamp: Stamp) throws(Errno) -> FolderIndex.Finding? {
        if let seen = seen[path], seen.stamp == stamp, !seen.isYoung { return .init(content: .file(seen.hash), modified: stamp.modified) }
        do {
            let hash = try ContentHash(ofFile: place(path))
            note(path, stamp, hash)
            return .init(content: .file(hash), modified: stamp.modified)
        } catch  where Self.isPassing(error) {
            return nil
        }
    }

    private mutating func note(_ path: String, _ stamp: Stamp, _ hash: ContentHash) {
        // The kernel's times have a resolution of some milliseconds.
        let isYoung = Int64(Date().timeIntervalSince1970 * 1e9) - stamp.changed < 1_000_000_000
        seen[path] = Seen(stamp: stamp, hash: hash, isYoung: isYoung)
    }

    private func place(_ path: String) -> FilePath { path.isEmpty ? self.path : FilePath("\(base)/\(path)") }

    /// Inspects an entry, nil if there is none; takes a string, because a `FilePath` validates itself at every step in
    /// debug builds, and a scan inspects every file.
    private func status(_ path: String) throws(Errno) -> stat? {
        var status = stat()
        if lstat("\(base)/\(path)", &status) == 0 { return status }
        if errno == ENOENT || errno == ENOTDIR { return nil }
        throw Errno(rawValue: errno)
    }

    /// Returns whether the entry at a path matches the index.
    private func isAsKnown(_ path: String) throws(Errno) -> Bool {
        guard var status = try status(path) else { return index.entries[path].map { $0.finding.content == .deleted } ?? true }
        switch index.entries[path]?.finding.content {
        case .directory: return status.st_mode & S_IFMT == S_IFDIR
        case .file: return status.st_mode & S_IFMT == S_IFREG && seen[path]?.stamp == Stamp(&status)
        case .deleted, nil: return false
        }
    }

    /// Returns whether an error only means that an entry changed in between: the next scan finds out.
    private static func isPassing(_ error: Errno) -> Bool {
        [.noSuchFileOrDirectory, .notDirectory, .isDirectory, .directoryNotEmpty, .fileExists, .tooManySymbolicLinkLevels, .invalidArgument]
            .contains(error)
    }

    // MARK: Changes

    /// Takes another device's content.
    ///
    /// - Parameters:
    ///   - path: the path of the entry.
    ///   - entry: the entry in the other device's index.
    ///   - other: the other device's folder.
    ///   - copy: the name for the local content, if it must be kept.
    /// - Returns: whether it was taken: not if either side has changed since the scan, or another entry blocks the
    ///   path.
    /// - Throws: `Errno` when a file cannot be read or written.
    mutating func take(_ path: String, _ entry: FolderIndex.Entry, from other: SyncFolder, keeping copy: String?) throws(Errno) -> Bool {
        do {
            guard try isAsKnown(path) else { return false }
            let target = place(path)
            let isTaken =
                switch entry.finding.content {
                case .deleted: try remove(path)
                case .directory: try makeDirectory(path, keeping: copy)
                case .file(let hash): try takeFile(path, hash, entry.finding.modified, from: other.place(path), to: target, keeping: copy)
                }
            if isTaken { index.set(path, to: entry) }
            return isTaken
        } catch  where Self.isPassing(error) {
            return false
        }
    }

    private mutating func takeFile(
        _ path: String, _ hash: ContentHash, _ modified: Int64, from source: FilePath, to target: FilePath, keeping copy: String?
    ) throws(Errno) -> Bool {
        let bytes = try files.read(source, limit: .max)
        guard ContentHash(of: bytes) == hash else { return false }
        let directory = target.removingLastComponent()
        try makeDirectories(directory)
        if index.entries[path]?.finding.content == .directory { try files.removeDirectory(target) }
        let draft = directory.appending(Self.draftName(of: target.lastComponent!.string, hash))
        try? files.remove(draft)
        try files.writeNew(draft, bytes)
        try Self.setModified(draft, modified)
        if let copy { try files.renameNew(target, to: directory.appending(copy)) }
        try files.renameOver(draft, to: target)
        if var status = try status(path) { note(path, Stamp(&status), hash) }
        return true
    }

    /// Sets a file's time to the other device's time; see utimensat(2).
    private static func setModified(_ file: FilePath, _ nanoseconds: Int64) throws(Errno) {
        let time = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        // The first time is that of the last access, which is unused; the second is that of the last change.
        guard utimensat(AT_FDCWD, file.string, [time, time], 0) == 0 else { throw Errno(rawValue: errno) }
    }

    /// Returns Syncthing's temporary name, which is shortened to fit into NAME_MAX (lib/fs/tempname.go).
    private static func draftName(of name: String, _ hash: ContentHash) -> String {
        ".syncthing.\(name.utf8.count > 160 ? hash.description : name).tmp"
    }

    private func makeDirectory(_ path: String, keeping copy: String?) throws(Errno) -> Bool {
        let target = place(path)
        try makeDirectories(target.removingLastComponent())
        if case .file? = index.entries[path]?.finding.content {
            if let copy { try files.renameNew(target, to: target.removingLastComponent().appending(copy)) } else { try files.remove(target) }
        }
        try files.makeDirectory(target)
        return true
    }

    /// Creates the missing directories below the containers root, but not the root itself.
    private func makeDirectories(_ directory: FilePath) throws(Errno) {
        if directory != path { try makeDirectories(directory.removingLastComponent()) }
        try files.makeDirectory(directory)
    }

    private func remove(_ path: String) throws(Errno) -> Bool {
        let target = place(path)
        if index.entries[path]?.finding.content == .directory {
            // A directory that still contains files that never leave the device stays, as with Syncthing.
            try files.removeDirectory(target)
        } else {
            try files.remove(target)
        }
        return true
    }
}
