import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityStores

/// How long what has been deleted can be found in a container.
struct PrivacyTests {
    /// The files below a directory that hold some bytes anywhere.
    private func files(holding text: String, below directory: FilePath) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: directory.string).filter { path in
            FileManager.default.contents(atPath: directory.pushing(FilePath(path)).string)?.range(of: Data(text.utf8)) != nil
        }.sorted()
    }

    @Test(
        "a value that has been deleted or written over is in the container's bytes until a baseline takes the place of its logs and every device has read them, and then in none"
    )
    func deletedValues() async throws {
        try await withDevices(2) { devices, root in
            let (first, second) = (try await devices[0].open(), try await devices[1].open())
            let (deleted, overwritten, kept) = ("secret-\(UUID())", "former-\(UUID())", "present-\(UUID())")
            // A large value goes out in a file of its own.
            let large = "large-\(UUID())"
            try await first.execute("INSERT INTO person (id, first) VALUES ('d', ?), ('o', ?)", [deleted, overwritten])
            try await first.execute("INSERT INTO person (id, email) VALUES ('l', ?)", [large + String(repeating: "x", count: 2 << 20)])
            try await settle(first, second)
            for text in [deleted, overwritten, large] { #expect(try !files(holding: text, below: root).isEmpty) }

            try await second.execute("DELETE FROM person WHERE id IN ('d', 'l')")
            try await second.execute("UPDATE person SET first = ? WHERE id = 'o'", [kept])
            try await settle(second, first)
            for store in [first, second] { #expect(try await store.rows("SELECT id, first FROM person") == [["o", kept]]) }
            for text in [deleted, overwritten, large] { #expect(try !files(holding: text, below: root).isEmpty) }

            // A baseline alone is not enough: nobody has said that it may take the logs' place.
            try await first.rollBaseline()
            for _ in 0..<3 { try await settle(first, second) }
            for text in [deleted, overwritten, large] { #expect(try files(holding: text, below: root) == []) }
            #expect(try !files(holding: kept, below: root).isEmpty)
        }
    }
}
