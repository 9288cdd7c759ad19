import Foundation
import SystemPackage
import Testing

/// The architecture page, compared with the sources.
struct ArchitectureTests {
    /// A type in a module, whose lines are those of its declaration and of all its extensions there.
    private struct Name: Hashable { let module, type: Substring }

    /// Adds the lines of every type that stands at the left margin of a file.
    private static func count(_ file: String, in module: Substring, into lines: inout [Name: Int]) {
        var open: (name: Name, start: Int)?
        for (number, line) in file.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if let (name, start) = open, line.hasPrefix("}") {
                lines[name, default: 0] += number - start + 1
                open = nil
            } else if open == nil, let found = line.prefixMatch(of: /(?:[@\w()]+ +)*?(struct|class|enum|actor|extension) +([A-Z]\w*)/) {
                let name = Name(module: module, type: found.2)
                if line.hasSuffix("}") { lines[name, default: 0] += 1 } else { open = (name, number) }
            }
        }
    }

    /// Returns the names of the stored properties of an actor that stands at the left margin of a file.
    private static func storedProperties(ofActorsIn file: String) -> [String: Int] {
        var counts: [String: Int] = [:]
        var actor: String?
        for line in file.split(separator: "\n") {
            if let found = line.prefixMatch(of: /(?:\w+ )*?actor ([A-Z]\w*)/) {
                actor = String(found.1)
            } else if line.hasPrefix("}") {
                actor = nil
            } else if let actor, let property = line.prefixMatch(of: /\ {4}(?:[\w()]+ )*?(?:let|var) ([^={]*)(.*)/), !line.contains(" static ") {
                // A computed property has a body; what stands after `=` is an initial value.
                if !property.2.hasPrefix("{") { counts[actor, default: 0] += 1 }
            }
        }
        return counts
    }

    @Test("every type over 400 lines stands in the architecture page with a reason, and no other; no actor has more than 15 stored properties")
    func sizes() throws {
        var lines: [Name: Int] = [:]
        var properties: [String: Int] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: packageDirectory.appending("Sources").string) where path.hasSuffix(".swift") {
            let text = try packageText("Sources/\(path)")
            Self.count(text, in: path.prefix { $0 != "/" }, into: &lines)
            properties.merge(Self.storedProperties(ofActorsIn: text)) { $0 + $1 }
        }
        let large = Set(lines.filter { $0.value > 400 }.map { String($0.key.type) })
        #expect(large.count > 5, "\(large)")
        let page = try packageText("Sources/Ubiquity/Ubiquity.docc/Architecture.md")
        let start = try #require(page.range(of: "## Types over 400 lines"))
        let rest = page[start.upperBound...]
        let section = rest[..<(rest.range(of: "\n## ")?.lowerBound ?? rest.endIndex)]
        let listed = Set(section.matches(of: /(?m)^\| `(\w+)` \| (.{20,}) \|$/).map { String($0.1) })
        #expect(large == listed, "not listed: \(large.subtracting(listed).sorted()); listed though smaller: \(listed.subtracting(large).sorted())")
        #expect(properties.count > 5 && properties["StoreKeeper"] == 15, "\(properties)")
        #expect(properties.filter { $0.value > 15 }.isEmpty)
    }
}
