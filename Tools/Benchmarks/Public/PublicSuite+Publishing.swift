import Contributors
import Foundation
import SystemPackage
import UbiquityContainers
import UbiquityStores

extension PublicSuite {
    /// Measures the publication of 1,000 new logs of 1,000 accounts in places of several sizes, against that among 1,000
    /// logs, and against copying the files of the logs.
    static func publishing(_ report: Report, _ sizes: [Int]) async throws {
        let least = try await publication(among: 1000)
        for size in sizes {
            let (published, copied) = try await publication(among: size)
            report.line(
                "publish_1000", variant: "among \(size) logs", unit: "ms", ours: published * 1000, reference: least.published * 1000,
                referenceName: "among 1,000 logs")
            report.line(
                "publish_1000", variant: "among \(size) logs, against a copy", unit: "ms", ours: published * 1000, reference: copied * 1000,
                referenceName: "copying the logs to one file, and syncing it", main: false)
        }
    }

    /// Returns the median times of publishing 1,000 new logs of a place with a number of logs, and of copying their files.
    private static func publication(among size: Int) async throws -> (published: Double, copied: Double) {
        var (times, copies): ([Double], [Double]) = ([], [])
        try await PlaceScene.with(contributors: 1000, logs: size / 1000) { scene in
            var scene = scene
            for _ in 0..<5 {
                let logs = try scene.contributors.write()
                try await scene.store.settled()
                var edition: PublishedEdition?
                times.append(try await seconds { edition = try scene.publish() })
                precondition(edition?.logs == 1000, "\(String(describing: edition))")
                progress("published 1,000 of \(size) logs in \(String(format: "%.3f", times.last!)) s, snapshots: \(edition!.snapshots.count)")
                let copy = scene.directory.appending("copy")
                copies.append(try await seconds { try Self.copy(logs, to: copy) })
                try FileManager.default.removeItem(atPath: copy.string)
            }
        }
        return (median(times), median(copies))
    }

    private static func copy(_ files: [String], to copy: FilePath) throws {
        let layer = LinuxFileLayer()
        let file = try FileDescriptor.open(copy, .writeOnly, options: [.create, .exclusiveCreate], permissions: .ownerReadWrite)
        try file.closeAfter { for log in files { _ = try file.writeAll(try layer.read(FilePath(log), limit: 1 << 20)) } }
        try layer.syncFile(copy)
        try layer.syncDirectory(copy.removingLastComponent())
    }
}
