public import Foundation
internal import Glibc
package import SystemPackage
internal import UbiquityContainers

extension FileWrapper {
    /// Reads an item from disk; blocks, so call it inside a coordinated read, outside the main actor.
    ///
    /// - Parameter url: a file, a directory with everything below it, or a symbolic link.
    /// - Throws: ``DocumentError`` with `unreadable` and the path of what cannot be read.
    public init(url: URL) throws(DocumentError) { try self.init(reading: FilePath(url.path(percentEncoded: false))) }

    init(reading path: FilePath) throws(DocumentError) {
        do throws(Errno) {
            self = try Self.read(path)
        } catch {
            throw DocumentError(
                .unreadable, "\(path) cannot be read; check that it and everything in it exist, and their owner and mode.", path: path, cause: error)
        }
    }

    private static func read(_ path: FilePath) throws(Errno) -> FileWrapper {
        switch try FileFacts(of: path)?.kind {
        case .file: return try file(path)
        case .directory:
            var children: [String: FileWrapper] = [:]
            // What stays on this device is no content, such as a draft that a crash has left.
            for name in try LinuxFileLayer().names(in: path) where !ForeignNames.staysHere(name) {
                // Two names that differ in their bytes alone are one to Swift, and one of them would be lost.
                guard children.updateValue(try read(path.appending(name)), forKey: name) == nil else { throw Errno.fileExists }
            }
            return FileWrapper(directoryWithFileWrappers: children)
        case .link:
            guard let destination = try? FileManager.default.destinationOfSymbolicLink(atPath: path.string) else { throw Errno.ioError }
            return FileWrapper(symbolicLinkWithDestination: destination)
        case .other: throw Errno.notSupported
        case nil: throw Errno.noSuchFileOrDirectory
        }
    }

    private static func file(_ path: FilePath) throws(Errno) -> FileWrapper {
        do {
            let descriptor = try FileDescriptor.open(path, .readOnly, options: [.noFollow, .closeOnExec, .nonBlocking])
            defer { try? descriptor.close() }
            var status = Glibc.stat()
            guard fstat(descriptor.rawValue, &status) == 0 else { throw Errno(rawValue: errno) }
            var data = Data()
            data.reserveCapacity(Int(status.st_size))
            var buffer = [UInt8](repeating: 0, count: 1 << 18)
            while true {
                let count = try buffer.withUnsafeMutableBytes { try descriptor.read(into: $0) }
                if count == 0 { break }
                data.append(contentsOf: buffer[..<count])
            }
            return FileWrapper(.regularFile(data), isExecutable: status.st_mode & S_IXUSR != 0)
        } catch {
            throw error as? Errno ?? .ioError
        }
    }

    /// Writes the item to a path at which nothing is; its bytes are durable when this returns, and its name is not.
    package func write(to path: FilePath) throws(Errno) {
        let files = LinuxFileLayer()
        switch content {
        case .regularFile(let data):
            try files.writeNew(path, Array(data))
            guard chmod(path.string, isExecutable ? 0o755 : 0o644) == 0 else { throw Errno(rawValue: errno) }
        case .directory(let children):
            guard mkdir(path.string, 0o755) == 0 else { throw Errno(rawValue: errno) }
            for (name, child) in children.sorted(by: { $0.key < $1.key }) {
                guard !name.isEmpty, !name.contains("/"), name != ".", name != ".." else { throw Errno.invalidArgument }
                try child.write(to: path.appending(name))
            }
            try files.syncDirectory(path)
        case .symbolicLink(let destination):
            guard symlink(destination, path.string) == 0 else { throw Errno(rawValue: errno) }
        }
    }
}
