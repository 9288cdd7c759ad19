import Foundation
import Glibc
import SystemPackage
import Testing
import UbiquityDocuments

@MainActor
struct FileWrapperTests {
    @Test("A package is read as it was written, with directories, links, modes and bytes; what stays on this device is no part of it")
    func roundTrip() async throws {
        try await withTemporaryDirectory { directory in
            var inner = FileWrapper(directoryWithFileWrappers: [:])
            inner.addRegularFile(withContents: Data(repeating: 7, count: 300_000), preferredFilename: "big")
            var package = FileWrapper(directoryWithFileWrappers: ["inner": inner, "empty": FileWrapper(directoryWithFileWrappers: [:])])
            package["run"] = FileWrapper(.regularFile(Data("#!/bin/sh".utf8)), isExecutable: true)
            package["link"] = FileWrapper(symbolicLinkWithDestination: "inner/big")
            let path = directory.appending("A.textbundle")
            try package.write(to: path)
            try Data("draft".utf8).write(to: URL(filePath: path.appending(".x.draft-1-a.nosync").string))
            #expect(try FileWrapper(url: URL(filePath: path.string)) == package)
        }
    }

    @Test("What cannot be read is named, and what no name can be is refused")
    func refusals() async throws {
        try await withTemporaryDirectory { directory in
            let missing = directory.appending("No.txt")
            #expect { try FileWrapper(url: URL(filePath: missing.string)) } throws: {
                ($0 as? DocumentError)?.code == .unreadable && "\($0)".contains(missing.string)
            }
            let package = directory.appending("B.textbundle")
            try FileManager.default.createDirectory(atPath: package.string, withIntermediateDirectories: true)
            #expect(mkfifo(package.appending("pipe").string, 0o600) == 0)
            #expect(throws: DocumentError.self) { try FileWrapper(url: URL(filePath: package.string)) }
            for name in ["", "a/b", "..", "."] {
                let wrapper = FileWrapper(directoryWithFileWrappers: [name: FileWrapper(regularFileWithContents: Data())])
                #expect(throws: Errno.invalidArgument) { try wrapper.write(to: directory.appending("C\(name.count).textbundle")) }
            }
        }
    }

    @Test("A name that is taken gets a number before its extension")
    func names() {
        var package = FileWrapper(directoryWithFileWrappers: [:])
        let names = (0..<3).map { _ in package.addRegularFile(withContents: Data(), preferredFilename: "Text.txt") }
        #expect(names == ["Text.txt", "Text 2.txt", "Text 3.txt"])
        package.removeFileWrapper(named: "Text 2.txt")
        #expect(package.fileWrappers?.count == 2)
    }

    @Test("A stamp tells any change in a package, by size, time, name, mode or place, and none where there is none")
    func stamps() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("D.textbundle")
            let deep = path.appending("a/b/c.txt")
            func make() throws {
                try FileManager.default.createDirectory(atPath: deep.removingLastComponent().string, withIntermediateDirectories: true)
                try Data("one".utf8).write(to: URL(filePath: deep.string))
                try Data("two".utf8).write(to: URL(filePath: path.appending("d.txt").string))
            }
            try make()
            func stamp() throws -> ContentStamp? { try ContentStamp(of: path) }
            var last = try #require(try stamp())
            #expect(try stamp() == last)
            let changes: [(String, () throws -> Void)] = [
                ("another size", { try Data("longer".utf8).write(to: URL(filePath: deep.string)) }),
                (
                    "another time",
                    {
                        let times = [timespec(tv_sec: 1000, tv_nsec: 5), timespec(tv_sec: 1000, tv_nsec: 5)]
                        #expect(utimensat(AT_FDCWD, deep.string, times, 0) == 0)
                    }
                ),
                ("another name", { #expect(rename(deep.string, deep.removingLastComponent().appending("e.txt").string) == 0) }),
                ("another mode", { #expect(chmod(path.appending("d.txt").string, 0o755) == 0) }),
                ("an empty directory", { #expect(mkdir(path.appending("new").string, 0o755) == 0) }),
                ("a removal", { #expect(unlink(path.appending("d.txt").string) == 0) }),
            ]
            for (name, change) in changes {
                try change()
                let new = try #require(try stamp())
                #expect(new != last, "\(name)")
                last = new
            }
            // What is no content changes nothing.
            try Data("x".utf8).write(to: URL(filePath: path.appending(".x.draft-1-a.nosync").string))
            #expect(try stamp() == last)
            #expect(try ContentStamp(of: directory.appending("none")) == nil)
        }
    }
}
