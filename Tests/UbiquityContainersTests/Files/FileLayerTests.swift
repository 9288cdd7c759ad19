import Foundation
import SystemPackage
import Testing

@testable import UbiquityContainers

/// What the file layer says of directories.
struct FileLayerTests {
    /// A layer as tests make them, which has no listing of its own.
    private struct Forwarding: FileLayer {
        private let files = LinuxFileLayer()
        func names(in directory: FilePath) throws(Errno) -> [String] { try files.names(in: directory) }
        func read(_ file: FilePath, limit: Int) throws(Errno) -> [UInt8] { try files.read(file, limit: limit) }
        func size(of file: FilePath) throws(Errno) -> Int64 { try files.size(of: file) }
        func kind(of path: FilePath) throws(Errno) -> FileKind? { try files.kind(of: path) }
        func makeDirectory(_ path: FilePath) throws(Errno) { try files.makeDirectory(path) }
        func writeNew(_ file: FilePath, _ bytes: [UInt8]) throws(Errno) { try files.writeNew(file, bytes) }
        func renameNew(_ from: FilePath, to: FilePath) throws(Errno) { try files.renameNew(from, to: to) }
        func renameOver(_ from: FilePath, to: FilePath) throws(Errno) { try files.renameOver(from, to: to) }
        func syncDirectory(_ directory: FilePath) throws(Errno) { try files.syncDirectory(directory) }
        func syncFile(_ file: FilePath) throws(Errno) { try files.syncFile(file) }
        func remove(_ file: FilePath) throws(Errno) { try files.remove(file) }
        func removeDirectory(_ directory: FilePath) throws(Errno) { try files.removeDirectory(directory) }
    }

    @Test("a directory is listed; a link to one, a file, what lies below a file, and nothing are no directory")
    func directories() async throws {
        try await withTemporaryDirectory { root in
            let manager = FileManager.default
            for name in ["full/a", "full/b", "empty"] {
                try manager.createDirectory(atPath: root.pushing(FilePath(name)).string, withIntermediateDirectories: true)
            }
            try Data("x".utf8).write(to: URL(filePath: root.appending("file").string))
            for (link, target) in [("link", "full"), ("dangling", "nowhere"), ("loop", "loop")] {
                try manager.createSymbolicLink(atPath: root.appending(link).string, withDestinationPath: target)
            }
            for layer in [LinuxFileLayer(), Forwarding()] as [any FileLayer] {
                func names(_ path: String) throws(Errno) -> [String]? { try layer.directoryNames(in: root.pushing(FilePath(path))) }
                #expect(try names("full")?.sorted() == ["a", "b"])
                #expect(try names("empty") == [])
                // On the way to it a link is followed.
                #expect(try names("link/a") == [])
                for path in ["link", "dangling", "loop", "file", "file/below", "absent", "absent/below"] {
                    #expect(try names(path) == nil, "\(path)")
                }
            }
        }
    }

    @Test("a directory that cannot be looked at is an error, not an absence")
    func errors() async throws {
        try await withTemporaryDirectory { root in
            try FileManager.default.createSymbolicLink(atPath: root.appending("loop").string, withDestinationPath: "loop")
            for layer in [LinuxFileLayer(), Forwarding()] as [any FileLayer] {
                let long = root.appending(String(repeating: "x", count: 300))
                #expect(throws: Errno.fileNameTooLong) { try layer.directoryNames(in: long) }
                #expect(throws: Errno.tooManySymbolicLinkLevels) { try layer.directoryNames(in: root.appending("loop").appending("below")) }
            }
        }
    }
}
