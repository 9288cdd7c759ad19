import Foundation
import Testing

@testable import FileCoordination

/// The options for those who are after metadata only.
@Suite struct MetadataOptionTests {
    @Test("C-18: a read of what is available at once still waits for a local writer, and asks local presenters")
    func immediatelyAvailable() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt", "old")
            let presenter = RecordingPresenter(url)
            world.client.add(presenter)
            let gate = Gate()
            async let write: Void = world.coordinator().write(url) { url in
                await gate.wait()
                try Data("new".utf8).write(to: url)
            }
            await world.until { $0.claims.contains { $0.state == .held } }
            async let text = world.coordinator().read(url, options: .immediatelyAvailableMetadataOnly) { try String(contentsOf: $0, encoding: .utf8) }
            await world.waiting(1)
            gate.open()
            try await write
            #expect(try await text == "new")
            let log = await presenter.told(6)
            #expect(log.contains("relinquishToReader") && log.contains("save"))
        }
    }

    @Test("C-25: a write of metadata only is a write: it waits, excludes and has presenters relinquish")
    func contentIndependent() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt")
            let presenter = RecordingPresenter(url)
            world.client.add(presenter)
            let gate = Gate()
            async let metadata: Void = world.coordinator().write(url, options: .contentIndependentMetadataOnly) { _ in await gate.wait() }
            await world.until { $0.claims.contains { $0.state == .held } }
            #expect(presenter.log == ["relinquishToWriter"])
            async let other: Void = world.coordinator().read(url, options: .withoutChanges) { _ in }
            await world.waiting(1)
            gate.open()
            try await metadata
            try await other
            // Presenters need not save for it, and no deletion is announced.
            let log = await presenter.told(5)
            #expect(!log.contains("save") && !log.contains("accommodateDeletion") && log.contains("didChange"))
        }
    }
}
