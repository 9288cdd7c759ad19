import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// Compiles an app with the modules and objects of this test run, in a fraction of the time in which SwiftPM would
/// compile the package again.
///
/// The app is a package of its own: it sees the public interface only.
struct AppBuild {
    /// Where modules, objects and programs of the app go.
    private let output: FilePath
    /// The directory of this run's programs, with its modules and objects.
    private let products = Tool.path("ubcontrol").removingLastComponent()
    /// The objects of what an app links, and an archive of everything else, of which the linker takes what it needs.
    private var linked: [String] = []
    private var archive: FilePath { output.appending("libothers.a") }

    /// The modules that an app links whole, so that no conformance is left out.
    private static let modules = [
        "GRDB", "SystemPackage", "CSystem", "Logging", "ByteCoding", "ContentHashing", "TreeWatching", "FileCoordination", "UbiquityContainers",
        "StoreFormat", "StoreAuthority", "StoreRecords", "StoreExchange", "HTTPPlaces", "UbiquityStores", "StoreInspection", "UbiquityDocuments",
        "UbiquityKeyValues", "Ubiquity", "UbiquityTesting",
    ]

    /// Prepares a build.
    ///
    /// - Parameter output: an existing directory of the caller.
    /// - Throws: an error if the products of this run lie elsewhere than SwiftPM puts them.
    init(into output: FilePath) async throws {
        self.output = output
        var others: [String] = []
        let modules = Set(Self.modules)
        for folder in try FileManager.default.contentsOfDirectory(atPath: products.string) where folder.hasSuffix(".build") {
            let module = String(folder.dropLast(".build".count))
            let objects = try FileManager.default.subpathsOfDirectory(atPath: products.appending(folder).string).filter { $0.hasSuffix(".o") }
                .map { products.appending(folder).pushing(FilePath($0)).string }
            if modules.contains(module) { linked += objects } else if !module.hasSuffix("Tests") && !module.hasSuffix("-tool") { others += objects }
        }
        try #require(!linked.isEmpty, "\(products) has no objects of the libraries: the layout of SwiftPM's products has changed")
        let list = output.appending("others.txt")
        try Data(others.map { "\"\($0)\"" }.joined(separator: "\n").utf8).write(to: URL(filePath: list.string))
        // A thin archive names the objects, and copies none.
        let outcome = try await Tool.run("/usr/bin/env", ["ar", "rcsT", archive.string, "@\(list)"])
        try #require(outcome.status == 0, "\(outcome.errors)")
    }

    /// Compiles a module.
    ///
    /// - Parameters:
    ///   - module: the module's name.
    ///   - sources: the directory of its sources.
    /// - Returns: its object.
    /// - Throws: an issue with the compiler's messages.
    func compile(_ module: String, _ sources: FilePath) async throws -> FilePath {
        let object = output.appending("\(module).o")
        try await swiftc(
            ["-c", "-wmo", "-module-name", module, "-emit-module-path", output.appending("\(module).swiftmodule").string, "-o", object.string]
                + files(sources))
        return object
    }

    /// Compiles and links a program.
    ///
    /// - Parameters:
    ///   - module: its module's name.
    ///   - sources: its directories and files of sources.
    ///   - objects: the objects of the app's modules that it imports.
    /// - Returns: the program.
    /// - Throws: an issue with the messages of the compiler and the linker.
    func link(_ module: String, _ sources: [FilePath], with objects: [FilePath]) async throws -> FilePath {
        let program = output.appending("bin-\(module)")
        let inputs = output.appending("\(module).inputs")
        let words = try sources.flatMap(files) + objects.map(\.string) + linked
        try Data(words.map { "\"\($0)\"" }.joined(separator: "\n").utf8).write(to: URL(filePath: inputs.string))
        try await swiftc(
            ["-emit-executable", "-module-name", module, "-o", program.string, "@\(inputs)", archive.string]
                + ["-lsqlite3", "-lcrypto", "-lstdc++"])
        return program
    }

    private func files(_ path: FilePath) throws -> [String] {
        if path.extension == "swift" { return [path.string] }
        return try FileManager.default.subpathsOfDirectory(atPath: path.string).filter { $0.hasSuffix(".swift") }.sorted()
            .map { path.pushing(FilePath($0)).string }
    }

    private func swiftc(_ arguments: [String]) async throws {
        let common =
            ["-swift-version", "6", "-warnings-as-errors", "-parse-as-library", "-I", products.appending("Modules").string, "-I", output.string]
            + ["-module-cache-path", output.appending("cache").string]
            + (try cModules()).flatMap { ["-Xcc", "-fmodule-map-file=\($0.map)", "-Xcc", "-I\($0.headers)"] }
        let outcome = try await Tool.run("/usr/bin/env", ["swiftc"] + common + arguments)
        try #require(outcome.status == 0, "\(outcome.errors)\(outcome.output)")
    }

    /// Returns the modules of C that the modules of this run import: SwiftPM's map of each, or the package's own.
    private func cModules() throws -> [(map: FilePath, headers: FilePath)] {
        let checkouts = products.removingLastComponent().removingLastComponent().appending("checkouts")
        var folders = ["CLinux", "COpenSSL"].map { packageDirectory.appending("Sources/\($0)") }
        folders.append(checkouts.appending("GRDB.swift/Sources/GRDBSQLite"))
        for package in try FileManager.default.contentsOfDirectory(atPath: checkouts.string) {
            let sources = checkouts.appending(package).appending("Sources")
            for target in (try? FileManager.default.contentsOfDirectory(atPath: sources.string)) ?? [] {
                // A target that this run has not compiled is imported by nothing.
                guard FileManager.default.fileExists(atPath: products.appending("\(target).build").string) else { continue }
                folders.append(sources.appending(target).appending("include"))
            }
        }
        return folders.compactMap { headers in
            let target = headers.removingLastComponent().lastComponent?.string ?? ""
            let maps = [products.appending("\(target).build/module.modulemap"), headers.appending("module.modulemap")]
            return maps.first { FileManager.default.fileExists(atPath: $0.string) }.map { ($0, headers) }
        }
    }
}
