import Foundation
import SystemPackage
import Testing
import UbiquityTesting

@testable import UbiquityContainers

/// What the file layer says of directories.
struct FileLayerTests {
    /// A layer as tests make them, which has no listing of its own.
    private struct Forwarding: KernelFileLayer {}

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
