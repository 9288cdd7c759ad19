import Foundation
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityFoundation
import Waiting

/// Cocoa's calls that name no home, and so use the one of the process: one test at a time.
@Suite(.serialized, .timeLimit(.minutes(40))) struct HomeTests {
    private let name = "org.example.cocoa"

    private func withHome(_ body: (DeviceHome, URL) async throws -> Void) async throws {
        try await withDirectory { directory in
            let home = DeviceHome(FilePath(directory.appending(path: "home").path))
            try home.signIn(AccountName("alice"))
            try Data(#"{"format":1,"containers":["org.example.cocoa"]}"#.utf8).write(to: URL(filePath: home.path.appending("config.json").string))
            UbiquityFoundationHome.use(home)
            defer { UbiquityFoundationHome.use(nil) }
            try await body(home, directory)
        }
    }

    @Test("D-02, U-66: the identity token is nil while signed out, equal for one account, and survives an archive")
    func token() async throws {
        try await withHome { home, _ in
            let token = try #require(FileManager.default.ubiquityIdentityToken)
            #expect(FileManager.default.ubiquityIdentityToken?.isEqual(token) == true)
            let archive = try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: false)
            let restored = try NSKeyedUnarchiver.unarchiveTopLevelObjectWithData(archive)
            #expect(token.isEqual(restored))
            try home.signIn(AccountName("bob"))
            #expect(FileManager.default.ubiquityIdentityToken?.isEqual(token) == false)
            try home.signOut()
            #expect(FileManager.default.ubiquityIdentityToken == nil)
            #expect(FileManager.default.url(forUbiquityContainerIdentifier: name) == nil)
        }
    }

    @Test("D-02, U-66: a change of account is posted under Cocoa's name, with the new token")
    func notification() async throws {
        try await withHome { home, _ in
            _ = FileManager.default.url(forUbiquityContainerIdentifier: name)
            // Other tests look up containers of so many homes that the process, which keeps the last ones, may forget this one.
            let watch = try home.identityChanges
            defer { withExtendedLifetime(watch) {} }
            let events = Events()
            let token = NotificationCenter.default.addObserver(forName: .NSUbiquityIdentityDidChange, object: nil, queue: nil) { notification in
                guard notification.userInfo?["home"] as? String == home.path.string else { return }
                events.add(FileManager.default.ubiquityIdentityToken == nil ? "signed out" : "signed in")
            }
            defer { NotificationCenter.default.removeObserver(token) }
            try home.signOut()
            #expect(try await events.next() == "signed out")
        }
    }

    @Test("D-02, U-67, U-69: items move into a container and out of it, and are ubiquitous inside; errors are Cocoa's")
    func items() async throws {
        try await withHome { home, directory in
            let manager = FileManager.default
            let container = try #require(manager.url(forUbiquityContainerIdentifier: name))
            // This process may have declared others, which come before those in config.json.
            let first = try #require(UbiquityContainer.declared(in: home).first)
            #expect(try UbiquityContainer.declared(in: home).map(\.description).contains(name))
            #expect(manager.url(forUbiquityContainerIdentifier: nil) == manager.url(forUbiquityContainerIdentifier: first.description))
            #expect(manager.url(forUbiquityContainerIdentifier: "org.example.undeclared-\(UUID().uuidString)") == nil)
            let documents = container.appending(path: "Documents", directoryHint: .isDirectory)
            try manager.createDirectory(at: documents, withIntermediateDirectories: true)
            let (outside, inside) = (try directory.write("a.txt", "text"), documents.file("a.txt"))
            #expect(!manager.isUbiquitousItem(at: outside) && manager.isUbiquitousItem(at: inside))
            try manager.setUbiquitous(true, itemAt: outside, destinationURL: inside)
            #expect(inside.text == "text" && outside.text == nil)

            try directory.write("b.txt")
            let exists = #expect(throws: (any Error).self) {
                try manager.setUbiquitous(true, itemAt: directory.file("b.txt"), destinationURL: inside)
            }
            #expect((exists as NSError?)?.code == CocoaError.fileWriteFileExists.rawValue)
            let missing = #expect(throws: (any Error).self) { try manager.startDownloadingUbiquitousItem(at: directory.file("b.txt")) }
            #expect((missing as NSError?)?.domain == NSCocoaErrorDomain && (missing as NSError?)?.code == CocoaError.fileReadNoSuchFile.rawValue)
            let published = #expect(throws: CocoaError.self) { try manager.url(forPublishingUbiquitousItemAt: inside, expiration: nil) }
            #expect(published?.code == .featureUnsupported)

            try manager.setUbiquitous(false, itemAt: inside, destinationURL: outside)
            #expect(outside.text == "text" && inside.text == nil)
        }
    }

    @Test("D-02: an array of keys gives the values of an item in a container with its ordinary ones, a set Foundation's own")
    func resourceValues() async throws {
        try await withHome { _, directory in
            let container = try #require(FileManager.default.url(forUbiquityContainerIdentifier: name))
            let url = try container.write("Documents/a.txt", "text")
            let values = try url.resourceValues(forKeys: [
                .isUbiquitousItemKey, .ubiquitousItemDownloadingStatusKey, .ubiquitousItemIsUploadingKey, .ubiquitousItemContainerDisplayNameKey,
                .fileSizeKey, .nameKey,
            ])
            #expect(values.isUbiquitousItem == true && values.ubiquitousItemDownloadingStatus == .current)
            #expect(values.ubiquitousItemIsUploading == false && values.ubiquitousItemIsDownloading == nil)
            #expect(values.ubiquitousItemContainerDisplayName == name && values.fileSize == 4 && values.name == "a.txt")
            let promised = try url.promisedItemResourceValues(forKeys: [.ubiquitousItemDownloadingStatusKey])
            #expect(promised.ubiquitousItemDownloadingStatus == .current && promised.fileSize == nil)

            let outside = try directory.write("b.txt")
            let others = try outside.resourceValues(forKeys: [.isUbiquitousItemKey, .ubiquitousItemDownloadingStatusKey])
            #expect(others.isUbiquitousItem == false && others.ubiquitousItemDownloadingStatus == nil)
            let keys: Set<URLResourceKey> = [.fileSizeKey]
            let foundation: URLResourceValues = try url.resourceValues(forKeys: keys)
            #expect(foundation.fileSize == 4)
            #expect(throws: (any Error).self) { try directory.file("missing").resourceValues(forKeys: [.isUbiquitousItemKey, .fileSizeKey]) }
        }
    }

    @Test("D-02: values by key are set and read under Cocoa's names; one that does not fit is not set, and the quota's notification names it")
    func keyValues() async throws {
        try await withHome { home, _ in
            let store = NSUbiquitousKeyValueStore(container: name, home: home)
            store.set("text", forKey: "text")
            store.set(Int64(7), forKey: "integer")
            store.set(true, forKey: "boolean")
            store.set(["a", 1] as [Any], forKey: "array")
            #expect(store.string(forKey: "text") == "text" && store.longLong(forKey: "integer") == 7 && store.bool(forKey: "boolean"))
            #expect(store.array(forKey: "array")?.count == 2 && store.dictionaryRepresentation.count == 4)
            store.removeObject(forKey: "text")
            #expect(store.object(forKey: "text") == nil)
            let events = Events()
            let token = NotificationCenter.default.addObserver(
                forName: NSUbiquitousKeyValueStore.didChangeExternallyNotification, object: store, queue: nil
            ) { notification in
                guard let reason = notification.userInfo?[NSUbiquitousKeyValueStoreChangeReasonKey] as? Int,
                    reason == NSUbiquitousKeyValueStoreQuotaViolationChange
                else { return }
                let keys = notification.userInfo?[NSUbiquitousKeyValueStoreChangedKeysKey] as? [String] ?? []
                events.add("does not fit: \(keys.map(\.count))")
            }
            defer { NotificationCenter.default.removeObserver(token) }
            store.set(Data(count: 1 << 20), forKey: "big")
            let event = try await events.next()
            #expect(event == "does not fit: [3]")
            #expect(store.object(forKey: "big") == nil)
            // No key of this length is one.
            store.set("text", forKey: String(repeating: "k", count: 1000))
            #expect(store.dictionaryRepresentation.count == 3)
            let isSaved = try await onThread("a save") { store.synchronize() }
            #expect(isSaved)
        }
    }

    @Test("D-09: an external change is posted under Cocoa's names, with its keys and its reason")
    func externalChanges() async throws {
        try await withHome { home, directory in
            let root = FilePath(directory.appending(path: "root").path)
            try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
            let other = DeviceHome(FilePath(directory.appending(path: "other").path))
            for home in [home, other] { try home.signIn(AccountName("alice"), containers: root) }
            let (left, right) = (NSUbiquitousKeyValueStore(container: name, home: other), NSUbiquitousKeyValueStore(container: name, home: home))
            let events = Events()
            let token = NotificationCenter.default.addObserver(
                forName: NSUbiquitousKeyValueStore.didChangeExternallyNotification, object: right, queue: nil
            ) { notification in
                let reason = notification.userInfo?[NSUbiquitousKeyValueStoreChangeReasonKey] as? Int
                let keys = notification.userInfo?[NSUbiquitousKeyValueStoreChangedKeysKey] as? [String] ?? []
                switch reason {
                case NSUbiquitousKeyValueStoreServerChange, NSUbiquitousKeyValueStoreInitialSyncChange:
                    // The first look at the other devices may find nothing.
                    if !keys.isEmpty { events.add("values \(keys)") }
                case NSUbiquitousKeyValueStoreAccountChange: events.add("account \(keys.sorted())")
                default: events.add("\(notification)")
                }
            }
            defer { NotificationCenter.default.removeObserver(token) }
            // A store that is released exchanges nothing.
            defer { withExtendedLifetime((left, right)) {} }
            right.set("own", forKey: "own")
            let isSaved = try await onThread("a save") { right.synchronize() }
            #expect(isSaved)
            left.set("x", forKey: "k")
            let isSent = try await onThread("a save") { left.synchronize() }
            #expect(isSent)
            #expect(try await events.next() == #"values ["k"]"#)
            #expect(right.string(forKey: "k") == "x")
            try home.signOut()
            #expect(try await events.next() == #"account ["k", "own"]"#)
            #expect(right.dictionaryRepresentation.isEmpty)
        }
    }

    @Test("D-02: a value that is no property list is not set, and the former value stays")
    func noPropertyList() async throws {
        try await withHome { home, _ in
            let store = NSUbiquitousKeyValueStore(container: name, home: home)
            store.set("before", forKey: "settings")
            store.set(["colors": ["red", NSNull()] as [Any]], forKey: "settings")
            #expect(store.string(forKey: "settings") == "before" && store.dictionaryRepresentation.count == 1)
            let isSaved = try await onThread("a save") { store.synchronize() }
            #expect(isSaved)
        }
    }
}
