/// A new app: a list of items in one synced table, with a program and tests.
///
/// It is a value: equal names, identifiers and sources make equal files.
struct AppTemplate {
    /// A file of the app.
    struct File: Equatable {
        /// The path below the app's directory.
        var path: String
        /// The content.
        var text: String
    }

    /// The app's name.
    var name: AppName
    /// The identifier of its container.
    var identifier: String
    /// Where it finds the package.
    var source: PackageSource

    /// The files of the app, by path.
    var files: [File] {
        [
            File(path: ".gitignore", text: ".build/\n.swiftpm/\n"),
            File(path: "Package.swift", text: manifest),
            File(path: "README.md", text: readme),
            File(path: "Sources/\(name.program)/\(name.type).swift", text: program),
            File(path: "Sources/\(name.program)/Command.swift", text: command),
            File(path: "Sources/\(name.storeModule)/Item.swift", text: item),
            File(path: "Sources/\(name.storeModule)/ItemStore.swift", text: store),
            File(path: "Tests/\(name.testModule)/SyncTests.swift", text: tests),
        ]
    }

    private var manifest: String {
        """
        // swift-tools-version: 6.2
        import PackageDescription

        let package = Package(
            name: "\(name.package)",
            dependencies: [
                \(source.dependency),
                .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
            ],
            targets: [
                .target(
                    name: "\(name.storeModule)",
                    dependencies: [
                        \(product("Ubiquity")),
                        .product(name: "GRDB", package: "GRDB.swift"),
                    ]),
                .executableTarget(
                    name: "\(name.program)",
                    dependencies: [
                        "\(name.storeModule)",
                        \(product("Ubiquity")),
                    ]),
                .testTarget(
                    name: "\(name.testModule)",
                    dependencies: [
                        "\(name.storeModule)",
                        \(product("Ubiquity")),
                        \(product("UbiquityTesting")),
                    ]),
            ]
        )

        """
    }

    /// Returns import declarations, in the order of `swift format`.
    func imports(_ modules: String...) -> String { modules.sorted().map { "import \($0)" }.joined(separator: "\n") }

    private func product(_ name: String) -> String { ".product(name: \"\(name)\", package: \(source.identity.debugDescription))" }
}
