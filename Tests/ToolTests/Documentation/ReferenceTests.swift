import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// The reference pages that `Tools/reference` writes.
struct ReferenceTests {
    @Test("the pages of commands and of JSON are those that the programs and the sources give")
    func pages() async throws {
        let outcome = try await Tool.run(
            packageDirectory.appending("Tools/reference").string, ["--check", "--built", Tool.path("ubcontrol").removingLastComponent().string])
        #expect(outcome.status == 0, "\(outcome.errors)")
    }

    @Test("every command that prints JSON stands on the page, with a table of keys or a sentence that names them")
    func objects() throws {
        let commands = try packageText("Sources/Ubiquity/Ubiquity.docc/CommandReference.md").components(separatedBy: "\n### ").dropFirst()
        let page = try packageText("Sources/Ubiquity/Ubiquity.docc/JSONReference.md").components(separatedBy: "\n### ").dropFirst()
        let described = Dictionary(page.map { ($0.prefix { $0 != "\n" }, $0) }, uniquingKeysWith: { first, _ in first })
        let named = commands.filter { $0.contains("| `--json` |") }.map { $0.prefix { $0 != "\n" } }
        #expect(named.count > 40, "\(named)")
        for command in named {
            let text = try #require(described[command], "\(command) is not on the page")
            #expect(text.contains("| key | value |") || text.contains("The keys are") || text.contains(":"), "\(command): \(text)")
        }
    }
}
