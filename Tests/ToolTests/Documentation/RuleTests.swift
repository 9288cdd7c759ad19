import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// The codes of the rules: the file that holds them, the page made from it, and the tests that carry them.
struct RuleTests {
    /// The lines of the file: a code, a sentence, and where a rule without a test title is covered.
    private static func rules() throws -> [[Substring]] {
        try packageText("Tools/rules.tsv").split(separator: "\n").map { $0.split(separator: "\t", omittingEmptySubsequences: false) }
    }

    /// The codes at the beginning of test titles.
    private static func carried() throws -> Set<Substring> {
        var codes: Set<Substring> = []
        for folder in ["Tests", "Examples"] {
            let files = try FileManager.default.subpathsOfDirectory(atPath: packageDirectory.appending(folder).string)
            for file in files where file.hasSuffix(".swift") {
                for title in try packageText("\(folder)/\(file)").matches(of: /@(?:Test|Suite)\(\s*"([A-Z]-\d+(?:, [A-Z]-\d+)*):/) {
                    codes.formUnion(title.1.matches(of: /[A-Z]-\d+/).map(\.output))
                }
            }
        }
        return codes
    }

    @Test("the page of rules is what Tools/rules makes of Tools/rules.tsv")
    func page() async throws {
        let outcome = try await Tool.run("/usr/bin/env", ["python3", packageDirectory.appending("Tools/rules").string, "--print"])
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(try outcome.output == packageText("Sources/Ubiquity/Ubiquity.docc/Rules.md"), "Run Tools/rules.")
    }

    @Test("every code in a test title is a rule, and every rule has a test title or says where it is covered")
    func codes() throws {
        let rules = try Self.rules()
        let codes = rules.map { $0[0] }
        let carried = try Self.carried()
        #expect(Set(codes).count == codes.count && codes.count > 200, "a code stands twice")
        #expect(carried.subtracting(codes).isEmpty, "no such rule: \(carried.subtracting(codes).sorted())")
        for rule in rules {
            #expect(rule.count >= 2 && rule[1].hasSuffix("."), "\(rule)")
            #expect(carried.contains(rule[0]) == (rule.count == 2), "\(rule[0]) has no test title, or says needlessly where it is covered")
        }
    }
}
