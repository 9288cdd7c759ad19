import Foundation
import SystemPackage
import Testing
import UbiquityContainers

struct StignoreRuleTests {
    /// A folder that Syncthing keeps, with what its `.stignore` holds.
    private func withFolder(_ content: String?, _ body: (FilePath, FilePath) async throws -> Void) async throws {
        try await withTemporaryDirectory { folder in
            try FileManager.default.createDirectory(atPath: folder.appending(".stfolder").string, withIntermediateDirectories: true)
            let file = folder.appending(".stignore")
            if let content { try Data(content.utf8).write(to: URL(filePath: file.string)) }
            try await body(folder, file)
        }
    }

    private func content(of file: FilePath) throws -> String { String(decoding: try Data(contentsOf: URL(filePath: file.string)), as: UTF8.self) }

    @Test(
        "the rule is added before whatever could take names out of it, and the rest stays byte by byte",
        arguments: [
            (nil, "*.nosync\n"),
            ("", "*.nosync\n"),
            ("!keep.nosync\r\n*.o", "*.nosync\n!keep.nosync\r\n*.o"),
            ("// mine\n!keep.nosync\n*.nosync\n", "*.nosync\n// mine\n!keep.nosync\n*.nosync\n"),
            ("#include common\n*.nosync\n", "*.nosync\n#include common\n*.nosync\n"),
            ("#escape=|\n*.o\n", "#escape=|\n*.nosync\n*.o\n"),
            ("// *.nosync\nx.nosync\n", "*.nosync\n// *.nosync\nx.nosync\n"),
        ] as [(String?, String)])
    func added(before: String?, after: String) async throws {
        try await withFolder(before) { folder, file in
            #expect(StignoreRule.ensure(above: folder.appending("alice"), files: LinuxFileLayer()) == .added(file))
            let once = try content(of: file)
            #expect(once == after)
            #expect(StignoreRule.ensure(above: folder, files: LinuxFileLayer()) == .present(file))
            let twice = try content(of: file)
            #expect(twice == after)
            #expect(try tree(below: folder) == [".stfolder", ".stignore"])
        }
    }

    @Test("a rule that comes first is left alone", arguments: ["*.nosync\n!x\n", "*.o\n\n  *.nosync  \n", "(?d)(?i)*.nosync", "**/*.nosync\n"])
    func present(before: String) async throws {
        try await withFolder(before) { folder, file in
            #expect(StignoreRule.ensure(above: folder, files: LinuxFileLayer()) == .present(file))
            let after = try content(of: file)
            #expect(after == before)
        }
    }

    @Test("making a container below a Syncthing folder adds the rule to the nearest one, and elsewhere makes no file")
    func container() async throws {
        try await withFolder(nil) { folder, file in
            let root = folder.appending("inner/containers")
            try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
            let home = DeviceHome(folder.appending("home"))
            try home.signIn(AccountName("alice"), containers: root)
            _ = try await UbiquityContainer("org.example.notes", home: home)
            #expect(try content(of: file) == "*.nosync\n")
            try FileManager.default.removeItem(atPath: file.string)
            try FileManager.default.removeItem(atPath: folder.appending(".stfolder").string)
            _ = try await UbiquityContainer("org.example.letters", home: home)
            #expect(!FileManager.default.fileExists(atPath: file.string))
        }
    }

    @Test("a .stignore that cannot be read hinders no container, and is reported")
    func unreadable() async throws {
        try await withFolder(nil) { folder, file in
            try FileManager.default.createDirectory(atPath: file.string, withIntermediateDirectories: true)
            let home = DeviceHome(folder.appending("home"))
            try home.signIn(AccountName("alice"), containers: folder)
            let container = try await UbiquityContainer("org.example.notes", home: home)
            #expect(container.attachment() == .attached)
            guard case .failed(file, _) = StignoreRule.check(above: folder, files: LinuxFileLayer()) else {
                Issue.record("not reported")
                return
            }
        }
    }
}
