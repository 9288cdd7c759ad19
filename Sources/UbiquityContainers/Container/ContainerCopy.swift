internal import Foundation
public import SystemPackage

/// A copy of a container as it lies there, such as for a bug report: nobody is asked or waited for, and nothing is downloaded.
public struct ContainerCopy: Sendable, Codable, Hashable {
    /// How many files were copied.
    public var files = 0
    /// Their bytes.
    public var bytes: Int64 = 0
    /// What was not copied, by path.
    public var leftOut: [LeftOut] = []

    /// Something that is not in a copy.
    public struct LeftOut: Sendable, Codable, Hashable {
        /// Its path in the container.
        public var path: String
        /// Why, in words.
        public var reason: String
    }

    /// Copies a container.
    ///
    /// Each file is as it was at some moment of the copy; two files need not be of one moment. Folders that never leave the device are left out, and what a
    /// synchroniser has half written.
    ///
    /// - Parameters:
    ///   - container: its directory.
    ///   - destination: where the copy is to be: a directory that is not there, outside the container.
    ///   - progress: is told what is copied next.
    /// - Returns: what was copied. Blocks while it reads and writes.
    /// - Throws: `ContainerError`; `CancellationError` where the task is cancelled. What was copied so far stays.
    public static func make(
        of container: FilePath, at destination: FilePath, progress: @escaping (_ path: String) -> Void = { _ in }
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
                isThere ? "\(target) is there already; name another directory." : "\(target) cannot be created; see that its parent can be written.",
                path: target, cause: isThere ? nil : error)
        }
        var copying = Copying(source: source, target: target, progress: progress)
        try copying.copy(FilePath(""))
        copying.copy.leftOut.sort { $0.path < $1.path }
        return copying.copy
    }
}

/// A copy in the making.
private struct Copying {
    let source: FilePath
    let target: FilePath
    let progress: (String) -> Void
    var copy = ContainerCopy()
    private let files = LinuxFileLayer()

    init(source: FilePath, target: FilePath, progress: @escaping (String) -> Void) {
        (self.source, self.target, self.progress) = (source, target, progress)
    }

    /// Copies what is in a directory.
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
                // Byte for byte and to its end as it is now; the source may be written meanwhile.
                try FileManager.default.copyItem(atPath: from.string, toPath: to.string)
                copy.files += 1
                copy.bytes += (try? files.size(of: to)) ?? 0
            case .other: leaveOut(path, "it is a symbolic link, a pipe or the like")
            case nil: leaveOut(path, "it went while the copy was made")
            }
        } catch let error as CancellationError {
            throw error
        } catch {
            try? files.remove(to)
            if (try? files.kind(of: from)) == .some(nil) { return leaveOut(path, "it went while the copy was made") }
            // A full disk does not get better with the next file.
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

    private mutating func leaveOut(_ path: FilePath, _ reason: String) { copy.leftOut.append(.init(path: path.string, reason: reason)) }
}
