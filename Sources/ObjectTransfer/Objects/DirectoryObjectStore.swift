internal import Foundation
internal import Glibc
package import SystemPackage
internal import UbiquityContainers

/// A store in a directory: a USB disk, a network file system, a folder that something else carries.
///
/// An object is written to a temporary file, synced and renamed, so that it is whole or absent.
package struct DirectoryObjectStore: ObjectStore {
    /// The directory, which must exist; it is never made, because an unmounted disk must not look empty.
    package let root: FilePath
    private static let drafts = ".ubiquity-drafts"
    private static let piece = 1 << 20

    package init(_ root: FilePath) { self.root = root }

    private func path(_ object: String) -> FilePath { object.split(separator: "/").reduce(root) { $0.appending(String($1)) } }

    private func requireRoot() throws {
        switch Result(catching: { try LinuxFileLayer().kind(of: root) }) {
        case .success(.directory): return
        case .success: throw ObjectStoreError(.unreachable, "\(root) is not there; mount its file system, or make the directory.")
        case .failure(let error): throw ObjectStoreError(.unreachable, "\(root) cannot be read (\(error)).")
        }
    }

    package func list(_ directory: String) async throws -> [StoredObject] {
        try await perform {
            try requireRoot()
            var objects: [StoredObject] = []
            try Self.list(path(directory), "", into: &objects)
            return objects
        }
    }

    private static func list(_ directory: FilePath, _ prefix: String, into objects: inout [StoredObject]) throws {
        let files = LinuxFileLayer()
        for name in try files.directoryNames(in: directory) ?? [] where name != drafts {
            let entry = directory.appending(name)
            switch try files.kind(of: entry) {
            case .directory: try list(entry, "\(prefix)\(name)/", into: &objects)
            case .file: objects.append(StoredObject(path: prefix + name, size: try? files.size(of: entry)))
            case .other, nil: continue
            }
        }
    }

    package func put(_ file: FilePath, at path: String, progress: @escaping @Sendable (Int64) -> Void) async throws {
        try await perform {
            try requireRoot()
            let files = LinuxFileLayer()
            let drafts = root.appending(Self.drafts)
            try files.makeDirectory(drafts)
            let draft = drafts.appending(UUID().uuidString)
            do {
                try Self.copy(file, to: draft, progress)
                try files.syncFile(draft)
                let object = self.path(path)
                try makeDirectories(above: object)
                try files.renameOver(draft, to: object)
                try files.syncDirectory(object.removingLastComponent())
            } catch {
                try? files.remove(draft)
                throw error
            }
        }
    }

    package func get(_ path: String, size: Int64?, to file: FilePath, progress: @escaping @Sendable (Int64) -> Void) async throws {
        try await perform {
            try requireRoot()
            do {
                try Self.copy(self.path(path), to: file, progress)
            } catch let error as Errno where error == .noSpace || error == .diskQuotaExceeded {
                throw ObjectStoreError(.diskFull, "this device has no room for \(path)")
            }
        }
    }

    package func delete(_ path: String) async throws {
        try await perform {
            try requireRoot()
            try LinuxFileLayer().remove(self.path(path))
        }
    }

    package func stat(_ path: String) async throws -> StoredObject? {
        try await perform {
            try requireRoot()
            let object = self.path(path)
            guard try LinuxFileLayer().kind(of: object) == .file else { return nil }
            return StoredObject(path: path, size: try LinuxFileLayer().size(of: object))
        }
    }

    // MARK: Files

    private func makeDirectories(above object: FilePath) throws(Errno) {
        let files = LinuxFileLayer()
        var missing: [FilePath] = []
        var directory = object.removingLastComponent()
        while directory != root, try files.kind(of: directory) == nil {
            missing.append(directory)
            directory.removeLastComponent()
        }
        for directory in missing.reversed() {
            try files.makeDirectory(directory)
            try files.syncDirectory(directory.removingLastComponent())
        }
    }

    private static func copy(_ source: FilePath, to target: FilePath, _ progress: (Int64) -> Void) throws {
        let input = try FileDescriptor.open(source, .readOnly, options: [.noFollow, .closeOnExec])
        defer { try? input.close() }
        let output = try FileDescriptor.open(
            target, .writeOnly, options: [.create, .exclusiveCreate, .noFollow, .closeOnExec], permissions: .ownerReadWrite)
        defer { try? output.close() }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: piece, alignment: 16)
        defer { buffer.deallocate() }
        var done: Int64 = 0
        while true {
            try Task.checkCancellation()
            let count = try input.read(into: buffer)
            if count == 0 { return }
            try output.writeAll(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            done += Int64(count)
            progress(done)
        }
    }

    private func perform<Result: Sendable>(_ body: @Sendable @escaping () throws -> Result) async throws -> Result {
        try Task.checkCancellation()
        do {
            return try await blocking(body)
        } catch let error as Errno {
            throw ObjectStoreError(error)
        }
    }
}

extension ObjectStoreError {
    /// Creates the error of an operation on local files.
    package init(_ error: Errno) {
        switch error {
        case .noSuchFileOrDirectory: self.init(.notFound, "There is no such file.")
        case .noSpace, .diskQuotaExceeded: self.init(.quota, "The disk is full (\(error)).")
        case .permissionDenied, .notPermitted, .readOnlyFileSystem: self.init(.authorization, "The disk refuses it (\(error)).")
        case .ioError, .staleNFSFileHandle, .timedOut: self.init(.unreachable, "The disk does not answer (\(error)).")
        default: self.init(.other, "\(error)")
        }
    }
}
