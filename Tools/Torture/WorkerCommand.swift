import ArgumentParser
import FileCoordination
import Foundation
import SystemPackage

/// One of the processes of a stress test.
struct WorkerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "worker", abstract: "One process of a torture.", shouldDisplay: false)

    @Option var runtime: String
    @Option var program: String
    @Option var directory: String
    @Option var trace: String
    @Option var seed: UInt64
    @Option var seconds: Double
    @Option var tasks: Int

    func run() async throws {
        guard let log = TraceLog(trace) else { throw ValidationError("\(trace) cannot be written.") }
        let client = CoordinationClient(
            place: BrokerPlace(directory: FilePath(runtime)), program: program.isEmpty ? nil : FilePath(program), watchesFiles: false
        ) { log.see($0, $1) }
        let scene = Scene(directory: URL(fileURLWithPath: directory), client: client, checker: log)
        let end = ContinuousClock.now + .seconds(seconds)
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<tasks { group.addTask { await Worker(scene, seed: seed, index: index).run(until: end) } }
            group.addTask { await Worker(scene, seed: seed, index: 1000).runOnThread(until: end) }
            await group.waitForAll()
        }
        await scene.presentersAreDone()
    }
}
