import Foundation
import SystemPackage
import Testing
import UbiquityContainers

/// The container in which a URL lies.
struct ContainingTests {
    @Test("A URL lies in the container of the signed-in account that this device has used, through links too, and in no other")
    func containing() async throws {
        try await withTemporaryDirectory { directory in
            let home = DeviceHome(directory.appending("home"))
            func find(_ path: FilePath) async throws -> UbiquityContainer? {
                try await UbiquityContainer.containing(URL(filePath: path.string), home: home)
            }
            #expect(try await find(directory.appending("x")) == nil)
            let root = directory.appending("root")
            try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
            try home.signIn(AccountName("alice"), containers: root)
            let container = try await UbiquityContainer("org.example.test", home: home)
            let item = container.documents.appending("a/Letter.txt")
            #expect(try await find(item)?.path == container.path)
            #expect(try await find(container.path)?.identifier == container.identifier)
            #expect(try await find(item.removingLastComponent().appending("../../x"))?.path == container.path)
            let link = directory.appending("link")
            try FileManager.default.createSymbolicLink(atPath: link.string, withDestinationPath: root.string)
            try home.signIn(AccountName("alice"), containers: link)
            #expect(try await find(container.path.appending("x"))?.identifier == container.identifier)
            // Other directories are none, and are not made to be one.
            for path in [root, root.appending("alice"), root.appending("alice/org.example.other/x"), root.appending("bob/org.example.test/x")] {
                #expect(try await find(path) == nil, "\(path)")
            }
            #expect(!FileManager.default.fileExists(atPath: root.appending("alice/org.example.other").string))
            #expect(try await UbiquityContainer.containing(URL(string: "https://example.org/x")!, home: home) == nil)
            try home.signIn(AccountName("bob"), containers: root)
            #expect(try await find(item) == nil)
        }
    }
}
