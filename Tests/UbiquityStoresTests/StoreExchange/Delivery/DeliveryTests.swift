import Foundation
import StoreFormat
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting
import Waiting

@testable import StoreExchange

@Suite(.timeLimit(.minutes(40)))
struct DeliveryTests {
    private static let time = Date(timeIntervalSince1970: 1_000_000)

    private static func file(_ name: String, isLog: Bool = true, bytes: Int64 = 100, after seconds: Double = 0) -> DeliveryReader.Contents.File {
        .init(path: FilePath("/c/\(name)"), isLog: isLog, bytes: bytes, time: time.addingTimeInterval(seconds))
    }

    @Test(
        "T-10: only the transport's word, or a receipt, makes a log count as delivered",
        arguments: [
            (ItemStatus.current, false), (.downloaded, false), (.downloading, false), (.notDownloaded, false), (.conflicted, false),
            (.uploading, true), (.waitingToUpload, true), (.excluded, true), (.failed, true), (.unknown, true),
        ])
    func statuses(status: ItemStatus, isWaiting: Bool) {
        let contents = DeliveryReader.Contents(published: 7, readers: [], open: [Self.file("7")])
        let delivery = DeliveryReader.delivery(
            contents, ["/c/7": ItemState(status)], TransportCondition(.syncthing, devices: [.init(identifier: "B", name: "b", isConnected: true)]),
            unpublished: 0)
        #expect(delivery.waitingLogs == (isWaiting ? 1 : 0) && delivery.hasLeft == !isWaiting && delivery.published == 7)
        #expect(delivery.isCertain && delivery.obstacle == nil)
    }

    @Test("T-10: the amount counts logs and the bytes of their values, and names the oldest")
    func amounts() {
        let open = [
            Self.file("8", bytes: 300, after: 60), Self.file("7", bytes: 200), Self.file("value", isLog: false, bytes: 5_000, after: -1),
            Self.file("9", bytes: 1, after: 90),
        ]
        let states: [FilePath: ItemState] = [
            "/c/7": .init(.waitingToUpload), "/c/8": .init(.uploading), "/c/value": .init(.uploading), "/c/9": .init(.current),
        ]
        let away = TransportDevice(identifier: "B", name: "laptop", isConnected: false, lastSeen: Self.time)
        let condition = TransportCondition(.syncthing, since: Self.time, devices: [away])
        let delivery = DeliveryReader.delivery(.init(published: 9, readers: [], open: open), states, condition, unpublished: 2)
        #expect(delivery.waitingLogs == 2 && delivery.waitingBytes == 5_500 && delivery.waitingSince == Self.time && delivery.unpublished == 2)
        #expect(delivery.obstacle?.contains("laptop (last seen 1970-01-12T13:46:40Z)") == true && delivery.obstacleSince == Self.time)
        #expect(delivery.text?.contains("4 logs") == true, "\(delivery)")
    }

    @Test("T-11: a transport that does not answer, and one that is unknown, give no certainty; a shared directory has delivered what is in it")
    func certainty() {
        let contents = DeliveryReader.Contents(published: 7, readers: [], open: [Self.file("7")])
        let down = DeliveryReader.delivery(contents, [:], TransportCondition(.syncthing, failure: "it does not run"), unpublished: 0)
        #expect(down.waitingLogs == 1 && !down.isCertain && down.obstacle == "it does not run" && down.text?.contains("not certainly left") == true)
        let unknown = DeliveryReader.delivery(contents, ["/c/7": .init(.unknown)], TransportCondition(.none), unpublished: 0)
        #expect(unknown.waitingLogs == 1 && !unknown.isCertain && unknown.obstacle == nil)
        let shared = DeliveryReader.delivery(contents, ["/c/7": .init(.current)], TransportCondition(.directory), unpublished: 0)
        #expect(shared.hasLeft && shared.isCertain && shared.text == nil)
    }

    /// A transport that records what it is told, and answers when it is let.
    private final class SlowTransport: Transport {
        let kind = TransportKind.syncthing
        let told = Mutex<[FilePath]>([])
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)

        func condition() async throws -> TransportCondition { TransportCondition(.syncthing) }
        func states(of items: [FilePath]) async throws -> [FilePath: ItemState] { [:] }
        func elsewhere(below directory: FilePath) async throws -> [FilePath: ItemState] { [:] }
        func changes() -> AsyncStream<TransportChange> { AsyncStream { nil } }
        func published(in directory: FilePath) async {
            told.withLock { $0.append(directory) }
            for await _ in gate { break }
        }
    }

    @Test("T-12: publications while the transport is being told share the next call, and a closing store waits for it no longer than its limit")
    func hint() async throws {
        let transport = SlowTransport()
        let hint = TransportHint(transport)
        hint.published(in: "/c/a")
        try await until("the transport is told") { transport.told.withLock { $0 == ["/c/a"] } }
        for _ in 0..<100 { hint.published(in: "/c/b") }
        // It hangs: the limit ends the wait, also one that is over at once.
        await hint.finished(within: .milliseconds(1))
        for _ in 0..<100 { try await within("the limit") { await hint.finished(within: .zero) } }
        #expect(transport.told.withLock { $0 } == ["/c/a"])
        transport.opener.yield()
        transport.opener.yield()
        await hint.finished(within: .seconds(60))
        #expect(transport.told.withLock { $0 } == ["/c/a", "/c/b"])
        await hint.finished(within: .seconds(60))
    }
}
