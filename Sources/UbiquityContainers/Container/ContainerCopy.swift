internal import Foundation
public import SystemPackage

/// A copy of a container's current files, for example for a bug report, made without coordination or downloads.
public struct ContainerCopy: Sendable, Codable, Hashable {
    /// The number of copied files.
    public var files = 0
    /// Their size in bytes.
    public var bytes: Int64 = 0
    /// The items that were not copied, by path.
    public var leftOut: [LeftOut] = []

    /// An item that is missing in a copy.
    public struct LeftOut: Sendable, Codable, Hashable {
        /// The item's path in the container.
        public var path: String
        /// The reason in words.
        public var reason: String
    }

    /// Copies a container.
    ///
    /// Each file is copied as it is at some moment; two files may be copied at different moments. The copy omits
    /// folders that never leave the device, and files that a synchroniser has not finished writing.
    ///
    /// - Parameters:
    ///   - container: the container's directory.
    ///   - destination: the directory to create; it must not exist, and must be outside the container.
    ///   - elsewhere: the items that only other devices have, from ``Transport/elsewhere(below:)``; the copy lists them.
    ///   - progress: receives the next path to copy.
    /// - Returns: what was copied. Blocks while it reads and writes.
    /// - Throws: `ContainerError`; `CancellationError` if the task is cancelled. Files that were already copied stay.
    public static func make(
        of container: FilePath, at destination: FilePath, listing elsewhere: [FilePath: ItemState] = [:],
        progress: @escaping (_ path: String) -> Void = { _ in }
    ) throws -> ContainerCopy {
        let source = PathFacts.absolute(container)
        let target = PathFacts.absolute(destination)
        guard (try? LinuxFileLayer().kind(of: source)) == .directory else {
            throw ContainerError(.rootUnavailable, "\(source) is not a directory; name a container.", path: source)
        }
        guard !target.starts(with: source) else {
            throw ContainerError(.fileExists, "\(target) lies in the container itself; name a directory outside.", path: target)
        }
        do {
            try FileManager.default.createDirectory(atPath: target.removingLastComponent().string, withIntermediateDirectories: true)
            try FileManager.default.createDirectory(atPath: target.string, withIntermediateDirectories: false)
        } catch {
            let isThere = FileManager.default.fileExists(atPath: target.string)
            throw ContainerError(
                isThere ? .fileExists : .fileSystem,
                isThere ? "\(target) is there already; name another directory." : "\(target) cannot be created; check that its parent is writable.",
                path: target, cause: isThere ? nil : error)
        }
        var copying = Copying(source: source, target: target, progress: progress)
        try copying.copy(FilePath(""))
        for (item, state) in elsewhere {
            var path = item
            guard path.removePrefix(source) || path.removePrefix(container), (try? LinuxFileLayer().kind(of: target.pushing(path))) == .some(nil)
            else { continue }
            copying.leaveOut(path, "it is on another device\(state.size.map { ", \($0.formatted(.byteCount(style: .file)))" } ?? "")")
        }
        copying.copy.leftOut.sort { $0.path < $1.path }
        return copying.copy
    }
}

/// The state of a running copy.
private struct Copying {
    let source: FilePath
    let target: FilePath
    let progress: (String) -> Void
    var copy = ContainerCopy()
    private let files = LinuxFileLayer()

    init(source: FilePath, target: FilePath, progress: @escaping (String) -> Void) {
        (self.source, self.target, self.progress) = (source, target, progress)
    }

    /// Copies the contents of a directory.
    mutating func copy(_ directory: FilePath) throws {
        let names: [String]
        do {
            names = try files.names(in: source.pushing(directory)).sorted()
        } catch {
            return leaveOut(directory, "it cannot be listed (\(error))")
        }
        for name in names {
            try Task.checkCancellation()
            let path = directory.appending(name)
            if name.hasSuffix(".nosync") {
                leaveOut(path, "it never leaves the device")
            } else if ForeignNames.isDraft(name) {
                leaveOut(path, "a synchroniser is still writing it")
            } else {
                try copyEntry(path)
            }
        }
    }

    private mutating func copyEntry(_ path: FilePath) throws {
        let (from, to) = (source.pushing(path), target.pushing(path))
        progress(path.string)
        do {
            switch try files.kind(of: from) {
            case .directory:
                try files.makeDirectory(to)
                try copy(path)
            case .file:
                // Copies every byte up to the current end of the file; other programs may write the source meanwhile.
                try FileManager.default.copyItem(atPath: from.string, toPath: to.string)
                copy.files += 1
                copy.bytes += (try? files.size(of: to)) ?? 0
            case .other: leaveOut(path, "it is a symbolic link, a pipe or the like")
            case nil: leaveOut(path, "it disappeared during the copy")
            }
        } catch let error as CancellationError {
            throw error
        } catch {
            try? files.remove(to)
            if (try? files.kind(of: from)) == .some(nil) { return leaveOut(path, "it disappeared during the copy") }
            // If the disk is full, the next file would fail too.
            guard (try? files.kind(of: target)) == .directory, !isFull else {
                throw ContainerError(.fileSystem, "\(to) cannot be written: the disk is full, or the place has gone.", path: to, cause: error)
            }
            leaveOut(path, "it cannot be read (\((error as? Errno)?.description ?? "see its owner and mode"))")
        }
    }

    private var isFull: Bool {
        let free = (try? FileManager.default.attributesOfFileSystem(forPath: target.string))?[.systemFreeSize] as? NSNumber
        return free?.int64Value ?? .max < 1 << 16
    }

    mutating func leaveOut(_ path: FilePath, _ reason: String) { copy.leftOut.append(.init(path: path.string, reason: reason)) }
}
