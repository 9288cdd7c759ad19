import Foundation
import SystemPackage
import Testing

@testable import FileCoordination

/// What a successor reads in a table whose broker was killed.
@Suite struct ClaimsFileTests {
    private let client = ClientID(1)

    /// Runs a test with a directory for tables.
    private func withDirectory(_ body: (FilePath, FileDescriptor) throws -> Void) throws {
        let path = FilePath("/tmp/claims-file-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(atPath: path.string, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path.string) }
        let directory = try FileDescriptor.open(path, .readOnly)
        defer { try? directory.close() }
        try body(path, directory)
    }

    private func claim(_ number: UInt64, _ path: FilePath = "/d/f") -> ClaimsRecord {
        let items = [ClaimItem(path, .write([]))]
        return .held(ClaimRequest(id: ClaimID(client, number), purpose: .coordinator(client, 1), items: items), items)
    }

    @Test("Records that belong together are all in the table or none of them, wherever their broker was killed while it copied them")
    func killed() throws {
        try withDirectory { path, directory in
            let name = path.appending("claims").string
            var file = try ClaimsFile(in: directory, boot: "boot", leastEpoch: 1)
            file.append([.client(client, ProcessIdentity(number: 7, start: 8)), claim(1)])
            let before = try Data(contentsOf: URL(fileURLWithPath: name))
            file.append([.released(ClaimID(client, 1)), claim(2), claim(3)])
            let after = try Data(contentsOf: URL(fileURLWithPath: name))
            let changed = before.indices.filter { before[$0] != after[$0] }
            let (start, end) = (try #require(changed.first), try #require(changed.last))
            // The length of the first record comes last.
            for copied in start + 4...end + 1 {
                var torn = before
                torn[start + 4..<copied] = after[start + 4..<copied]
                try torn.write(to: URL(fileURLWithPath: name))
                let next = try ClaimsFile(in: directory, boot: "boot", leastEpoch: 1)
                #expect(next.former.held.keys.map(\.number) == [1], "killed after \(copied - start) bytes")
            }
            try after.write(to: URL(fileURLWithPath: name))
            let next = try ClaimsFile(in: directory, boot: "boot", leastEpoch: 1)
            #expect(next.former.held.keys.map(\.number).sorted() == [2, 3])
            #expect(next.former.clients == [client: ProcessIdentity(number: 7, start: 8)])
        }
    }

    @Test("A claim and its end are two stores, and a table that has grown and was replaced says the same")
    func growth() throws {
        try withDirectory { path, directory in
            var file = try ClaimsFile(in: directory, boot: "boot", leastEpoch: 1)
            file.append([.client(client, ProcessIdentity(number: 7, start: 8)), claim(1, "/kept")])
            let long = FilePath("/d/" + String(repeating: "x", count: 200))
            let rounds = 10_000
            for number in 2..<UInt64(rounds + 2) {
                file.append([claim(number, long)])
                file.append([.released(ClaimID(client, number))])
            }
            #expect(file.publications == 2 * rounds + 1)
            file.append([claim(0)])
            let size = try FileManager.default.attributesOfItem(atPath: path.appending("claims").string)[.size] as? Int
            #expect(try #require(size) <= 4 << 20)
            let next = try ClaimsFile(in: directory, boot: "boot", leastEpoch: 1)
            #expect(next.former.held.keys.map(\.number).sorted() == [0, 1])
            #expect(next.epoch == file.epoch + 1)
        }
    }

    @Test("A table of another boot is void")
    func otherBoot() throws {
        try withDirectory { _, directory in
            var file = try ClaimsFile(in: directory, boot: "boot", leastEpoch: 5)
            file.append([.client(client, ProcessIdentity(number: 7, start: 8)), claim(1)])
            let next = try ClaimsFile(in: directory, boot: "another", leastEpoch: 3)
            #expect(next.former.held.isEmpty && next.former.clients.isEmpty && next.epoch == 3)
        }
    }
}
