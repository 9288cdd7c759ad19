import Foundation
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityStores

/// Where an app may put its store.
struct StorePlaceTests {
    private func open(_ device: TestDevice, at path: FilePath) async throws -> UbiquitousStore {
        try await .open(
            at: path, options: .init(contentName: "People", exchangesAutomatically: false), in: device.container(), schema: personSchema)
    }

    @Test("S-005: a store in a container's .nosync folder syncs like any other, and only who has that account's container finds it")
    func excludedFolder() async throws {
        try await withDevices(2) { devices, root in
            let container = try await devices[0].container()
            let path = container.path.appending("Private.nosync/Data/People.sqlite")
            let (first, second) = (try await open(devices[0], at: path), try await devices[1].open())
            try await first.execute("INSERT INTO person (id, first) VALUES ('a', 'Ann')")
            try await second.execute("INSERT INTO person (id, first) VALUES ('b', 'Bob')")
            try await settle(first, second)
            for store in [first, second] { #expect(try await store.rows("SELECT id FROM person ORDER BY id") == [["a"], ["b"]]) }
            #expect(first.file.starts(with: path.removingLastComponent()))
            try await first.close()
            try devices[0].home.signIn(AccountName("bob"), containers: root)
            #expect(try await devices[0].container().path != container.path)
            await #expect { try await open(devices[0], at: path) } throws: { isRefused($0, path) }
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            let again = try await open(devices[0], at: path)
            #expect(try await again.rows("SELECT id FROM person ORDER BY id") == [["a"], ["b"]])
            try await again.close()
            try await second.close()
        }
    }

    @Test(
        "S-005: a store where a container is synchronised is refused, by whatever path, and nothing is made there",
        arguments: ["", "Documents", "link"])
    func synchronisedFolder(name: String) async throws {
        try await withDevices(1) { devices, _ in
            let container = try await devices[0].container()
            let link = devices[0].directory.appending("link")
            try FileManager.default.createSymbolicLink(atPath: link.string, withDestinationPath: container.path.string)
            let directory = name == "link" ? link : container.path.pushing(FilePath(name))
            let path = directory.appending("People.sqlite")
            let before = try FileManager.default.subpathsOfDirectory(atPath: container.path.string)
            await #expect { try await open(devices[0], at: path) } throws: { isRefused($0, path) }
            #expect(try FileManager.default.subpathsOfDirectory(atPath: container.path.string) == before)
        }
    }

    private func isRefused(_ error: any Error, _ path: FilePath) -> Bool {
        let error = error as? UbiquitousStoreError
        return error?.code == .unsupported && error?.path == path
    }
}
