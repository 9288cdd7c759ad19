import Foundation
import SystemPackage
import Testing
import UbiquityContainers
import Waiting

/// The order of a query's results.
@Suite(.timeLimit(.minutes(40)))
struct QueryOrderTests {
    @Test("U-77: a running query restarts if only its order changes")
    func another() async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            try home.signIn(AccountName("alice"))
            let container = try await UbiquityContainer("org.example.notes", home: home)
            try FileManager.default.createDirectory(atPath: container.documents.string, withIntermediateDirectories: true)
            for name in ["a", "b"] { try Data().write(to: URL(filePath: container.documents.appending(name).string)) }
            let query = MetadataQuery(container) { _ in true }
            query.start()
            let updates = query.updates.limited("an update").makeAsyncIterator()
            /// Reads on until it has gathered, and returns the kinds of the updates.
            func gathered() async throws -> [MetadataQueryUpdate.Kind] {
                var kinds: [MetadataQueryUpdate.Kind] = []
                while kinds.last != .gatheringFinished, let update = try await updates.next() { kinds.append(update.kind) }
                return kinds
            }
            _ = try await gathered()
            #expect(query.results.map(\.name) == ["a", "b"])
            query.order = { $0.name > $1.name }
            #expect(try await gathered().first == .gatheringBegan)
            #expect(query.results.map(\.name) == ["b", "a"])
            query.stop()
        }
    }
}
