import BrowserDriving
import Foundation
import SystemPackage
import Testing
import ToolProcesses
import UbiquityContainers
import Waiting

@testable import ubwatch

extension PageTests {
    /// The page and the view of a terminal have one model.
    @Suite struct Equality {
        /// A table as words: the titles of the columns, and the cells by the rows' identifiers.
        private struct Words: Sendable, Decodable, Equatable {
            var columns: [String]
            var rows: [String: [String]]
        }

        /// The panes that are compared: the recent changes are those since each began to watch.
        private static let panes: [(ubwatch.Pane, String)] = [
            (.items, "items"), (.peers, "peers"), (.stores, "stores"), (.troubles, "troubles"), (.storage, "storage"),
        ]

        /// An age is what passes between two looks, and so is what is free; a bar of blocks is a drawing on the page.
        private static func shown(_ cell: String) -> String {
            let text = cell.drop { $0 == "█" || $0 == " " }
            return text.wholeMatch(of: /(now|ahead|[0-9]+ (s|min|h|d))( ago)?/) == nil ? String(text) : "an age"
        }

        /// The tables of the view of a terminal.
        private func view(_ device: ToolDevice) async throws -> [String: Words] {
            let options = WatchReader.Options(items: 1000)
            let facts = try await WatchReader(device.container, home: DeviceHome(device.home), options: options).facts()
            var view = ContainerView(path: device.container.string)
            view.take(facts)
            view.prepare(at: Date())
            var tables: [String: Words] = [:]
            for (pane, name) in Self.panes {
                let table = try #require(view.tables[pane])
                let rows = table.rows.filter { $0.id != "free" }.map { ($0.id, $0.cells.map { Self.shown($0.text) }) }
                tables[name] = Words(columns: table.columns.map(\.title), rows: Dictionary(rows) { $1 })
            }
            return tables
        }

        /// The tables of the page.
        private func tables(_ page: BrowserPage) async throws -> [String: Words] {
            let script = """
                const text = (cell) => (cell.querySelector("time") ?? cell.querySelector("code") ?? cell).textContent.trim();
                const heads = [...document.querySelectorAll("#pane thead th")].map((head) => head.textContent.trim());
                const columns = heads.filter((title) => title !== "Actions");
                const rows = [...document.querySelectorAll("#pane tbody tr[data-id]")]
                    .map((row) => [row.dataset.id, [...row.cells].slice(0, columns.length).map(text)]);
                return { columns, rows: Object.fromEntries(rows) };
                """
            var tables: [String: Words] = [:]
            for (_, name) in Self.panes {
                try await page.choose(name)
                var words: Words = try await page.evaluate(script)
                words.rows["free"] = nil
                words.rows = words.rows.mapValues { $0.map(Self.shown) }
                tables[name] = words
            }
            return tables
        }

        /// The tables that differ, in both forms.
        private func differences(_ page: [String: Words], _ view: [String: Words]) -> String {
            Self.panes.map(\.1).filter { page[$0] != view[$0] }.map { "\($0): \(String(describing: page[$0])), not \(String(describing: view[$0]))" }
                .joined(separator: "\n")
        }

        @Test("V-02: Each cell of the page has the words of the terminal's view: items, peers against peers, stores, conflicts, storage")
        func cells() async throws {
            try await withPane(
                2,
                prepare: { devices in
                    let (laptop, phone) = (devices[0], devices[1])
                    let id = try await laptop.run("notes", "add", "Milk").output.trimmingCharacters(in: .newlines)
                    _ = try await phone.list()
                    try await laptop.apart { try await laptop.run("notes", "edit", id, "--body", "mine") }
                    try await phone.run("notes", "edit", id, "--body", "theirs")
                    for device in devices + devices { _ = try await device.list() }
                    // The phone lacks a log.
                    try await laptop.run("notes", "add", "Bread")
                    try laptop.write("one", to: "Letter.txt")
                    try laptop.write("two", to: "Letter.sync-conflict-20260102-030405-ABCDEFG.txt")
                    try laptop.write("three", to: "Folder/Plan.txt")
                }
            ) { page, server, devices in
                try await page.open(server)
                var seen = ""
                try await until("the page's tables are equal to the view's", limit: .seconds(20), seen: { seen }) {
                    seen = differences(try await tables(page), try await view(devices[0]))
                    return seen.isEmpty
                }
                // There is something to compare.
                let found = try await view(devices[0]).mapValues { Array($0.rows.values) }
                #expect(found["peers"]?.count == 2 && found["peers"]?.contains { $0.contains { $0.contains("+1") } } == true, "\(found)")
                #expect(Set(found["troubles"]?.map { $0[0] } ?? []) == ["conflict", "copy"], "\(found)")
                #expect((found["items"]?.count ?? 0) >= 3 && found["stores"]?.count == 1 && (found["storage"]?.count ?? 0) >= 10, "\(found)")
                // The details of a conflict have both sides.
                try await page.choose("troubles")
                for (kind, sides) in [("conflict", ["body = mine", "body = theirs"]), ("copy", ["Letter.sync-conflict", "Letter.txt"])] {
                    try await page.click("#pane tbody tr[data-id^='\(kind) '] .open")
                    for words in sides + ["Lost:", "Shown instead:"] { try await page.shows(words, in: "#detail-lines") }
                    try await page.click("#detail-close")
                }
            }
        }
    }
}
