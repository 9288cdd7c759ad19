import Foundation
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// What opening takes, beside what Core Data's took.
struct StoreOptionsTests {
    private typealias Options = UbiquitousStore.Options

    /// Core Data's keys for a store that syncs, without what all of them begin and end with, and what stands for each in the one value.
    private static var mirrored: [String: (key: String, option: PartialKeyPath<Options>)] {
        [
            "contentName": ("NSPersistentStoreUbiquitousContentNameKey", \Options.contentName),
            "containerIdentifier": ("NSPersistentStoreUbiquitousContainerIdentifierKey", \Options.containerIdentifier),
            "rebuildsFromUbiquitousContent": ("NSPersistentStoreRebuildFromUbiquitousContentOption", \Options.rebuildsFromUbiquitousContent),
        ]
    }

    /// Those that go by another name here, are an act, or nothing.
    private static let others = [
        "NSPersistentStoreUbiquitousContentURLKey", "NSPersistentStoreUbiquitousPeerTokenOption", "NSPersistentStoreRemoveUbiquitousMetadataOption",
        "NSReadOnlyPersistentStoreOption", "NSMigratePersistentStoresAutomaticallyOption", "NSInferMappingModelAutomaticallyOption",
        "NSSQLitePragmasOption",
    ]

    @Test(
        "S-049: all options travel in one value, whose names mirror Core Data's keys, and the page for who comes from there names every key and every option"
    )
    func page() throws {
        // What opens, removes and takes over a store takes places, the schema and this one value.
        let _: (FilePath, Options, String?, DeviceHome?, SyncedSchema) async throws -> UbiquitousStore =
            UbiquitousStore.open(at:options:container:home:schema:)
        let _: (FilePath, AccountName, Options, String?, DeviceHome?, SyncedSchema) async throws -> UbiquitousStore =
            UbiquitousStore.openReadOnly(at:account:options:container:home:schema:)
        let _: (FilePath, Options, RemovalConfirmation, String?, DeviceHome?, SyncedSchema) async throws -> ContentRemoval =
            UbiquitousStore.removeUbiquitousContentAndPersistentStore(at:options:_:container:home:schema:)

        let page = try String(
            contentsOfFile: packageDirectory.appending("Sources/Ubiquity/Ubiquity.docc/ComingFromCoreData.md").string, encoding: .utf8)
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| ") }.map {
            $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        func row(of key: String) throws -> String { try #require(rows.first { $0[0].contains("`\(key)`") }, "no row for \(key)")[1] }
        for (name, (key, _)) in Self.mirrored {
            // `rebuilds` for `Rebuild`: an option says what is so, where a key said what to do.
            let stem = key.replacing("NSPersistentStore", with: "").replacing(/^Ubiquitous|(Key|Option)$/, with: "").lowercased()
            #expect(name.lowercased() == stem || name.lowercased().replacing("rebuilds", with: "rebuild") == stem)
            #expect(try row(of: key).contains("``/UbiquityStores/StoreOptions/\(name)``"))
        }
        for key in Self.others { #expect(try row(of: key).hasPrefix("none: ") || row(of: key).hasPrefix("``/UbiquityStores/")) }

        let (everyday, advanced) = (Options(contentName: "Notes"), Options.Advanced())
        let options = Set([Mirror(reflecting: everyday), Mirror(reflecting: advanced)].flatMap { $0.children.compactMap(\.label) })
        #expect(options.isSuperset(of: Self.mirrored.keys))
        let named = page.matches(of: /Options\/(?:Advanced\/)?(\w+)``/).map { String($0.1) }
        #expect(Set(named) == options, "\(options.symmetricDifference(named))")
    }

    @Test("each advanced option has one value, with its group and without")
    func grouped() {
        var options = Options(contentName: "Notes", exchangesAutomatically: false)
        #expect(!options.advanced.exchangesAutomatically)
        options.advanced.largeValueSize = 7
        options.advanced.journalMode = .delete
        options.advanced.silenceLimit = .seconds(3)
        #expect(options.advanced.largeValueSize == 7 && options.advanced.journalMode == .delete && options.advanced.silenceLimit == .seconds(3))
        options.advanced.transitionDeadline = .seconds(5)
        options.advanced.contentPath = "CoreData/Shared/Notes"
        #expect(options.advanced.transitionDeadline == .seconds(5) && options.content == "Shared/Notes")
    }

    @Test("a fixed container is the store's, whichever account signs in later, and one or a home that differs from it is refused")
    func fixed() async throws {
        try await withDevices(2) { devices, root in
            let path = devices[0].directory.appending("Fixed.sqlite")
            var options = Options(contentName: "People", exchangesAutomatically: false)
            options.container = .fixed(try await devices[0].container())
            for (container, home) in [(nil, nil), ("org.example.test", devices[0].home)] as [(String?, DeviceHome?)] {
                let store = try await UbiquitousStore.open(at: path, options: options, container: container, home: home, schema: personSchema)
                #expect(await store.place == nil)
                try await store.close()
            }
            let store = try await UbiquitousStore.open(at: path, options: options, schema: personSchema)
            try devices[0].home.signIn(AccountName("bob"), containers: root)
            try await store.insert("a")
            #expect(store.file.string.contains("/alice~"))
            try await store.close()
            for (container, home) in [("org.example.other", nil), (nil, devices[1].home)] as [(String?, DeviceHome?)] {
                let error = try await #require(throws: UbiquitousStoreError.self) {
                    try await UbiquitousStore.open(at: path, options: options, container: container, home: home, schema: personSchema)
                }
                #expect(error.code == .unsupported && error.message.contains("fix"), "\(error)")
            }
        }
    }

    @Test("S-049: the container that the options name is the one, and where another is named beside them nothing is opened")
    func container() async throws {
        try await withDevices(1) { devices, root in
            var options = Options(contentName: "People", exchangesAutomatically: false)
            options.containerIdentifier = "org.example.chosen"
            let path = devices[0].directory.appending("People.sqlite")
            let store = try await UbiquitousStore.open(at: path, options: options, home: devices[0].home, schema: personSchema)
            try await store.settled()
            #expect(FileManager.default.fileExists(atPath: root.appending("alice/org.example.chosen/CoreData/People").string))
            try await store.close()
            let other = try await devices[0].container()
            await #expect(throws: UbiquitousStoreError.self) {
                try await UbiquitousStore.open(
                    at: path, options: options, container: "org.example.other", home: devices[0].home, schema: personSchema)
            }
            await #expect(throws: UbiquitousStoreError.self) {
                try await UbiquitousStore.open(at: path, options: options, in: other, schema: personSchema)
            }
            #expect(!FileManager.default.fileExists(atPath: root.appending("alice/org.example.other").string))
        }
    }
}
