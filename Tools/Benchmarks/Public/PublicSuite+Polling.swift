import Contributors
import Foundation
import GRDB
import HTTPPlaces
import SystemPackage
import ToolProcesses
import UbiquityContainers
import UbiquityStores

extension PublicSuite {
    /// A program that was built without a client for HTTP.
    struct MissingClient: Error, CustomStringConvertible {
        var description: String { "ubiquity-bench is built without a client for HTTP; build it with --traits HTTP, as Tools/bench does" }
    }

    /// Runs a body with a web server of a scene's place.
    static func served(_ scene: PlaceScene, _ body: (WebServer) async throws -> Void) async throws {
        guard HTTPPlaces.areIncluded else { throw MissingClient() }
        try await WebServer.with(scene.published, in: scene.directory.appending("nginx")) { try await body($0) }
    }

    /// Measures polls of a place that has not changed: their requests, their writes and their time, against the request
    /// alone.
    static func polling(_ report: Report) async throws {
        let rounds = 300
        try await PlaceScene.with(contributors: 1000) { scene in
            try await served(scene) { server in
                let reader = try await scene.reader("reader", at: server.address)
                try await reader.settled()
                try await check(reader, 1000)
                let tag = try LinuxFileLayer().read(FilePath(reader.file.string + "-place").appending("tag"), limit: 4096)
                let source = HTTPPlaces.source(server.address)!
                let begun = try server.requests().count
                let observer = try DatabaseQueue(path: reader.file.string)
                func version() throws -> Int64 { try observer.read { db in try Int64.fetchOne(db, sql: "PRAGMA data_version")! } }
                var (polls, settlings, requests): ([Double], [Double], [Double]) = ([], [], [])
                var writes = 0
                for round in 0..<rounds {
                    let before = try version()
                    let poll = try await seconds { try await reader.pollPlace() }
                    let settling = try await seconds { try await reader.settled() }
                    if try version() != before { writes += 1 }
                    let request = try await seconds {
                        let answer = try await source.head(unless: String(decoding: tag, as: UTF8.self))
                        precondition(answer == nil, "the head has changed")
                    }
                    // The first rounds fill caches.
                    guard round >= 10 else { continue }
                    polls.append(poll * 1000)
                    settlings.append(settling * 1000)
                    requests.append(request * 1000)
                }
                let answered = try server.requests(since: begun)
                precondition(answered.allSatisfy { $0 == "GET /head 304 0" }, "\(Set(answered))")
                for (variant, ours) in [("a poll", polls), ("settled()", settlings)] {
                    report.line(
                        "poll_unchanged", variant: variant, unit: "ms", ours: median(ours), reference: median(requests),
                        referenceName: "a conditional GET by the same client")
                }
                report.line(
                    "poll_unchanged", variant: "requests", unit: "requests", ours: Double(answered.count) / Double(rounds) - 2, reference: 1,
                    referenceName: "a conditional GET by the same client")
                report.line(
                    "poll_unchanged", variant: "writes", unit: "transactions", ours: Double(writes), reference: 0, referenceName: "none",
                    hasRatio: false)
                try observer.close()
                try await reader.close()
            }
        }
    }

    // MARK: Readers that are behind

    /// Measures the bytes and the files that readers fetch that are some heads behind, against the bytes of the logs and
    /// the number of files that is promised.
    static func behind(_ report: Report, _ distances: [Int]) async throws {
        guard let farthest = distances.max() else { return }
        let memory = FilePath("/dev/shm")
        try await PlaceScene.with(contributors: 16, in: FileManager.default.fileExists(atPath: memory.string) ? memory : nil) { scene in
            try await served(scene) { server in
                var scene = scene
                var readers: [Int: UbiquitousStore] = [:]
                var sizes: [Int] = []
                var progress = Progress("heads", of: farthest)
                for head in 0..<farthest {
                    if distances.contains(farthest - head) {
                        let reader = try await scene.reader("behind\(farthest - head)", at: server.address)
                        try await reader.settled()
                        readers[farthest - head] = reader
                    }
                    let writer = head % 16
                    let logs = try scene.contributors.write(of: writer..<writer + 1)
                    sizes.append(Int(try LinuxFileLayer().size(of: FilePath(logs[0]))))
                    try await scene.store.settled()
                    let edition = try scene.publish()
                    precondition(edition.isNew && edition.logs == 1, "\(edition)")
                    progress.advance()
                }
                for distance in distances {
                    let reader = readers[distance]!
                    let begun = try server.requests().count
                    let time = try await seconds { try await reader.settled() }
                    try await check(reader, 16 + farthest)
                    let answers = try server.requests(since: begun).map { $0.split(separator: " ") }
                    precondition(answers.allSatisfy { $0[2] == "200" }, "\(answers)")
                    let files = answers.filter { $0[1] != "/head" }
                    let bytes = answers.reduce(0.0) { $0 + (Double($1[3]) ?? .nan) }
                    let variant = "\(distance) head\(distance == 1 ? "" : "s")"
                    report.line(
                        "read_behind_bytes", variant: variant, unit: "bytes", ours: bytes, reference: Double(sizes.suffix(distance).reduce(0, +)),
                        referenceName: "the logs of these heads")
                    report.line(
                        "read_behind_bytes", variant: "\(variant), without the head", unit: "bytes",
                        ours: files.reduce(0.0) { $0 + (Double($1[3]) ?? .nan) }, reference: Double(sizes.suffix(distance).reduce(0, +)),
                        referenceName: "the logs of these heads", main: false)
                    report.line(
                        "read_behind_files", variant: variant, unit: "files", ours: Double(files.count),
                        reference: max(1, 16 * log(Double(distance)) / log(16)), referenceName: "16 log₁₆ of the heads")
                    report.line("read_behind_ms", variant: variant, unit: "ms", ours: time * 1000)
                    try await reader.close()
                }
            }
        }
    }
}
