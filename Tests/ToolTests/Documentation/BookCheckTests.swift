import Foundation
import SystemPackage
import Testing

/// Whether a reader of the book reaches all of its pages.
struct BookCheckTests {
    /// The folders of pages, and the page at the top of each.
    private static func catalogs() throws -> [(folder: String, top: String)] {
        let names = try FileManager.default.contentsOfDirectory(atPath: packageDirectory.appending("Sources").string).sorted()
        return names.compactMap { name in
            let folder = "Sources/\(name)/\(name).docc"
            guard FileManager.default.fileExists(atPath: packageDirectory.appending(folder).string) else { return nil }
            return (folder, "\(folder)/\(name).md")
        }
    }

    @Test("every page stands in the topics of its library's first page")
    func topics() throws {
        let catalogs = try Self.catalogs()
        #expect(catalogs.count > 8)
        for (folder, top) in catalogs {
            let topics = try #require(packageText(top).components(separatedBy: "\n## Topics\n").dropFirst().first, "\(top) has no topics")
            let pages = try FileManager.default.contentsOfDirectory(atPath: packageDirectory.appending(folder).string)
            for page in pages where page.hasSuffix(".md") && !top.hasSuffix("/\(page)") {
                #expect(topics.contains("<doc:\(page.dropLast(3))>"), "\(folder)/\(page)")
            }
        }
    }

    @Test("every library stands on the front page, and every row of its first table leads to a page")
    func front() throws {
        let front = try packageText("Sources/Ubiquity/Ubiquity.docc/Ubiquity.md")
        for (_, top) in try Self.catalogs() where !["Ubiquity", "StoreInspection"].contains(FilePath(top).stem) {
            #expect(front.contains("<doc:/\(FilePath(top).stem!)>"), "\(top)")
        }
        let table = try #require(front.firstMatch(of: /\| you \|.*\n\|[-|]+\n((?:\|.*\n)+)/)).1.split(separator: "\n")
        #expect(table.count > 8)
        for row in table { #expect(row.contains("<doc:"), "\(row)") }
    }

    @Test("the README lists pages that are there, and each first step of the front page")
    func readme() throws {
        let readme = try packageText("README.md")
        for page in ["Tutorial", "Installing", "Troubleshooting", "Shipping", "ConnectingDevices", "Changes"] {
            #expect(readme.contains("Ubiquity.docc/\(page).md"), "\(page)")
        }
    }

    @Test("no page leads to a file that is not there")
    func links() throws {
        let sources = try FileManager.default.subpathsOfDirectory(atPath: packageDirectory.appending("Sources").string)
        for page in ["README.md"] + sources.filter({ $0.hasSuffix(".md") }).map({ "Sources/\($0)" }) {
            let folder = packageDirectory.appending(page).removingLastComponent()
            let links = try packageText(page).matches(of: /\]\(((?!https?:|doc:|#|mailto:)[^)\s]+)\)/)
            for link in links where link.1.contains("/") || link.1.contains(".") {
                let path = String(link.1.prefix { $0 != "#" })
                // DocC finds pictures by their names.
                let isThere = ["", "Resources"].contains { FileManager.default.fileExists(atPath: folder.appending($0).appending(path).string) }
                #expect(isThere, "\(page): \(path)")
            }
        }
    }
}
