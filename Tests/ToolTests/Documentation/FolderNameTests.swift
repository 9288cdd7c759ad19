import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// The package in a folder of any name.
struct FolderNameTests {
    /// A copy of what names paths: the manifest, the tools, and the folders of the sources as links.
    private static func withCopy(_ body: (FilePath) async throws -> Void) async throws {
        let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("what ’ever \(UUID().uuidString)")
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        for name in ["Package.swift", "Tools", "README.md"] {
            try FileManager.default.copyItem(atPath: packageDirectory.appending(name).string, toPath: directory.appending(name).string)
        }
        for name in ["Sources", "Tests", "Examples"] {
            try FileManager.default.createSymbolicLink(
                atPath: directory.appending(name).string, withDestinationPath: packageDirectory.appending(name).string)
        }
        try await body(directory)
    }

    @Test("the package is one in a folder of any name, and an app beside it can name that folder")
    func manifest() async throws {
        try await Self.withCopy { directory in
            let outcome = try await Tool.run("/usr/bin/env", ["swift", "package", "--package-path", directory.string, "dump-package"])
            #expect(outcome.status == 0, "\(outcome.errors)")
            let manifest = try #require(JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
            #expect(manifest["name"] as? String == "Ubiquity")
            let targets = try #require(manifest["targets"] as? [[String: Any]]).compactMap { $0["name"] as? String }
            #expect(targets.contains("Ubiquity") && targets.contains("ubwatch"))
        }
    }

    @Test("no target depends on a product of this package by the package's name, which is its folder's in other packages")
    func identity() throws {
        let manifest = try packageText("Package.swift")
        #expect(!manifest.contains("package: \"ubiquity\"") && !manifest.contains("package: \"main\""))
    }

    @Test("the tools work in a folder with spaces in its name")
    func tools() async throws {
        try await Self.withCopy { directory in
            for command in [["check-imports"], ["rules", "--print"], ["release", "--help"], ["reference", "--help"]] {
                let outcome = try await Tool.run(directory.appending("Tools/\(command[0])").string, Array(command.dropFirst()))
                #expect(outcome.status == 0, "\(command): \(outcome)")
            }
        }
    }
}
