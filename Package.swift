// swift-tools-version: 6.2
import Foundation
import PackageDescription

/// Language settings that every target of the package shares.
///
/// Under `Tools/test` warnings are errors.
let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
    ] + (ProcessInfo.processInfo.environment["UBIQUITY_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)])

let system = Target.Dependency.product(name: "SystemPackage", package: "swift-system")
let metrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")
let metricsTesting = Target.Dependency.product(name: "MetricsTestKit", package: "swift-metrics")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let sqlite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let subprocess = Target.Dependency.product(name: "Subprocess", package: "swift-subprocess")
// What only the trait needs is neither fetched nor built without it.
let withHTTP = TargetDependencyCondition.when(traits: ["HTTP"])
let http = Target.Dependency.product(name: "AsyncHTTPClient", package: "async-http-client", condition: withHTTP)
let nio = Target.Dependency.product(name: "NIOCore", package: "swift-nio", condition: withHTTP)
let nioHTTP = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio", condition: withHTTP)
let nioTLS = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl", condition: withHTTP)
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let rainbow = Target.Dependency.product(name: "Rainbow", package: "Rainbow")
let signals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let csv = Target.Dependency.product(name: "SwiftCSV", package: "SwiftCSV")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let mustache = Target.Dependency.product(name: "Mustache", package: "swift-mustache")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
// NIO for tools, which need no trait for it.
let toolNIO = Target.Dependency.product(name: "NIOCore", package: "swift-nio")

let package = Package(
    name: "Ubiquity",
    // The libraries alone. An app fetches what the targets of products use, and nothing that only tools, examples or tests use; the programs
    // of a package are built in it without a product.
    products: [
        .library(name: "Ubiquity", targets: ["Ubiquity"]),
        .library(name: "TreeWatching", targets: ["TreeWatching"]),
        .library(name: "FileCoordination", targets: ["FileCoordination"]),
        .library(name: "UbiquityContainers", targets: ["UbiquityContainers"]),
        .library(name: "UbiquityStores", targets: ["UbiquityStores"]),
        .library(name: "StoreInspection", targets: ["StoreInspection"]),
        .library(name: "SyncthingStatus", targets: ["SyncthingStatus"]),
        .library(name: "ObjectTransfer", targets: ["ObjectTransfer"]),
        .library(name: "UbiquityDocuments", targets: ["UbiquityDocuments"]),
        .library(name: "UbiquityKeyValues", targets: ["UbiquityKeyValues"]),
        .library(name: "UbiquityFoundation", targets: ["UbiquityFoundation"]),
        .library(name: "UbiquityTesting", targets: ["UbiquityTesting"]),
    ],
    traits: [
        .trait(name: "HTTP", description: "Stores read public places over HTTP, with async-http-client."),
        .trait(name: "Syncthing", description: "SyncthingStatus asks Syncthing, over HTTP with async-http-client.", enabledTraits: ["HTTP"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/onevcat/Rainbow", from: "4.2.2"),
        .package(url: "https://github.com/swiftcsv/SwiftCSV", from: "0.10.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
    ],
    targets: [
        // The layers, lowest first; a target imports only targets above it. `Tools/check-imports` enforces it.
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        // How a number is written in the broker's protocol and in logs.
        .target(name: "ByteCoding", swiftSettings: settings),
        // SHA-256, of which the names of files and the lists of what they hold are made.
        .target(name: "ContentHashing", dependencies: ["COpenSSL", system], swiftSettings: settings),
        .target(name: "TreeWatching", dependencies: ["CLinux", system, logging, metrics], swiftSettings: settings),
        .target(name: "FileCoordination", dependencies: ["ByteCoding", "CLinux", "TreeWatching", system, logging], swiftSettings: settings),
        .target(
            name: "UbiquityContainers",
            dependencies: ["CLinux", "ContentHashing", "TreeWatching", "FileCoordination", system, logging], swiftSettings: settings),
        // What a store is: the files of a content, one SQLite file, the exchange between the two, the handle that an app holds, and what tools read.
        .target(
            name: "StoreFormat", dependencies: ["ByteCoding", "COpenSSL", "ContentHashing", "UbiquityContainers", system], swiftSettings: settings),
        // What follows from the signed statements of a container: who may change what.
        .target(name: "StoreAuthority", dependencies: ["UbiquityContainers", "StoreFormat"], swiftSettings: settings),
        .target(
            name: "StoreRecords", dependencies: ["CLinux", "UbiquityContainers", "StoreFormat", grdb, sqlite, system], swiftSettings: settings),
        .target(
            name: "StoreExchange",
            dependencies: [
                "CLinux", "TreeWatching", "UbiquityContainers", "StoreFormat", "StoreAuthority", "StoreRecords", grdb, sqlite, system, logging,
            ],
            swiftSettings: settings),
        // What carries containers to clouds: it knows files, and no stores.
        .target(
            name: "ObjectTransfer",
            dependencies: ["CLinux", "ContentHashing", "TreeWatching", "FileCoordination", "UbiquityContainers", grdb, system, logging],
            swiftSettings: settings),
        // Clouds that rclone reaches.
        .target(
            name: "RcloneTransfer",
            dependencies: ["ObjectTransfer", "TreeWatching", "UbiquityContainers", http, nio, nioHTTP, system, logging], swiftSettings: settings),
        // Public places over HTTP.
        .target(
            name: "HTTPPlaces", dependencies: ["UbiquityContainers", "StoreFormat", "StoreExchange", http, nio, nioHTTP, system],
            swiftSettings: settings),
        .target(
            name: "UbiquityStores",
            dependencies: [
                "TreeWatching", "UbiquityContainers", "StoreFormat", "StoreAuthority", "StoreRecords", "StoreExchange", "HTTPPlaces", grdb, system,
                logging,
            ],
            swiftSettings: settings),
        .target(
            name: "StoreInspection",
            dependencies: [
                "FileCoordination", "UbiquityContainers", "StoreFormat", "StoreAuthority", "StoreRecords", "StoreExchange", grdb, system,
            ],
            swiftSettings: settings),
        .target(
            name: "SyncthingStatus", dependencies: ["COpenSSL", "UbiquityContainers", http, nio, nioHTTP, nioTLS, system],
            swiftSettings: settings),
        // What an app has besides records: documents, and a few values.
        .target(
            name: "UbiquityDocuments", dependencies: ["CLinux", "FileCoordination", "UbiquityContainers", system], swiftSettings: settings),
        .target(
            name: "UbiquityKeyValues",
            dependencies: [
                "TreeWatching", "UbiquityContainers", "StoreFormat", "StoreRecords", "StoreExchange", "UbiquityStores", grdb, system, logging,
            ],
            swiftSettings: settings),
        // Cocoa's names over ours, for code that is written for Apple's systems too.
        .target(
            name: "UbiquityFoundation",
            dependencies: ["TreeWatching", "FileCoordination", "UbiquityContainers", "UbiquityKeyValues", system, logging], swiftSettings: settings),
        .target(
            name: "Ubiquity",
            dependencies: [
                "TreeWatching", "FileCoordination", "UbiquityContainers", "UbiquityDocuments", "UbiquityKeyValues", "UbiquityStores",
                "StoreInspection", system,
            ],
            swiftSettings: settings),
        .target(
            name: "UbiquityTesting",
            dependencies: ["CLinux", "TreeWatching", "FileCoordination", "UbiquityContainers", "UbiquityStores", system],
            swiftSettings: settings),

        // What carries a container, by the configuration of a device home.
        .target(
            name: "ConfiguredTransports", dependencies: ["ObjectTransfer", "SyncthingStatus", "UbiquityContainers", system], swiftSettings: settings),

        // What the tools have in common on a command line, and the tools: parse, call, print.
        .target(name: "ToolSupport", dependencies: ["CLinux", arguments, logging, system], swiftSettings: settings),
        // HTTP for one user's browser.
        .target(
            name: "LoopbackServer", dependencies: [hummingbird, hummingbirdCore, httpTypes, lifecycle, toolNIO, logging], swiftSettings: settings),
        .executableTarget(
            name: "ubwatch",
            dependencies: [
                "CLinux", "ConfiguredTransports", "FileCoordination", "LoopbackServer", "SyncthingStatus", "ToolSupport", "TreeWatching",
                "UbiquityContainers",
                "StoreInspection", "UbiquityStores", arguments, rainbow, mustache, logging, system,
            ],
            resources: [
                .embedInCode("Page/Files/pane.mustache"), .embedInCode("Page/Files/pane.css"), .embedInCode("Page/Files/pane.js"),
                .embedInCode("Page/Files/icon.svg"),
            ], swiftSettings: settings),
        // An event source over libinotifytools, which is GPL-2.0-only: a program of its own, linked by no library.
        .systemLibrary(name: "CInotifyTools"),
        .executableTarget(name: "inotifytools-source", dependencies: ["CInotifyTools"], swiftSettings: settings),
        .executableTarget(
            name: "ubcontrol",
            dependencies: [
                "CLinux", "ConfiguredTransports", "ContentHashing", "FileCoordination", "ObjectTransfer", "RcloneTransfer", "SyncthingStatus",
                "ToolSupport",
                "TreeWatching", "UbiquityContainers", "StoreInspection", "UbiquityStores",
                "UbiquityTesting",
                arguments, rainbow, system,
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "ubiquityd", dependencies: ["CLinux", "FileCoordination", "ToolSupport", "TreeWatching", arguments, logging, system],
            swiftSettings: settings),

        .executableTarget(
            name: "ubtransfer",
            dependencies: [
                "CLinux", "ObjectTransfer", "RcloneTransfer", "ToolSupport", "TreeWatching", "UbiquityContainers", arguments, lifecycle, signals,
                logging,
                system,
            ],
            swiftSettings: settings),

        // Examples and benchmarks, part of no product.
        .executableTarget(
            name: "notes", dependencies: ["Ubiquity", "SyncthingStatus", arguments, grdb, csv, signals, system], path: "Examples/Notes",
            swiftSettings: settings),
        .target(
            name: "PeopleStore", dependencies: ["Ubiquity", grdb, system], path: "Examples/People/Store", resources: [.copy("States.sqlite")],
            swiftSettings: settings),
        .executableTarget(
            name: "people", dependencies: ["PeopleStore", "Ubiquity", arguments, grdb, signals, system], path: "Examples/People/Tool",
            swiftSettings: settings),
        .executableTarget(
            name: "people-by-state", dependencies: ["PeopleStore", "Ubiquity", arguments, grdb], path: "Examples/People/ByState",
            swiftSettings: settings),
        .target(name: "JournalModel", dependencies: ["Ubiquity", grdb, system], path: "Examples/Journal/Model", swiftSettings: settings),
        .executableTarget(
            name: "journal", dependencies: ["JournalModel", "Ubiquity", arguments, grdb, signals, system], path: "Examples/Journal/Tool",
            swiftSettings: settings),
        // As an app has it that is no part of this package: without our settings.
        .executableTarget(name: "groceries", dependencies: ["Ubiquity", grdb], path: "Examples/Tutorial"),
        .executableTarget(
            name: "texts", dependencies: ["Ubiquity", subprocess, arguments],
            path: "Examples/Texts", swiftSettings: settings),
        // As it is written for Apple's systems.
        .executableTarget(name: "ported", dependencies: ["UbiquityFoundation"], path: "Examples/Ported"),
        .executableTarget(name: "scores", dependencies: ["Ubiquity", arguments, grdb, signals], path: "Examples/Scores"),
        .executableTarget(
            name: "ubiquity-demo", dependencies: ["ToolProcesses", arguments, system], path: "Tools/Demo", swiftSettings: settings),
        // Peers with signed statements, without files: the rules of StoreAuthority against random attackers.
        .target(
            name: "SignedSimulation", dependencies: ["StoreAuthority", "StoreFormat", "UbiquityContainers", "UbiquityTesting"],
            path: "Tools/SignedSimulation", swiftSettings: settings),
        // Accounts of a public container that sign statements and logs without a store.
        .target(
            name: "Contributors", dependencies: ["UbiquityContainers", "StoreFormat", "StoreExchange", system], path: "Tools/Contributors",
            swiftSettings: settings),
        // A publisher and readers with stores and files, over a faulty server.
        .target(
            name: "PlaceSimulation",
            dependencies: [
                "StoreAuthority", "StoreFormat", "StoreExchange", "StoreInspection", "StoreRecords", "UbiquityContainers", "UbiquityStores",
                "UbiquityTesting", grdb, system,
            ],
            path: "Tools/PlaceSimulation", swiftSettings: settings),
        // Devices that share nothing but a faulty cloud, in memory.
        .target(
            name: "TransferSimulation", dependencies: ["ContentHashing", "ObjectTransfer", "UbiquityContainers", "UbiquityTesting", system],
            path: "Tools/TransferSimulation", swiftSettings: settings),
        .executableTarget(
            name: "ubiquity-simulate",
            dependencies: [
                "SignedSimulation", "PlaceSimulation", "TransferSimulation", "UbiquityContainers", "UbiquityStores", "UbiquityTesting", arguments,
                grdb, system,
            ],
            path: "Tools/Simulate",
            swiftSettings: settings),
        .executableTarget(
            name: "ubiquity-wipes",
            dependencies: ["ToolSupport", "UbiquityContainers", "UbiquityStores", "UbiquityTesting", "ToolProcesses", arguments, grdb, system],
            path: "Tools/Wipes",
            swiftSettings: settings),
        .target(name: "BareInotify", path: "Tools/Reference", exclude: ["main.c"]),
        // How a test, or a tool that runs other programs, waits: with a limit, and saying for what.
        .target(name: "Waiting", path: "Tools/Waiting", swiftSettings: settings),
        // What a test reads of the metrics that are recorded.
        .target(
            name: "MetricsReading", dependencies: ["TreeWatching", metrics, metricsTesting], path: "Tools/MetricsReading", swiftSettings: settings),
        .target(name: "ToolProcesses", dependencies: ["Waiting", subprocess, system], path: "Tools/ToolProcesses", swiftSettings: settings),
        // Headless Chromium, by WebDriver.
        .target(
            name: "BrowserDriving", dependencies: ["ToolProcesses", "Waiting", subprocess, system], path: "Tools/BrowserDriving",
            swiftSettings: settings),
        .executableTarget(
            name: "ubiquity-screenshots", dependencies: ["BrowserDriving", "ToolProcesses", "Waiting", arguments, system], path: "Tools/Screenshots",
            swiftSettings: settings),
        .executableTarget(
            name: "ubiquity-bench",
            dependencies: [
                "BareInotify", "CLinux", "TreeWatching", "FileCoordination", "UbiquityContainers", "ObjectTransfer", "RcloneTransfer", "HTTPPlaces",
                "UbiquityStores", "StoreInspection", "Contributors", "ToolProcesses", "BrowserDriving", arguments, grdb, system,
            ],
            path: "Tools/Benchmarks", swiftSettings: settings),
        .executableTarget(
            name: "ubiquity-torture", dependencies: ["CLinux", "FileCoordination", "UbiquityTesting", arguments, logging, system],
            path: "Tools/Torture", swiftSettings: settings),

        .target(
            name: "FuzzDecoders",
            dependencies: [
                "ContentHashing", "ObjectTransfer", "UbiquityContainers", "UbiquityKeyValues", "StoreFormat", "StoreRecords", "StoreExchange",
                "StoreInspection", "UbiquityStores", grdb, system,
            ],
            path: "Tools/Fuzz/Decoders",
            swiftSettings: settings),
        .executableTarget(name: "ubiquity-fuzz", dependencies: ["FuzzDecoders"], path: "Tools/Fuzz/Program", swiftSettings: settings),
        .executableTarget(
            name: "ubiquity-soak", dependencies: ["CLinux", "TreeWatching", "UbiquityTesting", arguments, system], path: "Tools/Soak",
            swiftSettings: settings),
        .testTarget(
            name: "TreeWatchingTests",
            dependencies: [
                "TreeWatching", "UbiquityTesting", "MetricsReading", "ToolProcesses", "Waiting", "ubwatch", "inotifytools-source", "CLinux", logging,
                metrics, metricsTesting, system,
            ],
            exclude: ["Scripts"], swiftSettings: settings),
        .testTarget(
            name: "FileCoordinationTests",
            dependencies: [
                "ByteCoding", "CLinux", "FileCoordination", "MetricsReading", "TreeWatching", "UbiquityTesting", "Waiting", system, logging, metrics,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "UbiquityContainersTests",
            dependencies: ["TreeWatching", "FileCoordination", "UbiquityContainers", "UbiquityTesting", "Waiting", system],
            swiftSettings: settings
        ),
        .testTarget(
            name: "UbiquityDocumentsTests",
            dependencies: ["FileCoordination", "UbiquityContainers", "UbiquityDocuments", "UbiquityTesting", "Waiting", system],
            swiftSettings: settings),
        .testTarget(
            name: "UbiquityKeyValuesTests",
            dependencies: [
                "UbiquityContainers", "StoreFormat", "UbiquityStores", "UbiquityKeyValues", "UbiquityTesting", "Waiting", grdb, system,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "UbiquityFoundationTests",
            dependencies: ["FileCoordination", "UbiquityContainers", "UbiquityFoundation", "UbiquityTesting", "ToolProcesses", "Waiting", system],
            swiftSettings: settings),
        .testTarget(
            name: "UbiquityStoresTests",
            dependencies: [
                "TreeWatching", "UbiquityContainers", "StoreFormat", "StoreAuthority", "StoreRecords", "StoreExchange", "StoreInspection",
                "HTTPPlaces", "UbiquityStores", "Contributors", "SignedSimulation", "PlaceSimulation", "UbiquityTesting", "FuzzDecoders",
                "FileCoordination", "MetricsReading", "ObjectTransfer", "ToolProcesses", "Waiting",
                grdb, sqlite, system, logging, metrics,
            ],
            exclude: ["FuzzFinds"], swiftSettings: settings),
        .testTarget(
            name: "ObjectTransferTests",
            dependencies: [
                "ContentHashing", "FileCoordination", "ObjectTransfer", "RcloneTransfer", "TransferSimulation", "ToolProcesses", "TreeWatching",
                "UbiquityContainers",
                "UbiquityStores", "UbiquityTesting", "MetricsReading", "Waiting", "ubtransfer", "ubcontrol", grdb, system, metrics,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "UbiquityTestingTests", dependencies: ["UbiquityContainers", "UbiquityStores", "UbiquityTesting", "Waiting", grdb, system],
            swiftSettings: settings),
        // Code of other packages' documentation, on synced stores.
        .testTarget(
            name: "NeighbourTests", dependencies: ["Ubiquity", "UbiquityTesting", "Waiting", grdb, system], swiftSettings: settings),
        .testTarget(
            name: "PeopleTests", dependencies: ["PeopleStore", "Ubiquity", "UbiquityTesting", "Waiting", grdb, system], path: "Examples/People/Tests",
            swiftSettings: settings),
        .testTarget(
            name: "JournalTests", dependencies: ["JournalModel", "Ubiquity", "UbiquityTesting", "Waiting", grdb, system],
            path: "Examples/Journal/Tests", swiftSettings: settings),
        .testTarget(
            name: "SyncthingTests",
            dependencies: [
                "ToolProcesses", "Waiting", "UbiquityContainers", "UbiquityStores", "SyncthingStatus", "notes", "ubcontrol", "ubwatch", grdb, system,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ToolTests",
            dependencies: [
                "BrowserDriving", "CLinux", "LoopbackServer", "ToolProcesses", "ToolSupport", "Waiting", "UbiquityContainers", "StoreInspection",
                "UbiquityStores",
                "UbiquityTesting", "ubwatch",
                "ubcontrol", "ubiquityd", "ubtransfer", "inotifytools-source", "ubiquity-torture",
                "notes", "people", "people-by-state", "groceries", "journal", "scores", "texts", "ported",
                "ubiquity-demo", "ubiquity-bench", "ubiquity-simulate", "ubiquity-wipes", logging, system,
            ],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
