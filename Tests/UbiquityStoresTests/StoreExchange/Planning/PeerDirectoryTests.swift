import Foundation
import Testing
import UbiquityContainers

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// What follows from what is known of other peers, as tables.
struct PeerDirectoryTests {
    private static func peer(_ number: Int) -> PeerIdentifier {
        PeerIdentifier(account: "alice", uuid: UUID(uuidString: "00000000-0000-0000-0000-00000000000\(number)")!)
    }

    private static let own = peer(0)

    private static func position(_ sequence: Int64) -> Knowledge.Position { .init(sequence: sequence, hash: ContentHash(of: [UInt8(sequence)])) }

    /// A peer: the number of its receipt, up to where it has read this store's logs, and up to which receipt it is retired.
    struct Other: Sendable {
        var number: Int64 = 1
        /// Nil where no receipt can be read.
        var passed: Int64?
        var retired: Int64?
        /// In seconds before now.
        var silent: TimeInterval?
    }

    private static func directory(_ others: [Other]) -> PeerDirectory {
        var listing = PeerDirectory.Listing(time: Date(timeIntervalSince1970: 1000))
        for (index, other) in others.enumerated() {
            let peer = peer(index + 1)
            let receipt = other.passed.map { passed in
                let knowledge = passed > 0 ? Knowledge([own: position(passed)]) : Knowledge()
                return Receipt(peer: peer, epoch: 1, knowledge: knowledge, migrations: [], time: listing.time)
            }
            listing.receipts[peer] = PeerReceipt(number: other.number, receipt: receipt)
            listing.retired[peer] = other.retired.map { Retirement(receipt: $0) }
            listing.silentSince[peer] = other.silent.map { listing.time - $0 }
        }
        var directory = PeerDirectory()
        directory.take(listing)
        return directory
    }

    /// Some peers, and what follows.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let others: [Other]
        let active: [Int]
        let passed: Int64
    }

    private static let rows = [
        Row(testDescription: "nobody", others: [], active: [], passed: .max),
        Row(testDescription: "one that has read some", others: [Other(passed: 4)], active: [1], passed: 4),
        Row(testDescription: "the one that is furthest back counts", others: [Other(passed: 4), Other(passed: 2)], active: [1, 2], passed: 2),
        Row(testDescription: "one that has said nothing", others: [Other(passed: 4), Other(number: 0)], active: [1, 2], passed: 0),
        Row(testDescription: "one that is retired", others: [Other(passed: 4), Other(passed: 2, retired: 1)], active: [1], passed: 4),
        Row(
            testDescription: "one that is back since", others: [Other(passed: 4), Other(number: 2, passed: 2, retired: 1)], active: [1, 2], passed: 2),
        Row(testDescription: "all retired", others: [Other(passed: 4, retired: 9)], active: [], passed: .max),
    ]

    @Test("logs are kept for the peer that is furthest back and not retired", arguments: rows)
    func passed(row: Row) {
        let directory = Self.directory(row.others)
        #expect(directory.active.keys.sorted() == row.active.map(Self.peer))
        #expect(directory.passed(Self.own) == row.passed)
    }

    @Test("only branches that are this store's own count as read")
    func branches() {
        #expect(Self.directory([Other(passed: 4)]).passed(Self.own) { $0 == Self.position(4) } == 4)
        #expect(Self.directory([Other(passed: 4)]).passed(Self.own) { _ in false } == 0)
    }

    @Test(
        "a peer is silent that has read nothing for longer than the limit, has said something, and is not retired",
        arguments: [
            (Other(passed: 1, silent: 11), 10, true), (Other(passed: 1, silent: 10), 10, false), (Other(passed: 1), 10, false),
            (Other(silent: 11), 10, false), (Other(passed: 1, retired: 1, silent: 11), 10, false), (Other(passed: 1, silent: 11), nil, false),
        ] as [(Other, TimeInterval?, Bool)])
    func silence(other: Other, limit: TimeInterval?, isSilent: Bool) {
        #expect(Self.directory([other]).silent(for: limit) == (isSilent ? [Self.peer(1)] : []))
    }

    @Test("a peer that is retired counts no more, until it is back with a greater number")
    func retiring() {
        var directory = Self.directory([Other(number: 3, passed: 1), Other(passed: 7)])
        directory.retire([Self.peer(1)])
        #expect(directory.passed(Self.own) == 7)
        #expect(directory.listing.retired[Self.peer(1)]?.receipt == 3)
        var listing = directory.listing
        listing.receipts[Self.peer(1)]?.number = 4
        directory.take(listing)
        #expect(directory.passed(Self.own) == 1)
    }

    @Test("a receipt is due when something has changed, and when this peer has been retired")
    func receipts() {
        var directory = PeerDirectory()
        let awaited = AwaitedFile(peer: "bob", sequence: 3, hash: "aa", isDamaged: false)
        #expect(directory.needsReceipt(Knowledge(), awaits: [], isRetired: false), "nothing is known of the last one")
        directory.told(Knowledge(), awaits: [])
        #expect(!directory.needsReceipt(Knowledge(), awaits: [], isRetired: false))
        #expect(directory.needsReceipt(Knowledge([Self.own: Self.position(1)]), awaits: [], isRetired: false))
        #expect(directory.needsReceipt(Knowledge(), awaits: [awaited], isRetired: false))
        #expect(directory.needsReceipt(Knowledge(), awaits: [], isRetired: true))
        directory.forget()
        #expect(directory.needsReceipt(Knowledge(), awaits: [], isRetired: false))
    }

    @Test("a receipt names what logs wait for, and a damaged log that no other names")
    func awaits() {
        var directory = PeerDirectory()
        func damaged(_ sequence: Int64) -> QuarantinedLog {
            let name = LogFileName(sequence: sequence, hash: ContentHash(of: [UInt8(sequence)]))
            return QuarantinedLog(
                peer: "bob", file: name.description, kind: .damaged, reason: "", record: nil, since: Date(timeIntervalSince1970: 0))
        }
        let named = AwaitedFile(peer: "bob", sequence: 3, hash: ContentHash(of: [3]).description, isDamaged: true)
        directory.waiting = [WaitingPeer(peer: "eve", sequence: 9, reason: .files([named]), logs: 1)]
        let awaits = directory.awaits(besides: [damaged(3), damaged(5)])
        #expect(awaits.map(\.sequence) == [3, 5])
    }

    @Test("a baseline that needs an update is listed among what waits")
    func obstacles() {
        var directory = PeerDirectory()
        directory.wait(for: BaselineShelfTests.id(2), obstacle: "it is new", authors: "v2")
        #expect(directory.waiting.map(\.reason) == [.schema(obstacle: "it is new", authors: "v2")])
    }
}
