import SystemPackage
import Testing
import ToolSupport
import UbiquityTesting
import Waiting

/// What a service tells its manager, as values and over a socket.
struct ServiceNoticeTests {
    @Test("The environment says where notices go and how often life is proved; what it says wrongly is told and ignored")
    func environment() {
        func read(_ variables: [String: String]) -> ServiceEnvironment { ServiceEnvironment(variables, process: 42) }
        #expect(read([:]) == read(["NOTIFY_SOCKET": "", "WATCHDOG_USEC": "1000000"]))
        #expect(read([:]).target == nil && read([:]).watchdog == nil && read([:]).faults.isEmpty)
        #expect(read(["NOTIFY_SOCKET": "/run/notify"]).target == DatagramTarget("/run/notify"))
        #expect(read(["NOTIFY_SOCKET": "@notify"]).target?.address == "@notify")
        let watched = ["NOTIFY_SOCKET": "@notify", "WATCHDOG_USEC": "3000000"]
        for owner in [nil, "", "42"] {
            #expect(read(watched.merging(owner.map { ["WATCHDOG_PID": $0] } ?? [:]) { $1 }).watchdog == .seconds(3))
        }
        for owner in ["1", "43", "forty-two"] {
            let environment = read(watched.merging(["WATCHDOG_PID": owner]) { $1 })
            #expect(environment.watchdog == nil && environment.target != nil && environment.faults.isEmpty)
        }
        for address in ["run/notify", "vsock:2:1", "/", "@"] {
            let environment = read(["NOTIFY_SOCKET": address])
            #expect(environment.target == nil && environment.faults.count == 1 && environment.faults[0].contains(address))
        }
        for time in ["0", "-1", "soon"] {
            let environment = read(["NOTIFY_SOCKET": "@notify", "WATCHDOG_USEC": time])
            #expect(environment.watchdog == nil && environment.faults.count == 1 && environment.faults[0].contains(time))
        }
    }

    @Test("A status is one line, whatever names it shows")
    func message() {
        let bytes = ServiceNotice.message([.ready, .status("a\nSTOPPING=1\u{1b}"), .alive])
        #expect(String(decoding: bytes, as: UTF8.self) == "READY=1\nSTATUS=a\\u{a}STOPPING=1\\u{1b}\nWATCHDOG=1")
    }

    @Test("Whatever a service tells, its manager hears of one readiness, of life only between it and the end, and of no status twice")
    func life() {
        for seed in 0..<200 as Range<UInt64> {
            var (random, life) = (SeededRandom(seed: seed), ServiceLife())
            let told = (0..<40).flatMap { _ in
                life.admit([[.ready, .alive, .status("a"), .status("b"), .stopping].randomElement(using: &random)!])
            }
            #expect(told.filter { $0 == .ready }.count <= 1, "seed \(seed)")
            if let life = told.firstIndex(of: .alive) { #expect(told.firstIndex(of: .ready)! < life, "seed \(seed)") }
            if let end = told.firstIndex(of: .stopping) { #expect(end == told.count - 1, "seed \(seed)") }
            let statuses = told.filter { if case .status = $0 { true } else { false } }
            #expect(zip(statuses, statuses.dropFirst()).allSatisfy { $0 != $1 }, "seed \(seed)")
        }
    }

    @Test("A notice arrives at a path and at an abstract address; where nobody listens, the error says so")
    func addresses() async throws {
        for address in ["/tmp/ubiquity-notice-\(UInt32.random(in: 0 ... .max))", "@ubiquity-notice-\(UInt32.random(in: 0 ... .max))"] {
            let receiver = try DatagramReceiver(address)
            let manager = ServiceManager(ServiceEnvironment(["NOTIFY_SOCKET": address], process: 1))
            #expect(manager.isThere && manager.pulse == nil)
            manager.tell(.ready, .status("here"))
            var reader = NoticeReader(receiver)
            #expect(try await reader.all() == ["READY=1", "STATUS=here"])
        }
        #expect(DatagramTarget("/tmp/ubiquity-nobody-\(UInt32.random(in: 0 ... .max))")?.send([1]) == .noSuchFileOrDirectory)
        #expect(DatagramTarget("@ubiquity-nobody-\(UInt32.random(in: 0 ... .max))")?.send([1]) == .connectionRefused)
        #expect(DatagramTarget("/" + String(repeating: "a", count: 200))?.send([1]) == .fileNameTooLong)
    }

    /// Tells life by a proof that each call answers with its number.
    private func manager(_ receiver: DatagramReceiver) -> ServiceManager {
        let manager = ServiceManager(ServiceEnvironment(["NOTIFY_SOCKET": receiver.address, "WATCHDOG_USEC": "2000"], process: 1))
        manager.tell(.ready)
        return manager
    }

    @Test("A proof that does not end, or fails, gives no sign of life, while one that ends gives many; the end does not wait for it")
    func proof() async throws {
        let receivers = try (0..<3).map { _ in try DatagramReceiver() }
        let managers = receivers.map(manager)
        let (hung, hangs) = AsyncStream.makeStream(of: Void.self)
        let calls = AsyncStream.makeStream(of: Void.self)
        let telling = [
            Task { await managers[0].tellLife { true } },
            Task { await managers[1].tellLife { false } },
            Task {
                await managers[2].tellLife {
                    calls.continuation.yield()
                    for await _ in hung {}
                    return true
                }
            },
        ]
        var sound = NoticeReader(receivers[0])
        for try await _ in calls.stream.limited("the proof that hangs") { break }
        for _ in 0..<20 { try await sound.hears("WATCHDOG=1") }
        for task in telling {
            task.cancel()
            try await within("the end of a watchdog") { await task.value }
        }
        for receiver in receivers[1...] {
            var reader = NoticeReader(receiver)
            #expect(try await reader.all() == ["READY=1"])
        }
        #expect(try await sound.all().filter { $0 == "WATCHDOG=1" }.count >= 20)
        hangs.finish()
        calls.continuation.finish()
    }
}
