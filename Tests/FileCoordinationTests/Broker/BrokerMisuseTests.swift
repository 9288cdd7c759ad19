import CLinux
import Foundation
import Glibc
import Logging
import SystemPackage
import Testing
import UbiquityTesting

@testable import FileCoordination

/// What a broker does with those who do not speak as they should.
@Suite(.timeLimit(.minutes(40))) struct BrokerMisuseTests {
    @Test("Random bytes are refused with a reason, and others are served", arguments: 1...20)
    func randomBytes(seed: UInt64) async throws {
        try await withBroker { place in
            var random = SeededRandom(seed: seed)
            let stranger = try RawClient(place)
            if Bool.random(using: &random) { try stranger.greet() }
            try? stranger.send((0..<Int.random(in: 13..<3000, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })
            // A length that promises more is waited for; it is at most what a stranger may promise.
            stranger.finish()
            try stranger.isHungUp()
            try serves(place)
        }
    }

    @Test("Every frame that is cut short or changed is refused or taken, and the broker stays up")
    func mutatedFrames() async throws {
        try await withBroker { place in
            var random = SeededRandom(seed: 7)
            for _ in 0..<300 {
                let stranger = try RawClient(place)
                try stranger.greet()
                var bytes: [UInt8] = []
                let item = ClaimItem("/tmp/a.pages/b", .write(.forMoving), packageDepths: [2])
                let request = ClaimRequest(
                    id: ClaimID(stranger.id, 1), purpose: .named("p"), surroundings: [.message(MessageID(3))], items: [item])
                let claim = Holdings.Claim(request: request, items: [item], isHeld: true, moves: [Move(from: "/tmp/x", to: "/tmp/y")])
                var holdings = Holdings()
                holdings.claims = [claim]
                let frame: BrokerFrame = Bool.random(using: &random) ? .event(.request(request)) : .reclaim(holdings, hasMissed: true)
                frame.append(to: &bytes, epoch: stranger.epoch)
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    bytes[Int.random(in: 13..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
                }
                try? stranger.send(bytes)
                stranger.close()
            }
            try serves(place)
        }
    }

    @Test("Half a frame keeps nobody waiting but its sender, and may be completed")
    func halfFrame() async throws {
        try await withBroker { place in
            let slow = try RawClient(place)
            var bytes: [UInt8] = []
            BrokerFrame.hello(.init(client: slow.id, name: "slow", isObserver: false)).append(to: &bytes, epoch: 0)
            try slow.send(Array(bytes.prefix(9)))
            try serves(place)
            try slow.send(Array(bytes.dropFirst(9)))
            guard case .welcome? = try slow.next() else { throw WireError("it was not let in") }
        }
    }

    @Test("Of 10,000 claims of one client those beyond the limit are refused with a reason, and others are served")
    func manyClaims() async throws {
        try await withBroker { place in
            let greedy = try RawClient(place)
            try greedy.greet()
            var bytes: [UInt8] = []
            for number in 1...10_000 as ClosedRange<UInt64> {
                let request = ClaimRequest(
                    id: ClaimID(greedy.id, number), purpose: .coordinator(greedy.id, number), items: [ClaimItem("/tmp/greedy", .write([]))])
                BrokerFrame.event(.request(request)).append(to: &bytes, epoch: greedy.epoch)
            }
            let sent = bytes
            async let sending: Void = Task.detached { try greedy.send(sent) }.value
            var refused: [String] = []
            var granted = 0
            while refused.count < 10_000 - BrokerEngine.Limits.claims {
                switch try greedy.next() {
                case .action(.fail(_, .rejected(let reason))): refused.append(reason)
                case .action(.grant): granted += 1
                case nil: throw WireError("hung up")
                default: break
                }
            }
            try await sending
            #expect(granted == 1)
            #expect(refused.allSatisfy { $0.contains("\(BrokerEngine.Limits.claims) claims") })
            try serves(place)
        }
    }

    @Test("A path of 100,000 characters is refused with a reason, and the client may go on")
    func longPath() async throws {
        try await withBroker { place in
            let client = try RawClient(place)
            try client.greet()
            func request(_ number: UInt64, _ path: FilePath) -> BrokerFrame {
                .event(.request(ClaimRequest(id: ClaimID(client.id, number), purpose: .named("p"), items: [ClaimItem(path, .write([]))])))
            }
            try client.send(request(1, FilePath("/" + String(repeating: "a", count: 100_000))))
            guard case .action(.fail(_, .rejected(let reason)))? = try client.next() else { throw WireError("it was not refused") }
            #expect(reason.contains("100001 bytes"))
            try client.send(request(2, "/tmp/short"))
            guard case .action(.grant)? = try client.next() else { throw WireError("it was not granted") }
        }
    }

    @Test("Another version of the protocol is refused with both versions named")
    func version() async throws {
        try await withBroker { place in
            let client = try RawClient(place)
            var hello = BrokerFrame.Hello(client: client.id, name: "", isObserver: false)
            hello.version = 99
            try client.send(.hello(hello), epoch: 0)
            guard case .refused(.version, let reason)? = try client.next() else { throw WireError("it was not refused") }
            #expect(reason.contains("version \(brokerProtocolVersion)") && reason.contains("99"))
            try client.isHungUp()
        }
    }

    @Test("An access fails where the broker speaks another version, rather than to go on without it")
    func versionOfBroker() async throws {
        try await withPlace { place in
            let open = try place.open()
            let listener = try open.bind()
            defer { try? listener.close() }
            _ = fcntl(listener.rawValue, F_SETFL, 0)
            Thread {
                let socket = accept(listener.rawValue, nil, nil)
                var bytes: [UInt8] = []
                BrokerFrame.welcome(.init(version: 99, process: 1)).append(to: &bytes, epoch: 1)
                _ = send(socket, bytes, bytes.count, CInt(MSG_NOSIGNAL))
                var end: UInt8 = 0
                while recv(socket, &end, 1, 0) > 0 {}
                close(socket)
            }.start()
            let silent = Logger(label: "") { _ in SwiftLogNoOpLogHandler() }
            let client = CoordinationClient(place: place, program: nil, watchesFiles: false, logger: silent)
            let error = await #expect(throws: FileCoordinationError.self) {
                try await FileCoordinator(client: client).write(URL(fileURLWithPath: "/tmp/x")) { _ in }
            }
            #expect(error?.code == .brokerUnavailable)
            #expect(error?.message.contains("version 99") == true)
        }
    }

    @Test("Who speaks for another client, or out of turn, is refused and the others are served")
    func impostors() async throws {
        try await withBroker { place in
            let other = ClientID(4711)
            let presenter = PresenterID(other, 1)
            let item = ClaimItem("/tmp/a", .write([]))
            func request(_ id: ClaimID, _ purpose: Purpose, _ items: [ClaimItem]) -> BrokerFrame {
                .event(.request(ClaimRequest(id: id, purpose: purpose, items: items)))
            }
            let frames: [(RawClient) -> BrokerFrame] = [
                { _ in request(ClaimID(other, 1), .named("p"), [item]) },
                { request(ClaimID($0.id, 1), .coordinator(other, 1), [item]) },
                { request(ClaimID($0.id, 1), .delegation($0.id), [item]) },
                { request(ClaimID($0.id, 1 << 63), .named("p"), [item]) },
                { request(ClaimID($0.id, 1), .named("p"), []) },
                { request(ClaimID($0.id, 1), .named("p"), [ClaimItem("relative", .write([]))]) },
                { request(ClaimID($0.id, 1), .named("p"), [ClaimItem("/tmp/a", .write([]), packageDepths: [9])]) },
                { request(ClaimID($0.id, 1), .named("p"), [ClaimItem("/tmp/a", .write([.forDeleting, .forMoving]))]) },
                { _ in .event(.addPresenter(presenter, "/tmp/a", observedAttributes: [])) },
                { _ in .event(.removePresenter(presenter)) },
                { _ in .event(.end(ClaimID(other, 1), [])) },
                { .hello(.init(client: $0.id, name: "", isObserver: false)) },
                { _ in .recall(3) },
            ]
            for frame in frames {
                let client = try RawClient(place)
                try client.greet()
                try client.send(frame(client))
                guard case .refused(.misuse, _)? = try client.next() else {
                    Issue.record("\(frame(client)) was taken")
                    continue
                }
                try client.isHungUp()
            }
            let early = try RawClient(place)
            try early.send(.list, epoch: 0)
            guard case .refused(.misuse, _)? = try early.next() else { throw WireError("nobody has said hello") }
            try serves(place)
        }
    }

    @Test("A directory that others can enter, or that is a link, is refused with a remedy")
    func openDirectory() async throws {
        try await withPlace { place in
            _ = try place.open()
            chmod(place.directory.string, 0o711)
            let error = #expect(throws: FileCoordinationError.self) { _ = try place.open() }
            #expect(error?.message.contains("chmod 700") == true)
            let link = place.directory.removingLastComponent().appending("link")
            symlink(place.directory.string, link.string)
            #expect(throws: FileCoordinationError.self) { _ = try BrokerPlace(directory: link).open() }
        }
    }

    /// Whether a well-behaved client is served.
    private func serves(_ place: BrokerPlace) throws {
        let client = try RawClient(place)
        try client.greet()
        let id = ClaimID(client.id, 1)
        try client.send(.event(.request(ClaimRequest(id: id, purpose: .named("served"), items: [ClaimItem("/tmp/served", .write([]))]))))
        while let frame = try client.next() {
            if case .action(.grant(id, _)) = frame { return client.close() }
        }
        Issue.record("the broker does not serve any more")
    }
}
