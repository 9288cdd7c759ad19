import Foundation
import SystemPackage
import Testing

/// The glossary, compared with the types in the sources.
struct GlossaryTests {
    /// The types that a file declares, each named with those around it, which the indentation tells.
    private static func types(in file: String) -> Set<String> {
        var types: Set<String> = []
        var enclosing: [(indentation: Int, name: Substring)] = []
        // A line without these words need not be matched, which takes most of the time.
        let words = ["struct ", "class ", "enum ", "actor ", "protocol ", "extension "]
        for line in file.split(separator: "\n") where words.contains(where: { line.contains($0) }) {
            guard let found = line.prefixMatch(of: /( *)(?:[@\w()]+ +)*?(struct|class|enum|actor|protocol|extension) +([A-Z][\w.]*)/) else {
                continue
            }
            let indentation = found.1.count
            enclosing.removeAll { $0.indentation >= indentation }
            enclosing.append((indentation, found.3))
            if found.2 != "extension" { types.insert(enclosing.map(\.name).joined(separator: ".")) }
        }
        return types
    }

    @Test("the glossary lists every type whose name ends in Place or begins with Store, with a sentence, and no type that does not exist")
    func types() throws {
        var types: Set<String> = []
        for path in try FileManager.default.subpathsOfDirectory(atPath: packageDirectory.appending("Sources").string) where path.hasSuffix(".swift") {
            types.formUnion(Self.types(in: try packageText("Sources/\(path)")))
        }
        let confusable = types.filter { type in
            let name = type.split(separator: ".").last ?? ""
            return name.hasSuffix("Place") || name.hasPrefix("Store")
        }
        #expect(confusable.count > 40, "\(confusable)")

        let page = try packageText("Sources/Ubiquity/Ubiquity.docc/Glossary.md")
        let rows = page.matches(of: /(?m)^\| `([^`]+)` \| (.+) \|$/)
        let listed = rows.map { String($0.1) }
        #expect(Set(listed).count == listed.count, "a type stands twice")
        #expect(confusable.subtracting(listed).isEmpty, "not in the glossary: \(confusable.subtracting(listed).sorted())")
        #expect(Set(listed).subtracting(types).isEmpty, "no such type: \(Set(listed).subtracting(types).sorted())")
        #expect(Set(rows.map(\.2)).count == listed.count, "two types have the same sentence")
    }
}
