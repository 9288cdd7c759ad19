import FileCoordination
import Foundation
import Glibc
import SystemPackage

/// Measures coordinated accesses against equal work without coordination.
enum CoordinationSuite: Suite {
    static func run(_ report: Report) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "coordination-bench-\(UUID().uuidString)/a/b/c")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer {
            try? FileManager.default.removeItem(at: directory.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent())
        }
        let url = directory.appending(path: "file.txt", directoryHint: .notDirectory)
        try Data().write(to: url)
        if report.wants("claim_same_process") {
            try await claim(report, url, variant: "write", presenters: 0)
            try await claim(report, url, variant: "write, blocking form", presenters: 0, blocking: true)
            try await claim(report, url, variant: "write, 100 presenters of other files", presenters: 100)
        }
        if report.wants("presenter_round_trip") { try await roundTrip(report, url) }
        let figures = try BrokerFigures()
        defer { figures.remove() }
        if report.wants("claim_delegated") { try await figures.delegated(report) }
        if report.wants("claim_through_broker") { try await figures.throughBroker(report) }
        if report.wants("claim_beside_neighbour") { try await figures.besideNeighbour(report) }
        if report.wants("claims_per_second") { try await figures.perSecond(report) }
        if report.wants("broker_takeover_ms") { try await figures.takeover(report) }
    }

    /// A client without a broker.
    private static let client = CoordinationClient()

    /// Measures a claim without conflicts and presenters, against open, flock, unlock, close of the path.
    private static func claim(_ report: Report, _ url: URL, variant: String, presenters count: Int, blocking: Bool = false) async throws {
        let presenters = (0..<count).map { Bystander(url.deletingLastPathComponent().appending(path: "other-\($0).txt")) }
        for presenter in presenters { client.add(presenter) }
        defer { for presenter in presenters { client.remove(presenter) } }
        let coordinator = FileCoordinator(client: client)
        let path = FilePath(url.path)
        let rounds = 5_000
        var ours: [Double] = []
        var reference: [Double] = []
        for run in 0..<9 {
            let coordinated = try await seconds {
                if blocking {
                    try claimBlocking(coordinator, url, rounds)
                } else {
                    for _ in 0..<rounds { try await coordinator.write(url) { _ in } }
                }
            }
            let locked = try await seconds { try lock(path, rounds) }
            // The first run fills caches.
            guard run > 0 else { continue }
            ours.append(coordinated / Double(rounds) * 1e6)
            reference.append(locked / Double(rounds) * 1e6)
        }
        report.line(
            "claim_same_process", variant: variant, unit: "µs", ours: median(ours), reference: median(reference),
            referenceName: "open, flock, unlock, close")
    }

    private static func claimBlocking(_ coordinator: FileCoordinator, _ url: URL, _ rounds: Int) throws {
        for _ in 0..<rounds { try coordinator.coordinate(writingItemAt: url) { _ in } }
    }

    /// See flock(2).
    static func lock(_ path: FilePath, _ rounds: Int) throws {
        try path.withPlatformString { path in
            for _ in 0..<rounds {
                let file = open(path, O_RDWR | O_CLOEXEC)
                guard file >= 0, flock(file, LOCK_EX) == 0, flock(file, LOCK_UN) == 0, close(file) == 0 else { throw Errno(rawValue: errno) }
            }
        }
    }

    /// Measures a write that makes a presenter relinquish first, against two hops between tasks.
    private static func roundTrip(_ report: Report, _ url: URL) async throws {
        let presenter = Bystander(url)
        client.add(presenter)
        defer { client.remove(presenter) }
        let coordinator = FileCoordinator(client: client)
        let rounds = 2_000
        var ours: [Double] = []
        var reference: [Double] = []
        for run in 0..<9 {
            let coordinated = try await seconds {
                for _ in 0..<rounds { try await coordinator.read(url, options: .withoutChanges) { _ in } }
            }
            let hopped = await seconds {
                for _ in 0..<rounds { await hop() }
            }
            guard run > 0 else { continue }
            ours.append(coordinated / Double(rounds) * 1e6)
            reference.append(hopped / Double(rounds) * 1e6)
        }
        report.line(
            "presenter_round_trip", unit: "µs", ours: median(ours), reference: median(reference),
            referenceName: "a detached task that resumes a continuation")
    }

    private static func hop() async {
        await withCheckedContinuation { continuation in
            Task.detached { continuation.resume() }
        }
    }

    private final class Bystander: FilePresenter {
        let presentedItemURL: URL?

        init(_ url: URL) {
            presentedItemURL = url
        }
    }
}
