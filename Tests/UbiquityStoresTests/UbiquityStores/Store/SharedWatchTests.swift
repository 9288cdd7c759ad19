import FileCoordination
import Foundation
import Glibc
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityStores
import Waiting

@testable import TreeWatching

/// What an open container costs, counted.
struct SharedWatchTests {
    /// How often the process watches a directory, as the kernel has it: proc(5).
    private func watches(of directory: FilePath) throws -> Int {
        var status = stat()
        try #require(stat(directory.string, &status) == 0)
        let inode = "ino:" + String(status.st_ino, radix: 16)
        return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fdinfo").reduce(0) { count, descriptor in
            let facts = (try? String(contentsOfFile: "/proc/self/fdinfo/\(descriptor)", encoding: .utf8)) ?? ""
            return count + facts.split(separator: "\n").count { $0.hasPrefix("inotify wd:") && $0.split(separator: " ").contains(Substring(inode)) }
        }
    }

    /// The roots of the trees that the process watches at a directory or below it.
    private func roots(in directory: FilePath) async throws -> [String] {
        let hub = try TreeHub.kernel(for: nil)
        let prefix = PathPrefix(directory)
        return await withCheckedContinuation { continuation in
            hub.post { loop in
                let roots = loop.runners.map { $0.entries().root }.filter { root in root.withUnsafeBytes { prefix.rest(of: $0) != nil } }
                continuation.resume(returning: roots.map { String(decoding: $0, as: UTF8.self) })
            }
        }
    }

    /// Tells which subitems appear.
    private final class Shown: FilePresenter {
        let presentedItemURL: URL?
        let heard = Mutex<Set<String>>([])

        init(_ path: FilePath) { presentedItemURL = URL(filePath: path.string, directoryHint: .isDirectory) }

        func presentedSubitemDidAppear(at url: URL) async { _ = heard.withLock { $0.insert(url.lastPathComponent) } }
    }

    @Test("W-17: a container with a store, a query, a monitor, a status source and a presenter open is one tree, with one watch a directory")
    func oneTree() async throws {
        try await withDevices(1) { devices, _ in
            let container = try await devices[0].container()
            let documents = container.path.appending("Documents")
            try FileManager.default.createDirectory(atPath: documents.appending("d").string, withIntermediateDirectories: true)
            let query = MetadataQuery(container, transport: { DirectoryTransport($0) }) { _ in true }
            let updates = query.updates.limited("an update").makeAsyncIterator()
            query.start()
            while let update = try await updates.next(), update.kind != .gatheringFinished {}
            // The query leaves the stores' directories out: they are watched from here on.
            let store = try await devices[0].open(automatically: true)
            try await store.insert("a")
            try await store.settled()
            let events = try container.events
            try await events.ready()
            let presenter = Shown(documents)
            FileCoordinator.addFilePresenter(presenter)
            // The presenter's watch begins some time after the call: what was there before is told to nobody.
            var attempts = 0
            try await until("the presenter hears of a file") {
                attempts += 1
                try Data().write(to: URL(filePath: documents.appending("d").appending("before-\(attempts)").string))
                return presenter.heard.withLock { !$0.isEmpty }
            }
            try Data("x".utf8).write(to: URL(filePath: documents.appending("d").appending("f").string))
            try await until("the presenter hears of the file that came after") { presenter.heard.withLock { $0.contains("f") } }
            while let update = try await updates.next(), !update.results.contains(where: { $0.name == "f" }) {}
            #expect(try await roots(in: container.path) == [container.path.string])
            for path in FileManager.default.enumerator(atPath: container.path.string)! {
                let path = container.path.pushing(FilePath(path as! String))
                var isDirectory: ObjCBool = false
                if FileManager.default.fileExists(atPath: path.string, isDirectory: &isDirectory), isDirectory.boolValue {
                    #expect(try watches(of: path) == 1, "\(path)")
                }
            }
            #expect(try watches(of: container.path) == 1)
            FileCoordinator.removeFilePresenter(presenter)
            query.stop()
            withExtendedLifetime(events) {}
            try await store.close()
        }
    }
}
