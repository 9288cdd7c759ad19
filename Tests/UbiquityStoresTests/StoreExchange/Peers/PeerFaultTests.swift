import Foundation
import GRDB
import Glibc
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreExchange
@testable import StoreInspection
@testable import StoreRecords
@testable import UbiquityStores

/// Whatever lies in the place of one peer's directory harms that peer alone, and is listed.
struct PeerFaultTests {
    /// What may lie in the place of a directory.
    fileprivate enum Obstacle: CaseIterable {
        case link, dangling, loop, file, pipe

        func put(at path: FilePath, outside: FilePath) throws {
            let files = FileManager.default
            switch self {
            case .link: try files.createSymbolicLink(atPath: path.string, withDestinationPath: outside.string)
            case .dangling: try files.createSymbolicLink(atPath: path.string, withDestinationPath: outside.appending("nothing").string)
            case .loop: try files.createSymbolicLink(atPath: path.string, withDestinationPath: path.lastComponent!.string)
            case .file: try Data("no directory".utf8).write(to: URL(filePath: path.string))
            case .pipe: guard mkfifo(path.string, 0o644) == 0 else { throw Errno(rawValue: errno) }
            }
        }
    }

    private static let ids = "SELECT id FROM person ORDER BY id"

    @Test(
        "a link, a loop of links, a file or a pipe in the place of any directory of one peer harms that peer alone, and is listed until it is gone",
        arguments: [
            ("", Obstacle.allCases), ("1", Obstacle.allCases), ("1/values", [.link, .loop]), ("1/baselines", [.loop, .file]),
            ("1/receipts", [.loop, .pipe]),
        ])
    fileprivate func obstacles(place: String, obstacles: [Obstacle]) async throws {
        try await withDevices(3) { devices, root in
            let (author, other, reader) = (try await devices[0].open(), try await devices[1].open(), try await devices[2].open())
            try await author.execute("INSERT INTO person (id, email) VALUES ('0', zeroblob(1100000))")
            try await settle(author, other, reader)
            try await author.rollBaseline()
            let peer = try await author.status().peer
            let path = contentDirectory(root).appending(peer.description).pushing(FilePath(place))
            let (aside, outside) = (root.removingLastComponent().appending("aside"), root.removingLastComponent().appending("outside"))
            try FileManager.default.createDirectory(atPath: outside.string, withIntermediateDirectories: true)
            try Data().write(to: URL(filePath: outside.appending("theirs").string))
            var expected = ["0"]
            for (index, obstacle) in obstacles.enumerated() {
                try await author.execute("INSERT INTO person (id, email) VALUES ('a\(index)', zeroblob(?))", [place == "1/values" ? 1_100_000 : 1])
                try await author.publish()
                try FileManager.default.moveItem(atPath: path.string, toPath: aside.string)
                try obstacle.put(at: path, outside: outside)
                try await other.execute("INSERT INTO person (id) VALUES ('o\(index)')")
                for store in [other, reader] {
                    try await store.settled()
                    #expect(try await store.rows(Self.ids).contains(["o\(index)"]), "\(obstacle)")
                    let listed = try await store.status().quarantined
                    #expect(listed.map(\.kind) == [.unreadable] && listed.map(\.peer) == [peer.description], "\(obstacle): \(listed)")
                    #expect(listed.first?.reason.contains("where a directory belongs") == true, "\(obstacle): \(listed)")
                    guard index == 0, store === reader else { continue }
                    let container = contentDirectory(root).removingLastComponent().removingLastComponent()
                    let exchange = try InspectedStore(store.file, readOnly: true).exchange(with: container)
                    #expect(exchange.faults == 1 && !exchange.isImported, "\(obstacle)")
                    let peers = try ContainerSurvey(of: container).stores.first?.peers ?? []
                    #expect(peers.filter { $0.fault != nil }.map(\.peer) == [peer.description], "\(obstacle)")
                    let report = ContentReport.all(in: container).first
                    #expect(report?.faults.count == 1 && report?.parts.contains { $0.peer != peer.description } == true, "\(obstacle)")
                    #expect(try ContainerVerification(of: container).contents.first?.findings.count { $0.kind == .fault } == 1, "\(obstacle)")
                }
                #expect(try FileManager.default.contentsOfDirectory(atPath: outside.string) == ["theirs"])
                try FileManager.default.removeItem(atPath: path.string)
                try FileManager.default.moveItem(atPath: aside.string, toPath: path.string)
                expected += ["a\(index)", "o\(index)"]
                for store in [other, reader] {
                    try await store.settled()
                    #expect(try await store.rows(Self.ids).map { $0[0] } == expected.sorted(), "\(obstacle)")
                    #expect(try await store.status().quarantined.isEmpty, "\(obstacle)")
                }
            }
        }
    }

