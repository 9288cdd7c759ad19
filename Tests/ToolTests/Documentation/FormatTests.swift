import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// The page on the formats, held against what two devices have written.
struct FormatTests {
    private static func page(_ path: String) throws -> String {
        try String(contentsOfFile: packageDirectory.appending("Sources/\(path).md").string, encoding: .utf8)
    }

    /// The rows of a page's tables, by their first cells.
    private static func rows(_ page: String) -> [(first: String, rest: String)] {
        page.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            return line.hasPrefix("| `") && cells.count == 2 ? (cells[0].replacing("`", with: ""), cells[1]) : nil
        }
    }

    /// A path of the page, such as `epochs/<n>.<peer>`, as an expression that a path as a whole has to match.
    private static func expression(_ path: String) throws -> Regex<AnyRegexOutput> {
        let parts = path.replacing("…", with: "").matches(of: /<\w+>|[^<]+/).map { part in
            part.output.hasPrefix("<") ? "[^/]+" : NSRegularExpression.escapedPattern(for: String(part.output))
        }
        return try Regex("^\(parts.joined())$")
    }

    /// The members of a JSON object, those of objects in it included.
    private static func members(_ value: Any) -> Set<String> {
        if let list = value as? [Any] { return list.reduce(into: []) { $0.formUnion(members($1)) } }
        guard let object = value as? [String: Any] else { return [] }
        // Peers are named by their containers.
        return object.reduce(into: []) { found, member in
            if !member.key.contains(".") { found.insert(member.key) }
            found.formUnion(members(member.value))
        }
    }

    @Test(
        "every file that devices write is one that the page on the formats names, and every member of the JSON ones stands on the page that describes it"
    )
    func files() async throws {
        let page = try Self.page("Ubiquity/Ubiquity.docc/Formats")
        let paths = try Self.rows(page).map { ($0.first, try Self.expression($0.first), $0.rest) }
        try await Self.withUsedDevices { devices in
            var seen: Set<String> = []
            for (directory, isHome) in devices.map({ ($0.home, true) }) + [(devices[0].root.appending("alice/org.example.notes"), false)] {
                for path in try FileManager.default.subpathsOfDirectory(atPath: directory.string) {
                    let file = directory.appending(path)
                    var isDirectory: ObjCBool = false
                    guard FileManager.default.fileExists(atPath: file.string, isDirectory: &isDirectory), !isDirectory.boolValue else { continue }
                    // The app's own.
                    if path.hasSuffix(".csv") || path.hasPrefix("Documents/") { continue }
                    var name = path.replacing(/^Notes\/CoreDataUbiquitySupport\//, with: "")
                    if name != path { name = name.replacing(/-(wal|shm|journal|open|exchange)$/, with: "") }
                    let row = try #require(try paths.first { try $0.1.wholeMatch(in: name) != nil }, "no row for \(path)")
                    seen.insert(row.0)
                    guard let bytes = FileManager.default.contents(atPath: file.string), bytes.first == UInt8(ascii: "{") else { continue }
                    // Where a page describes it, that page; else the row, or the paragraph below the table.
                    let link = row.2.firstMatch(of: /<doc:\/(\w+)\/(\w+)>/)
                    let text = try link.map { try Self.page("\($0.1)/\($0.1).docc/\($0.2)") } ?? (isHome ? row.2 + " `format`" : page)
                    for member in Self.members(try JSONSerialization.jsonObject(with: bytes)) {
                        #expect(text.contains("`\(member)`"), "\(member) of \(path) is described nowhere")
                    }
                }
            }
            let expected = [
                "account.json", "accounts/<account>.json", "lock", "kept/<id>/entry.json", "kept/<id>/<sequence>.<hash>.ublog", ".ubiquity/<peer>",
                "CoreData/<content>/epochs/<n>.<peer>", "CoreData/<content>/<peer>/<n>/<sequence>.<hash>.ublog",
                "CoreData/<content>/<peer>/<n>/values/<hash>", "CoreData/<content>/<peer>/<n>/baselines/<sequence>.<hash>.ubbaseline",
                "CoreData/<content>/<peer>/<n>/receipts/<i>", "<peer>/<content>/store/<file>",
            ]
            #expect(seen.isSuperset(of: expected), "not written: \(Set(expected).subtracting(seen))")
        }
    }

    @Test("every table of this package's in a store file stands on the page on them, with every column")
    func tables() async throws {
        let page = try Self.page("UbiquityStores/UbiquityStores.docc/StoreTables")
        let rows = Self.rows(String(page.components(separatedBy: "## Columns")[1]))
        try await Self.withUsedDevices { devices in
            let query = """
                SELECT m.name || ' ' || group_concat(c.name, ' ') FROM sqlite_schema AS m, pragma_table_info(m.name) AS c
                WHERE m.type = 'table' AND m.name GLOB 'ubiquity_*' GROUP BY m.name
                """
            let lines = try await Tool.run("/usr/bin/sqlite3", ["-readonly", devices[0].storeFile().string, query]).output.split(separator: "\n")
            #expect(lines.count > 20)
            for line in lines {
                let words = line.split(separator: " ").map(String.init)
                let table = words[0].replacing(/_\d+$/, with: "_n")
                let row = try #require(rows.first { $0.first == table }, "\(table)")
                for column in words.dropFirst() {
                    // Numbered ones are those of the key and the others; of keys the text speaks.
                    let name = column.replacing(/^([kvxsab])\d+$/) { "\($0.1)0" }
                    let isNamed = row.rest.contains("`\(name)`") || name == "k0" && row.rest.contains("the key")
                    #expect(isNamed, "\(table) has \(column), of which the page says nothing")
                }
            }
        }
    }

    /// Runs a body with two devices that have saved, with a large value, written a baseline, removed everything and set aside what had not gone out.
    private static func withUsedDevices(_ body: ([ToolDevice]) async throws -> Void) async throws {
        try await withDevices(2) { devices in
            let file = devices[0].home.appending("large.csv")
            try "title,body\nLarge,\(String(repeating: "large ", count: 400_000))\n".write(toFile: file.string, atomically: true, encoding: .utf8)
            #expect(try await devices[0].run("notes", "import", file.string).status == 0)
            try await devices[1].takeIn()
            #expect(try await devices[1].run("notes", "compact").output == "Wrote baseline 1.\n")
            let before = try FileManager.default.subpathsOfDirectory(atPath: devices[0].container.string)
            #expect(before.contains { $0.hasSuffix(".ubbaseline") } && before.contains { $0.contains("/values/") })
            // All of the content is put back beside what the removal leaves, as a late synchroniser would.
            let copy = FilePath(devices[0].container.string + "-copy")
            try FileManager.default.copyItem(atPath: devices[0].container.string, toPath: copy.string)
            try await devices[1].apart {
                let added = try await devices[1].run("notes", "add", "unsent")
                #expect(added.status == 0)
            }
            #expect(try await devices[0].run("notes", "clear", "--yes").status == 0)
            #expect(try await devices[1].list().isEmpty)
            for path in before {
                let (from, to) = (copy.appending(path), devices[0].container.appending(path))
                if !FileManager.default.fileExists(atPath: to.string) { try FileManager.default.copyItem(atPath: from.string, toPath: to.string) }
            }
            try FileManager.default.removeItem(atPath: copy.string)
            try await body(devices)
        }
    }
}
