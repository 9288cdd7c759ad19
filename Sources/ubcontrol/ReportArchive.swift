import CLinux
import Foundation
import Glibc
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// A report's files, collected in a directory and packed by tar(1).
final class ReportArchive {
    /// The archive.
    let target: FilePath
    /// The files in it, by path.
    private(set) var files: [String] = []
    /// The size in bytes; 0 before packing.
    private(set) var bytes: Int64 = 0

    /// A directory beside the archive, so that one rename gives the archive its name.
    private let draft: FilePath
    private var folder: FilePath { draft.appending(Self.name) }
    /// The name of the directory in the archive.
    private static let name = "ubiquity-report"
    private let layer = LinuxFileLayer()

    /// Starts an archive.
    ///
    /// - Parameter target: the path of the archive; it must not exist.
    /// - Throws: `ContainerError`.
    init(_ target: FilePath) throws(ContainerError) {
        self.target = PathFacts.absolute(target)
        draft = self.target.removingLastComponent().appending(".ubiquity-report-\(UUID().uuidString)")
        try refuseExisting()
        do {
            // Other users must not read it.
            guard mkdir(draft.string, 0o700) == 0 else { throw Errno(rawValue: errno) }
            try layer.makeDirectory(folder)
        } catch {
            discard()
            throw failure(error)
        }
    }

    private func refuseExisting() throws(ContainerError) {
        guard (try? layer.kind(of: target)) != .some(nil) else { return }
        throw ContainerError(.fileExists, "\(target) is there already, or its place cannot be inspected; name another file.", path: target)
    }

    /// Adds an object as JSON.
    func add(_ path: String, _ object: some Encodable) throws {
        let bytes = Array("\(try jsonText(object, isIndented: true))\n".utf8)
        let file = try place(path)
        do { try layer.writeNew(file, bytes) } catch { throw failure(error) }
    }

    /// Returns an unused path in the archive, in an existing directory.
    func place(_ path: String) throws -> FilePath {
        let place = folder.pushing(FilePath(path))
        try make(place.removingLastComponent())
        return place
    }

    private func make(_ directory: FilePath) throws {
        do {
            try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        } catch {
            throw failure(error)
        }
    }

    /// Packs all files, and gives the archive its name.
    ///
    /// - Throws: `ContainerError`; the archive's path is unchanged then.
    func pack() throws {
        let found = FileManager.default.enumerator(atPath: folder.string)?.allObjects as? [String] ?? []
        files = found.filter { (try? layer.kind(of: folder.pushing(FilePath($0)))) == .file }.sorted()
        let packed = draft.appending("packed")
        let status = try tar(["-C", draft.string, "-czf", packed.string, "--owner=0", "--group=0", "--numeric-owner", Self.name])
        guard status == 0 else {
            throw ContainerError(.fileSystem, "tar could not write the archive (status \(status)); check the free space at \(draft).", path: target)
        }
        do {
            try layer.syncFile(packed)
            bytes = try layer.size(of: packed)
            try layer.renameNew(packed, to: target)
            try layer.syncDirectory(target.removingLastComponent())
        } catch Errno.fileExists {
            throw ContainerError(.fileExists, "\(target) is there already; name another file.", path: target)
        } catch {
            throw failure(error)
        }
    }

    /// Runs tar, which every Debian system has; see posix_spawn(3).
    private func tar(_ arguments: [String]) throws -> Int32 {
        var words: [UnsafeMutablePointer<CChar>?] = (["tar"] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var process: pid_t = 0
        let error = posix_spawnp(&process, "tar", nil, nil, &words, clinux_environment())
        guard error == 0 else {
            throw ContainerError(.notAvailable, "The program tar cannot be started; install it.", cause: Errno(rawValue: error))
        }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        // WIFEXITED and WEXITSTATUS of wait(2).
        return status & 0x7F == 0 ? status >> 8 & 0xFF : -1
    }

    /// Removes the collected files.
    func discard() { try? FileManager.default.removeItem(atPath: draft.string) }

    private func failure(_ error: any Error) -> ContainerError {
        ContainerError(
            .fileSystem, "\(target) cannot be written; check the owner, mode and free space of its directory.", path: target, cause: error)
    }
}
