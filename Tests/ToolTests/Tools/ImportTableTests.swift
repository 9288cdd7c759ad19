import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// What `Tools/check-imports` allows and refuses.
struct ImportTableTests {
    /// Runs the check on a copy of the sources in which files have been changed or added.
    ///
    /// - Parameter changes: text that is put at the beginning of a file, by the file's path below `Sources`; the file may be new.
    /// - Returns: what the check said.
    /// - Throws: what copying or running throws.
    private func check(_ changes: [String: String]) async throws -> Tool.Outcome {
        let copy = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-imports-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(atPath: copy.string) }
        try FileManager.default.createDirectory(atPath: copy.appending("Tools").string, withIntermediateDirectories: true)
        for path in ["Sources", "Tools/check-imports"] {
            try FileManager.default.copyItem(atPath: packageDirectory.appending(path).string, toPath: copy.appending(path).string)
        }
        for (path, text) in changes {
            let file = URL(filePath: copy.appending("Sources").appending(path).string)
            let rest = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
            try Data((text + "\n" + rest).utf8).write(to: file)
        }
        return try await Tool.run(copy.appending("Tools/check-imports").string, [])
    }

    @Test("Every row of the import table is kept, and the folders of no store module form a circle")
    func passes() async throws {
        let outcome = try await Tool.run(packageDirectory.appending("Tools/check-imports").string, [])
        #expect(outcome.status == 0, "\(outcome.errors)")
    }

    @Test(
        "An import that the table does not allow is found, however it is written",
        arguments: [
            ("TreeWatching/A.swift", "@testable internal import UbiquityContainers", "TreeWatching must not import UbiquityContainers"),
            ("UbiquityContainers/B.swift", "public import class GRDB.Row", "UbiquityContainers must not import GRDB"),
            ("StoreFormat/Logs/LogFile.swift", "internal import GRDB", "StoreFormat must not import GRDB"),
            ("StoreRecords/Schema/SyncedTable.swift", "internal import TreeWatching", "StoreRecords must not import TreeWatching"),
            ("StoreExchange/Engine/C.swift", "@_exported public import UbiquityStores", "StoreExchange must not import UbiquityStores"),
            ("StoreInspection/Survey/D.swift", "import UbiquityStores", "StoreInspection must not import UbiquityStores"),
        ])
    func forbidden(file: String, line: String, fault: String) async throws {
        let outcome = try await check([file: line])
        #expect(outcome.status == 1)
        #expect(outcome.errors == "Sources/\(file):1: \(fault)\n", "\(outcome.errors)")
    }

    @Test("What a text of several lines imports is none of the target's, and an import behind the text is found")
    func templates() async throws {
        let template = #"let text = """\n    import GRDB\n    \"""\n    import Testing\n    """"#.replacing(#"\n"#, with: "\n")
        #expect(try await check(["UbiquityContainers/Template.swift": template]).status == 0)
        let outcome = try await check(["UbiquityContainers/Template.swift": template + "\ninternal import GRDB"])
        #expect(outcome.errors == "Sources/UbiquityContainers/Template.swift:6: UbiquityContainers must not import GRDB\n", "\(outcome.errors)")
    }

    @Test("A circle of folders is found, with the references that form it")
    func circle() async throws {
        // Logs name hashes; a value that names a log closes the circle.
        let outcome = try await check(["StoreFormat/Values/E.swift": "struct E { var log: LogFile }"])
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("StoreFormat: folders form a circle: "), "\(outcome.errors)")
        #expect(outcome.errors.contains("Values/E.swift names LogFile of Sources/StoreFormat/Logs/LogFile.swift\n"), "\(outcome.errors)")
    }

    @Test("A comment, a text and a type that a file keeps to itself name nothing, and what is interpolated in a text does")
    func names() async throws {
        let harmless = #"""
            /// It is read by ``LogFile``, and /* by a LogFile /* too.
            private struct LogBody { var text = "LogFile \("LogFile")" + #"\("LogFile") LogFile"#; let body: LogBody? }
            /* LogFile */ let long = """
                LogFile "LogFile"
                """
            """#
        #expect(try await check(["StoreFormat/Values/F.swift": harmless]).status == 0)
        let outcome = try await check(["StoreFormat/Values/F.swift": #"let text = "\(LogFile.limit) bytes""#])
        #expect(outcome.status == 1 && outcome.errors.contains("F.swift names LogFile"), "\(outcome.errors)")
    }
}
