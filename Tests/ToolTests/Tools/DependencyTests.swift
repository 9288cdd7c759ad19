import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// What an app takes over by depending on the package.
struct DependencyTests {
    /// A package of the graph that `swift package show-dependencies` prints.
    private struct Node: Decodable {
        var identity: String
        var dependencies: [Node]

        /// The packages below it, each once.
        var all: Set<String> { dependencies.reduce(into: []) { $0.formUnion($1.all.union([$1.identity])) } }
    }

    /// Resolves an app that depends on the package and on nothing else.
    ///
    /// - Parameter traits: the traits of the package that it enables.
    /// - Returns: the packages below the app without the package itself, and the packages that were fetched.
    /// - Throws: what writing the app or starting the program throws; a failure of SwiftPM is an issue.
    private func resolve(traits: [String]) async throws -> (resolved: Set<String>, fetched: Set<String>) {
        let app = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-app-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(atPath: app.string) }
        let sources = app.appending("Sources/App")
        try FileManager.default.createDirectory(atPath: sources.string, withIntermediateDirectories: true)
        try Data("import Ubiquity\n".utf8).write(to: URL(filePath: sources.appending("main.swift").string))
        let package = packageDirectory.lastComponent!.string
        let manifest = """
            // swift-tools-version: 6.2
            import PackageDescription
            let package = Package(
                name: "App", dependencies: [.package(path: \(packageDirectory.string.debugDescription), traits: \(traits))],
                targets: [.executableTarget(name: "App", dependencies: [.product(name: "Ubiquity", package: \(package.debugDescription))])])
            """
        try Data(manifest.utf8).write(to: URL(filePath: app.appending("Package.swift").string))
        // The versions that this build has, which are in SwiftPM's cache: no server is asked for newer ones.
        let pins = packageDirectory.appending("Package.resolved").string
        if FileManager.default.fileExists(atPath: pins) {
            try FileManager.default.copyItem(atPath: pins, toPath: app.appending("Package.resolved").string)
        }
        let outcome = try await Tool.run(
            "/usr/bin/env", ["swift", "package", "--package-path", app.string, "show-dependencies", "--format", "json"])
        try #require(outcome.status == 0, "\(outcome.errors)")
        let root = try JSONDecoder().decode(Node.self, from: Data(outcome.output.utf8))
        let resolved = root.all.subtracting([package.lowercased()])
        let fetched = try FileManager.default.contentsOfDirectory(atPath: app.appending(".build/checkouts").string)
        return (resolved, Set(fetched.map { $0.lowercased() }))
    }

    @Test("an app resolves and fetches the four packages that it compiles, and none that only tools, examples, tests or the trait use")
    func app() async throws {
        let expected: Set = ["grdb.swift", "swift-log", "swift-metrics", "swift-system"]
        let (resolved, fetched) = try await resolve(traits: [])
        #expect(resolved == expected)
        #expect(fetched == expected)
    }

    @Test("an app that enables the trait Syncthing gets its HTTP client too, and still nothing of the tools")
    func trait() async throws {
        let resolved = try await resolve(traits: ["Syncthing"]).resolved
        #expect(resolved.isSuperset(of: ["grdb.swift", "async-http-client", "swift-nio", "swift-nio-ssl"]), "\(resolved)")
        #expect(resolved.isDisjoint(with: ["swift-argument-parser", "swift-subprocess", "rainbow", "swiftcsv"]), "\(resolved)")
    }
}
