import Foundation
import SystemPackage
import Testing

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreInspection
@testable import StoreRecords
@testable import UbiquityContainers
@testable import UbiquityStores

/// A store's content that lies elsewhere below `CoreData` than its name says.
struct ContentPathTests {
    @Test(
        "S-014: an option places the content by a subpath or by URL, where it is exchanged, listed, verified and missed; the default is CoreData/<content name>"
    )
    func places() async throws {
        try await withDevices(2) { devices, _ in
            let containers = [try await devices[0].container(), try await devices[1].container()]
            var byURL = UbiquitousStore.Options(contentName: "People")
            try byURL.placeContent(at: containers[1].url.appending(path: "CoreData/Shared ä/Friends/"), in: containers[1])
            #expect(byURL.advanced.contentPath == "CoreData/Shared ä/Friends")
            let stores = try await [
                devices[0].follow { $0.advanced.contentPath = "CoreData/Shared ä/Friends" },
                devices[1].follow { [byURL] in $0.advanced.contentPath = byURL.advanced.contentPath },
            ]
            for store in stores { try await store.settled() }
            try await stores[0].insert("a")
            try await settle(stores[0], stores[1])
            #expect(try await stores[1].keys() == ["a"])
            let content = containers[0].path.appending("CoreData/Shared ä/Friends")
            #expect(stores[0].runner.context.layout.directory == content)
            let files = LinuxFileLayer()
            #expect(try files.names(in: containers[0].path.appending("CoreData")) == ["Shared ä"])

            // Beside one in its usual place.
            let usual = try await UbiquitousStore.open(
                at: devices[0].directory.appending("Usual.sqlite"), options: .init(contentName: "People", contentPath: nil), in: containers[0],
                schema: personSchema)
            try await usual.settled()
            #expect(try await usual.keys() == [])
            #expect(UbiquityContainer.storeContents(of: containers[0].path, files) == ["People", "Shared ä/Friends"])
            let survey = try ContainerSurvey(of: containers[0].path)
            #expect(survey.stores.map(\.name) == ["People", "Shared ä/Friends"])
            #expect(survey.stores[1].peers.map(\.logs).sorted() == [0, 1])
            let verification = try ContainerVerification(of: containers[0].path)
            #expect(verification.isSound && verification.contents.map(\.content) == ["People", "Shared ä/Friends"], "\(verification)")
            #expect(try ContainerVerification(of: content).contents.map(\.content) == ["Shared ä/Friends"])
            #expect(try ContainerVerification(of: containers[0].path, content: "Shared ä/Friends").contents.count == 1)
            #expect(ContentReport.all(in: containers[0].path).map(\.contentName) == ["People", "Shared ä/Friends"])
            #expect(ContainerSighting(of: containers[0]).epochs == ["People": 1, "Shared ä/Friends": 1])

            // It is missed as any other.
            let (folder, away) = (content.removingLastComponent(), content.removingLastComponent().string + "-away")
            try FileManager.default.moveItem(atPath: folder.string, toPath: away)
            await #expect(throws: UbiquitousStoreError.self) { try await stores[0].settled() }
            #expect(try await stores[0].status().suspended == .contentGone)
            #expect(!FileManager.default.fileExists(atPath: folder.string))
            try FileManager.default.moveItem(atPath: away, toPath: folder.string)
            try await stores[0].settled()
            #expect(try await stores[0].status().suspended == nil)
        }
    }

    @Test("a content's place is refused where items lie, in another content, or around one, and a store that has one place keeps to it")
    func refused() async throws {
        try await withDevices(1) { devices, _ in
            let container = try await devices[0].container()
            for path in [
                "Documents/People", "CoreData", "/CoreData/People", "CoreData/../People", "CoreData/.hidden", "CoreData/a.nosync/People",
                "CoreData/epochs/People", "CoreData/a/b/c/d/e/f/g/h/i", "CoreData/x.sync-conflict-20260101-000000-ABCDEFG",
                "CoreData/\(container.peer)", "",
            ] {
                await #expect("\(path)") { _ = try await devices[0].follow { $0.advanced.contentPath = FilePath(path) } } throws: {
                    ($0 as? UbiquitousStoreError)?.code == .unsupported
                }
            }
            var options = UbiquitousStore.Options(contentName: "People")
            #expect(throws: UbiquitousStoreError.self) {
                try options.placeContent(at: container.url.deletingLastPathComponent().appending(path: "other/CoreData/x"), in: container)
            }
            #expect(throws: UbiquitousStoreError.self) { try options.placeContent(at: container.url.appending(path: "Documents"), in: container) }
            #expect(options.advanced.contentPath == nil)

            let first = try await devices[0].follow { $0.advanced.contentPath = "CoreData/Shared/People" }
            try await first.settled()
            try await first.close()
            await #expect { _ = try await devices[0].follow() } throws: { ($0 as? UbiquitousStoreError)?.code == .foreignStore }
            for (name, path) in [("Around", "CoreData/Shared"), ("Within", "CoreData/Shared/People/More")] {
                await #expect("\(path)") {
                    _ = try await UbiquitousStore.open(
                        at: devices[0].directory.appending("\(name).sqlite"), options: .init(contentName: name, contentPath: FilePath(path)),
                        in: container, schema: personSchema)
                } throws: {
                    ($0 as? UbiquitousStoreError)?.code == .unsupported
                }
            }
            #expect(UbiquityContainer.storeContents(of: container.path, LinuxFileLayer()) == ["Shared/People"])
        }
    }
}

extension UbiquitousStore.Options {
    fileprivate init(contentName: String, contentPath: FilePath?) {
        self.init(contentName: contentName, exchangesAutomatically: false)
        self.advanced.contentPath = contentPath
    }
}
