import Foundation
import SystemPackage
import Testing
import UbiquityContainers

@testable import StoreExchange
@testable import StoreFormat

/// Where files lie, and which of them a store cares for.
struct ContentLayoutTests {
    private let container = FilePath("/c/alice/app")
    private let peer = PeerIdentifier(account: "alice", uuid: UUID())

    private func place(_ layout: ContentLayout, _ path: FilePath) -> ContentPlace { Array(path.string.utf8).withUnsafeBytes(layout.place) }

    @Test("what lies in a content is told by the bytes of its path: logs, baselines, receipts, drafts, what is above it and what is beside it")
    func places() {
        let layout = ContentLayout(container: container, content: "People")
        let name = LogFileName(sequence: 1, hash: ContentHash(of: []))
        let id = BaselineID(peer: peer, name: BaselineName(sequence: 1, hash: ContentHash(of: [])))
        let drafts = layout.temporary(of: peer, epoch: 1), receipts = layout.receipts(of: peer, epoch: 1)
        let places: [(FilePath, ContentPlace)] = [
            (layout.logs(of: peer, epoch: 3).appending(name.description), .log(peer, epoch: 3, name)),
            (layout.baseline(id, epoch: 2), .baseline(id, epoch: 2)), (receipts.appending("3"), .receipt(of: peer)), (receipts, .aside),
            (layout.directory.appending("nobody/1/receipts/3"), .aside), (drafts, .aside), (drafts.appending("draft"), .aside),
            (layout.logs(of: peer, epoch: 1), .other), (layout.logs(of: peer, epoch: 1).appending("notes.txt"), .other), (layout.peer(peer), .other),
            (layout.values(of: peer, epoch: 1).appending("x"), .other), (layout.epochMark(2, by: peer), .other), (layout.directory, .other),
            (container, .above), (FilePath("/c"), .above), (FilePath("/"), .above), (FilePath("/c/alic"), .elsewhere),
            (container.appending("Documents/receipts.txt"), .elsewhere), (container.appending("CoreData/People2"), .elsewhere),
            (container.appending("CoreData/Peo"), .elsewhere),
        ]
        for (path, expected) in places { #expect(place(layout, path) == expected, "\(path)") }
    }

    @Test("a content whose container has a name that is no text is told by its bytes")
    func bytes() throws {
        let path: [UInt8] = Array("/c/".utf8) + [0xFF, 0xFE] + Array("/CoreData/People".utf8)
        let directory = (path + [0]).withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { FilePath(platformString: $0.baseAddress!) }
        }
        let layout = try #require(ContentLayout(directory: directory))
        #expect((path + Array("/epochs".utf8)).withUnsafeBytes(layout.place) == .other)
        #expect(Array("/c/\u{FFFD}\u{FFFD}/CoreData/People/epochs".utf8).withUnsafeBytes(layout.place) == .elsewhere)
    }
}
