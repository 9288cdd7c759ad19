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
            // Presenters need not save for it, and no deletion is announced; that attributes have changed they hear as of any write.
            let log = await presenter.told(5)
            #expect(!log.contains("save") && !log.contains("accommodateDeletion") && log.contains("didChange"))
        }
    }

    @Test("C-25: a write of metadata only leaves the content as it was, to the modification date, and what it sets is there")
    func contentIsClean() async throws {
        try await withWorld { world in
            let url = try world.file("a.txt", "text")
            func date() throws -> Date? { try FileManager.default.attributesOfItem(atPath: url.path)[.modificationDate] as? Date }
            let before = try date()
            try await world.coordinator().write(url, options: .contentIndependentMetadataOnly) { url in
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: url.path)
            }
            #expect(try date() == before)
            #expect(try String(contentsOf: url, encoding: .utf8) == "text")
            let mode = try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? NSNumber
            #expect(mode?.intValue == 0o600)
        }
    }
}
