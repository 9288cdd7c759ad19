import FileCoordination
import Foundation
import ObjectTransfer
import RcloneTransfer
import SystemPackage
import UbiquityContainers

/// Measures documents: what an edit sends, and what a device that holds few of many documents pays to list them.
enum DocumentFigures {
    static func run(_ report: Report) async throws {
        for kind in ["webdav", "s3"] where report.wants(variant: kind) && report.wants("edit_100_mb") { try await edit(report, kind) }
        if report.wants("list_10000") || report.wants("query_10000") || report.wants("list_100_of_10000") { try await listings(report) }
    }

    /// Counts the pieces that an edit of one byte in a document of 100 MB sends.
    private static func edit(_ report: Report, _ kind: String) async throws {
        try await CloudScene.with(kind) { scene in
            let root = scene.directory.appending("device")
            let documents = root.appending("bench/org.example.bench/Documents")
            try FileManager.default.createDirectory(atPath: documents.string, withIntermediateDirectories: true)
            let film = URL(filePath: documents.appending("Film.bin").string)
            var (bytes, state) = ([UInt8](repeating: 0, count: 100_000_000), UInt64(1))
            for index in bytes.indices {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                bytes[index] = UInt8(truncatingIfNeeded: state >> 33)
            }
            try Data(bytes).write(to: film)
            let (runner, store) = try await scene.runner(root, try scene.configuration("ours"), carriesDocuments: true)
            try await runner.finish()
            let all = try await store.list("blobs").count
            bytes.insert(1, at: 50_000_000)
            try Data(bytes).write(to: film)
            let time = try await seconds { try await runner.finish() }
            let sent = try await store.list("blobs").count - all
            await store.close()
            report.line(
                "edit_100_mb", variant: "\(kind), a byte put in the middle", unit: "pieces sent", ours: Double(sent), reference: Double(all),
                referenceName: "all pieces")
            report.line("edit_100_mb", variant: "\(kind), until it is stated", unit: "s", ours: time, main: false)
        }
    }

    /// Measures listings and queries of 10,000 items of which 500 are here, against as many that are all here.
    private static func listings(_ report: Report) async throws {
        let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("items-bench-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        let home = DeviceHome(directory.appending("home"))
        try home.signIn(AccountName("bench"))
        // Links are made much faster than files, and a placeholder that was moved stands for what its own name says.
        let (text, elsewhere) = (directory.appending("text"), directory.appending("elsewhere"))
        try Data("text".utf8).write(to: URL(filePath: text.string))
        let placeholder = Placeholder(
            name: "Document.txt", size: 4, sha256: String(repeating: "a", count: 64), modified: Date(), isPackage: false, isEvicted: false)
        try Data(placeholder.encoded).write(to: URL(filePath: elsewhere.string))
        /// Makes a container with directories of 100 items each, of which each twentieth is here, or all are.
        func container(_ name: String, directories: Int, isHere: (Int) -> Bool) async throws -> UbiquityContainer {
            let container = try await UbiquityContainer(name, home: home)
            for folder in 0..<directories {
                let place = container.documents.appending("\(folder)")
                try FileManager.default.createDirectory(atPath: place.string, withIntermediateDirectories: true)
                for number in 0..<100 {
                    let item = place.appending("Document \(number).txt")
                    let source = isHere(number) ? text : elsewhere
                    try FileManager.default.linkItem(
                        atPath: source.string, toPath: (isHere(number) ? item : Placeholder.path(of: item)).string)
                }
            }
            return container
        }
        func list(_ container: UbiquityContainer, _ root: FilePath, _ count: Int) async throws -> Double {
            var times: [Double] = []
            for _ in 0..<5 {
                times.append(
                    try await seconds {
                        let lines = try await ItemListing(
                            of: [root], in: container.path, isRecursive: true, transport: DirectoryTransport(container)
                        ).lines()
                        precondition(lines.count >= count, "\(lines.count)")
                    } * 1000)
            }
            return median(times)
        }
        func query(_ container: UbiquityContainer) async -> Double {
            var times: [Double] = []
            for _ in 0..<5 {
                times.append(
                    await seconds {
                        let query = MetadataQuery(container) { !$0.isDirectory }
                        query.start()
                        for await update in query.updates where update.kind == .gatheringFinished {
                            precondition(update.results.count == 10_000, "\(update.results.count)")
                            break
                        }
                        query.stop()
                    } * 1000)
            }
            return median(times)
        }
        let few = try await container("org.example.few", directories: 100) { $0 % 20 == 0 }
        let all = try await container("org.example.all", directories: 100) { _ in true }
        let small = try await container("org.example.small", directories: 1) { $0 % 20 == 0 }
        report.line(
            "list_10000", variant: "10,000 items, 5 % here", unit: "ms", ours: try await list(few, few.documents, 10_000),
            reference: try await list(all, all.documents, 10_000), referenceName: "all here")
        report.line(
            "list_100_of_10000", variant: "one directory of 100", unit: "ms", ours: try await list(few, few.documents.appending("7"), 100),
            reference: try await list(small, small.documents.appending("0"), 100), referenceName: "a container of 100")
        report.line(
            "query_10000", variant: "10,000 items, 5 % here, gathered", unit: "ms", ours: await query(few), reference: await query(all),
            referenceName: "all here")
    }
}