    @Test("what an unreadable peer wrote, and what rests on it, comes by a baseline of one that can read it", arguments: [false, true])
    func rescue(isWhole: Bool) async throws {
        try await withDevices(3) { devices, root in
            let (author, other) = (try await devices[0].open(), try await devices[1].open())
            let files = DenyingFileLayer()
            let reader = try await devices[2].open(over: files)
            try await author.execute("INSERT INTO person (id, email) VALUES ('a', zeroblob(2000000))")
            try await author.settled()
            try await other.settled()
            try await other.execute("UPDATE person SET first = 'seen'")
            try await other.settled()
            let peer = try await author.status().peer
            files.deny(contentDirectory(root).appending("\(peer)\(isWhole ? "" : "/1/values")"))
            try await reader.settled()
            try await other.settled()
            devices[2].clock.advance(by: 61)
            try await reader.settled()
            #expect(try await reader.rows("SELECT id, first, length(email) FROM person") == [["a", "seen", "2000000"]])
            try await other.execute("INSERT INTO person (id) VALUES ('b')")
            try await settle(other, reader)
            #expect(try await reader.rows(Self.ids) == [["a"], ["b"]])
            #expect(try await reader.status().quarantined.map(\.kind) == (isWhole ? [.unreadable] : []))
        }
    }

    @Test("a device that begins beside a peer whose directory may not be read leaves its fallback file with all that can be read")
    func gathering() async throws {
        try await withDevices(3) { devices, root in
            let (author, other) = (try await devices[0].open(), try await devices[1].open())
            try await other.execute("INSERT INTO person (id) VALUES ('o')")
            try await other.settled()
            try await author.execute("INSERT INTO person (id) VALUES ('a')")
            try await author.settled()
            let files = DenyingFileLayer()
            files.deny(contentDirectory(root).appending("\(try await author.status().peer)/1"))
            let store = try await devices[2].open(over: files)
            try await store.settled()
            #expect(try await store.rows(Self.ids) == [])
            #expect(try await store.status().quarantined.count == 1)
            // It may be on its way; a minute later it is not.
            devices[2].clock.advance(by: 61)
            try await store.settled()
            #expect(try await store.rows(Self.ids) == [["o"]])
            files.deny(nil)
            try await store.settled()
            #expect(try await store.rows(Self.ids) == [["a"], ["o"]])
            #expect(try await store.status().quarantined.isEmpty)
        }
    }

    @Test("the files of an ended epoch go, but for those of a peer in whose directory's place a loop of links lies")
    func endedEpoch() async throws {
        try await withDevices(3) { devices, root in
            let (author, other, reader) = (try await devices[0].open(), try await devices[1].open(), try await devices[2].open())
            for (store, id) in [(author, "a"), (other, "b"), (reader, "c")] {
                try await store.execute("INSERT INTO person (id) VALUES ('\(id)')")
                try await store.settled()
            }
            try await settle(author, other, reader)
            let (peer, second) = (try await author.status().peer, try await other.status().peer)
            let path = contentDirectory(root).appending(peer.description)
            let aside = root.removingLastComponent().appending("aside")
            try FileManager.default.moveItem(atPath: path.string, toPath: aside.string)
            try Obstacle.loop.put(at: path, outside: root)
            try await reader.removeUbiquitousContent(.removeEverythingOnAllDevices(contentName: "People"))
            try await settle(other, reader)
            #expect(try await other.status().epoch == 2)
            #expect(try FileManager.default.contentsOfDirectory(atPath: contentDirectory(root).appending(second.description).string) == ["2"])
            try FileManager.default.removeItem(atPath: path.string)
            try FileManager.default.moveItem(atPath: aside.string, toPath: path.string)
            try await settle(author, other)
            #expect(try await author.status().epoch == 2)
            #expect(try FileManager.default.contentsOfDirectory(atPath: path.string) == ["2"])
        }
    }
}

/// The kernel's files, of which one directory may not be read.
private final class DenyingFileLayer: KernelFileLayer {
    private let files = LinuxFileLayer()
    private let denied = Mutex<FilePath?>(nil)

    /// Lets a directory be read no more; nil for none.
    func deny(_ directory: FilePath?) { denied.withLock { $0 = directory } }

    private func check(_ path: FilePath, isListed: Bool = false) throws(Errno) {
        let isDenied = denied.withLock { denied in denied.map { path.starts(with: $0) && (isListed || path != $0) } ?? false }
        if isDenied { throw .permissionDenied }
    }

    func names(in directory: FilePath) throws(Errno) -> [String] {
        try check(directory, isListed: true)
        return try files.names(in: directory)
    }

    func read(_ file: FilePath, limit: Int) throws(Errno) -> [UInt8] {
        try check(file)
        return try files.read(file, limit: limit)
    }

    func size(of file: FilePath) throws(Errno) -> Int64 {
        try check(file)
        return try files.size(of: file)
    }

    func kind(of path: FilePath) throws(Errno) -> FileKind? {
        try check(path)
        return try files.kind(of: path)
    }
}
