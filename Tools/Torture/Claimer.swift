import ArgumentParser
import FileCoordination
import Foundation
import Glibc
import SystemPackage

/// Claims one file repeatedly, for the benchmark of several processes at once.
struct Claimer: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "claimer", abstract: "Claim a file again and again, and print how often.", shouldDisplay: false)

    @Option var runtime: String
    @Option var program: String
    @Option var path: String
    @Option var seconds: Double
    @Flag(help: "flock(2) instead.")
    var lock = false

    func run() async throws {
        let url = URL(fileURLWithPath: path)
        let file = FilePath(path)
        let client = CoordinationClient(place: BrokerPlace(directory: FilePath(runtime)), program: FilePath(program), watchesFiles: false)
        let coordinator = FileCoordinator(client: client)
        func claim() async throws {
            if lock { try Self.lock(file) } else { try await coordinator.write(url) { _ in } }
        }
        // The first claims find the broker, and make it delegate.
        for _ in 0..<600 { try await claim() }
        print("ready")
        fflush(nil)
        _ = readLine()
        var count = 0
        let clock = ContinuousClock()
        let start = clock.now
        let end = start + .seconds(seconds)
        while clock.now < end {
            for _ in 0..<16 { try await claim() }
            count += 16
        }
        print(Double(count) / ((clock.now - start) / .seconds(1)))
        fflush(nil)
    }

    /// See flock(2).
    private static func lock(_ path: FilePath) throws {
        try path.withPlatformString { path in
            let file = open(path, O_RDWR | O_CLOEXEC)
            guard file >= 0, flock(file, LOCK_EX) == 0, flock(file, LOCK_UN) == 0, close(file) == 0 else { throw Errno(rawValue: errno) }
        }
    }
}
