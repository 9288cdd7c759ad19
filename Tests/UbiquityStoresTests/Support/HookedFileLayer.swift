import Foundation
import SystemPackage
import UbiquityContainers

/// The kernel's files, with a hook that a test counts, holds up or fails operations by.
struct HookedFileLayer: FileLayer {
    enum Operation: Sendable {
        case names, read, size, kind, makeDirectory, writeNew, rename, sync, remove
    }

    /// Is called on the thread of the operation, before it, and after it for a read.
    ///
    /// It gets the path that the operation looks at or changes, the new one of a rename, and the number of bytes that are written or were read. What
    /// it throws the operation fails with.
    typealias Hook = @Sendable (_ operation: Operation, _ path: FilePath, _ bytes: Int) throws(Errno) -> Void

    private let files = LinuxFileLayer()
    private let hook: Hook

    init(_ hook: @escaping Hook) { self.hook = hook }

    func names(in directory: FilePath) throws(Errno) -> [String] {
        try hook(.names, directory, 0)
        return try files.names(in: directory)
    }

    func read(_ file: FilePath, limit: Int) throws(Errno) -> [UInt8] {
        let bytes = try files.read(file, limit: limit)
        try hook(.read, file, bytes.count)
        return bytes
    }

    func size(of file: FilePath) throws(Errno) -> Int64 {
        try hook(.size, file, 0)
        return try files.size(of: file)
    }

    func kind(of path: FilePath) throws(Errno) -> FileKind? {
        try hook(.kind, path, 0)
        return try files.kind(of: path)
    }

    func makeDirectory(_ path: FilePath) throws(Errno) {
        try hook(.makeDirectory, path, 0)
        try files.makeDirectory(path)
    }

    func writeNew(_ file: FilePath, _ bytes: [UInt8]) throws(Errno) {
        try hook(.writeNew, file, bytes.count)
        try files.writeNew(file, bytes)
    }

    func renameNew(_ from: FilePath, to: FilePath) throws(Errno) {
        try hook(.rename, to, 0)
        try files.renameNew(from, to: to)
    }

    func renameOver(_ from: FilePath, to: FilePath) throws(Errno) {
        try hook(.rename, to, 0)
        try files.renameOver(from, to: to)
    }

    func syncDirectory(_ directory: FilePath) throws(Errno) {
        try hook(.sync, directory, 0)
        try files.syncDirectory(directory)
    }

    func syncFile(_ file: FilePath) throws(Errno) {
        try hook(.sync, file, 0)
        try files.syncFile(file)
    }

    func remove(_ file: FilePath) throws(Errno) {
        try hook(.remove, file, 0)
        try files.remove(file)
    }

    func removeDirectory(_ directory: FilePath) throws(Errno) {
        try hook(.remove, directory, 0)
        try files.removeDirectory(directory)
    }
}
