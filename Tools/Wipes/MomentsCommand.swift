import ArgumentParser
import Foundation
import SystemPackage

/// Runs moments.
struct MomentsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "moments",
        abstract: "Run seeded moments: at each the container is deleted, moved away, unmounted, half deleted or replaced by an older copy.",
        discussion:
            "It mounts file systems: run it in a separate namespace, with unshare -Urm. Exit status 1 if a rule was broken; the seed repeats the run."
    )

    @Option(help: ArgumentHelp("The seeds.", valueName: "first..last"))
    var seeds: String

    @Option(help: ArgumentHelp("The time between two saves of a device.", valueName: "milliseconds"))
    var pace = 20

    @Flag(help: "Keep the directory of a moment that failed.")
    var keep = false

    func run() async throws {
        let bounds = seeds.components(separatedBy: "..").compactMap { UInt64($0) }
        guard let first = bounds.first, let last = bounds.last, bounds.count <= 2, first <= last else {
            throw ValidationError("--seeds \(seeds): give one number, or first..last.")
        }
        var failed = 0
        for seed in first...last {
            let directory = FilePath(FileManager.default.temporaryDirectory.path).appending(
                "ubiquity-wipes-\(ProcessInfo.processInfo.processIdentifier)-\(seed)")
            var moment = Moment(seed: seed, in: directory, pace: pace)
            let what = "seed \(seed): \(moment.fate.rawValue) after \(moment.savesBeforeCopy) and \(moment.savesBeforeFate) saves"
            do {
                try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
                say("\(what); \(try await moment.run().joined(separator: "; "))")
                try? FileManager.default.removeItem(atPath: directory.string)
            } catch {
                failed += 1
                say("\(what); FAILED: \(error)")
                if !keep { try? FileManager.default.removeItem(atPath: directory.string) }
            }
        }
        if failed > 0 { throw ExitCode(1) }
    }
}
