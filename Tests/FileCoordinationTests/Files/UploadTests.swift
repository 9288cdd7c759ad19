import CLinux
import Foundation
import Glibc
import Synchronization
import SystemPackage
import Testing

@testable import FileCoordination

/// Reading for uploading: a snapshot, made while the claim lasts.
@Suite struct UploadTests {
    @Test("C-19: reading a file for uploading gives a copy, after whose making the claim has ended; its URL dies, an open descriptor does not")
    func file() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt", "as it was")
            let (copy, descriptor) = try await world.coordinator().read(url, options: .forUploading) { copy in
                #expect(copy != url && copy.lastPathComponent == "a.txt")
                #expect(world.client.snapshot().claims.isEmpty)
                try await world.coordinator().write(url) { try Data("changed".utf8).write(to: $0) }
                #expect(try String(contentsOf: copy, encoding: .utf8) == "as it was")
                return (copy, try FileDescriptor.open(FilePath(copy.path), .readOnly))
            }
            #expect(!FileManager.default.fileExists(atPath: copy.path))
            #expect(!FileManager.default.fileExists(atPath: copy.deletingLastPathComponent().path))
            let text = try descriptor.closeAfter {
                var buffer = [UInt8](repeating: 0, count: 100)
                let count = try buffer.withUnsafeMutableBytes { try descriptor.read(into: $0) }
                return String(decoding: buffer[..<count], as: UTF8.self)
            }
            #expect(text == "as it was")
        }
    }

    @Test("C-19: a snapshot waits for writers, and a writer that comes while it is made waits for it")
    func waits() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt", "old")
            let gate = Gate()
            async let write: Void = world.coordinator().write(url) { url in
                await gate.wait()
                try Data("new".utf8).write(to: url)
            }
            await world.until { $0.claims.contains { $0.state == .held } }
            async let text = world.coordinator().read(url, options: .forUploading) { try String(contentsOf: $0, encoding: .utf8) }
            await world.waiting(1)
            gate.open()
            try await write
            #expect(try await text == "new")
        }
    }

    @Test("C-19: reading a directory for uploading gives one zip file of stored entries, with modes, links and times")
    func directory() async throws {
        try await withWorld { world in
            try world.file("album/notes/größe.txt", "123456789")
            try world.file("album/empty.txt")
            try world.file("album/big.bin", String(repeating: "0123456789abcdef", count: 40_000))
            try FileManager.default.createSymbolicLink(atPath: world.url("album/link").path, withDestinationPath: "notes/größe.txt")
            try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: world.url("album/empty.txt").path)
            let zip = try await world.coordinator().read(world.url("album"), options: .forUploading) { url in
                #expect(url.lastPathComponent == "album.zip")
                return ZipReader(try Data(contentsOf: url))
            }
            let entries = try zip.entries()
            #expect(
                entries.map(\.name) == ["album/", "album/big.bin", "album/empty.txt", "album/link", "album/notes/", "album/notes/größe.txt"])
            #expect(entries.allSatisfy { $0.method == 0 && $0.crc == $0.computedCRC })
            #expect(entries.last?.crc == 0xCBF4_3926, "the check value of CRC-32")
            #expect(entries[1].content.count == 640_000)
            #expect(entries[2].mode == 0o100640)
            #expect(entries[3].mode & 0o170000 == 0o120000 && String(decoding: entries[3].content, as: UTF8.self) == "notes/größe.txt")
        }
    }

    @Test("C-19: a directory whose snapshot cannot be made is an error that names it, and no claim and no copy is left")
    func failure() async throws {
        try await withWorld { world in
            let url = world.url("missing")
            let error = await #expect(throws: FileCoordinationError.self) {
                _ = try await world.coordinator().read(url, options: .forUploading) { $0 }
            }
            #expect(error?.code == .fileSystem && error?.path?.string == url.path && error?.cause as? Errno == .noSuchFileOrDirectory)
            #expect(world.client.snapshot().claims.isEmpty)
        }
    }

    @Test("C-19: another program reads the zip file of a directory with many entries")
    func otherReader() async throws {
        try #require(FileManager.default.isExecutableFile(atPath: "/usr/bin/python3"), "there is no python3: Tools/setup installs it")
        try await withWorld { world in
            for index in 0..<300 { try world.file("many/\(index % 7)/\(index).txt", String(repeating: "x", count: index * 100)) }
            let status = try await world.coordinator().read(world.url("many"), options: .forUploading) { url in
                let words: [String] = [
                    "python3", "-c",
                    "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); sys.exit(z.testzip() is not None or len(z.namelist()) != 308)",
                    url.path,
                ]
                var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
                defer { for argument in arguments { free(argument) } }
                var process: pid_t = 0
                guard posix_spawn(&process, "/usr/bin/python3", nil, nil, &arguments, clinux_environment()) == 0 else { return -1 }
                var status: CInt = 0
                while waitpid(process, &status, 0) < 0, errno == EINTR {}
                return Int(status)
            }
            #expect(status == 0)
        }
    }
}

/// Reads zip files the slow way, by the directory at their end.
private struct ZipReader {
    struct Entry {
        let name: String
        let method: Int
        let mode: Int
        let crc: UInt32
        let content: [UInt8]

        /// Bit by bit, to check the tables.
        var computedCRC: UInt32 {
            var crc: UInt32 = 0xFFFF_FFFF
            for byte in content {
                crc ^= UInt32(byte)
                for _ in 0..<8 { crc = crc & 1 == 1 ? 0xEDB8_8320 ^ (crc >> 1) : crc >> 1 }
            }
            return ~crc
        }
    }

    private let bytes: [UInt8]

    init(_ data: Data) {
        bytes = Array(data)
    }

    private func number(_ offset: Int, _ count: Int) -> Int {
        (0..<count).reversed().reduce(0) { $0 << 8 | Int(bytes[offset + $1]) }
    }

    func entries() throws -> [Entry] {
        let end = bytes.count - 22
        #expect(number(end, 4) == 0x0605_4b50)
        var offset = number(end + 16, 4)
        return (0..<number(end + 10, 2)).map { _ in
            #expect(number(offset, 4) == 0x0201_4b50)
            let (nameLength, extraLength) = (number(offset + 28, 2), number(offset + 30, 2))
            let name = Array(bytes[(offset + 46)..<(offset + 46 + nameLength)])
            let header = number(offset + 42, 4)
            #expect(number(header, 4) == 0x0403_4b50)
            #expect(Array(bytes[(header + 30)..<(header + 30 + number(header + 26, 2))]) == name)
            for (local, central, count) in [(6, 8, 2), (8, 10, 2), (10, 12, 2), (12, 14, 2), (14, 16, 4), (18, 20, 4), (22, 24, 4)] {
                #expect(number(header + local, count) == number(offset + central, count))
            }
            let start = header + 30 + number(header + 26, 2) + number(header + 28, 2)
            let entry = Entry(
                name: String(decoding: name, as: UTF8.self), method: number(offset + 10, 2), mode: number(offset + 40, 2),
                crc: UInt32(number(offset + 16, 4)), content: Array(bytes[start..<(start + number(offset + 20, 4))]))
            offset += 46 + nameLength + extraLength
            return entry
        }
    }
}
