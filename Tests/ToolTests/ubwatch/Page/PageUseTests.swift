import BrowserDriving
import Foundation
import Glibc
import SystemPackage
import Testing
import ToolProcesses
import Waiting

extension PageTests {
    /// What a reader does with the page.
    @Suite struct Use {
        /// Makes as many documents; links are made much faster than files.
        private static func makeDocuments(_ count: Int, _ device: ToolDevice) throws {
            try device.write("text", to: "0/00000.txt")
            let first = device.container.appending("Documents/0/00000.txt").string
            for number in 1..<count {
                let folder = device.container.appending("Documents/\(number / 1000)")
                if number % 1000 == 0 { try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: true) }
                let name = String(repeating: "0", count: 5 - "\(number)".count) + "\(number).txt"
                try #require(link(first, folder.appending(name).string) == 0)
            }
        }

        @Test("V-06: Ten thousand items are sorted, filtered and scrolled, and at most two hundred rows are in the document")
        func manyItems() async throws {
            try await withPane(
                1,
                prepare: { devices in
                    _ = try await devices[0].run("notes", "add", "Milk")
                    try Self.makeDocuments(10_000, devices[0])
                }
            ) { page, server, _ in
                try await page.open(server)
                try await page.choose("items")
                try await page.waits(
                    until: "all items are there",
                    "return Number(/of ([0-9,]+)/.exec(document.querySelector('#count').textContent)?.[1].replace(/,/g, '')) >= 10_000",
                    limit: .seconds(90))
                func rows() async throws -> [String] {
                    try await page.evaluate(
                        """
                        const rows = [...document.querySelectorAll("#pane tbody tr[data-id]")].filter((row) => {
                            const { top, bottom } = row.getBoundingClientRect();
                            const pane = document.querySelector("#pane").getBoundingClientRect();
                            return bottom > pane.top && top < pane.bottom;
                        });
                        return rows.map((row) => row.textContent);
                        """)
                }
                #expect(try await page.count("#pane tr") <= 200)
                #expect(
                    try await page.evaluate("return Number(document.querySelector('#pane table').getAttribute('aria-rowcount')) > 10_000") as Bool)

                try await page.find("#filter").type("4217.TXT")
                try await page.waits(until: "one row is left", "return /^1 of /.test(document.querySelector('#count').textContent)")
                let found = try await rows()
                #expect(found.count == 1 && found[0].contains("4/04217.txt"), "\(found)")
                try await page.find("#filter").type(String(repeating: "\u{E003}", count: 8))
                try await page.waits(until: "all rows are back", "return !/^1 of /.test(document.querySelector('#count').textContent)")

                let header = "#pane thead th:nth-child(4) button, #pane thead th:nth-child(4)"
                try await page.click(header)
                try await page.waits(until: "the order ascends", "return !!document.querySelector('#pane thead th[aria-sort=ascending]')")
                try await page.click(header)
                try await page.waits(until: "the order descends", "return !!document.querySelector('#pane thead th[aria-sort=descending]')")
                #expect(try await rows().prefix(3).contains { $0.contains("9/09999.txt") })
                // Half the way down.
                try await page.run(
                    """
                    const isLong = (element) => element.scrollHeight > element.clientHeight + 10_000;
                    const scroller = [...document.querySelectorAll("#pane, #pane *")].find(isLong) ?? document.scrollingElement;
                    scroller.scrollTop = scroller.scrollHeight / 2;
                    """)
                try await until("rows of the middle are in sight", seen: { "\(try await rows())" }) {
                    try await rows().contains { $0.contains("5/0") || $0.contains("4/0") }
                }
                #expect(try await page.count("#pane tr") <= 200)
            }
        }

        @Test("Without --allow-actions the page offers none, and the server refuses them")
        func withoutActions() async throws {
            try await withPane { page, server, devices in
                try await page.open(server)
                try await page.choose("stores")
                #expect(try await page.count("[data-action]") == 0)
                let body = #"{"action":"pause","container":"org.example.notes","target":"x"}"#
                let fields = ["Cookie": try await server.cookie(), "X-Ubiquity": "1", "Content-Type": "application/json"]
                let answer = try await server.ask("POST /actions", fields, body: body)
                #expect(answer.status == 403, "\(answer)")
                #expect(try await devices[0].isPaused() == false)
            }
        }

        @Test("With --allow-actions a store is paused after a question, and not without an answer")
        func pause() async throws {
            try await withPane(1, ["--allow-actions"]) { page, server, devices in
                try await page.open(server)
                try await page.choose("stores")
                try await page.click("#pane tbody [data-action=pause]")
                try await page.waits(until: "the page asks", "return document.querySelector('#confirm').open")
                #expect(try await page.find("#confirm").text.contains("Notes"))
                try await page.click("#confirm-no")
                try await page.waits(until: "the question is closed", "return !document.querySelector('#confirm').open")
                #expect(try await devices[0].isPaused() == false)
                try await page.click("#pane tbody [data-action=pause]")
                try await page.click("#confirm-yes")
                try await page.shows("Paused", in: "#confirm")
                #expect(try await devices[0].isPaused())
                // The row follows by itself.
                try await page.click("#confirm-no")
                try await page.click("#pane tbody [data-action=resume]")
                try await page.click("#confirm-yes")
                try await page.shows("Resumed", in: "#confirm")
                #expect(try await devices[0].isPaused() == false)
            }
        }

        @Test("V-07: The Tab key reaches the skip link, the tabs, the filter and the rows; Enter opens the details, and Escape closes them")
        func keyboard() async throws {
            try await withPane(
                2,
                prepare: { devices in
                    for device in devices { _ = try await device.run("notes", "add", "Milk") }
                    try devices[0].write("text", to: "Letter.txt")
                }
            ) { page, server, _ in
                try await page.open(server, PaneServer.notes + "#peers")
                try await page.find("#pane tbody tr[data-id]")
                let place = """
                    const element = document.activeElement;
                    const row = "#pane tbody tr[data-id]";
                    const names = { skip: "a[href='#main']", tab: "[role=tab]", filter: "#filter", row: `${row}, ${row} *` };
                    return Object.keys(names).find((name) => element.matches(names[name])) ?? "";
                    """
                var reached: [String] = []
                for _ in 0..<60 where reached.last != "row" {
                    try await page.press(.tab)
                    reached.append(try await page.evaluate(place))
                }
                #expect(reached.first == "skip" && Set(reached).isSuperset(of: ["tab", "filter", "row"]), "\(reached)")
                // The focus is seen.
                #expect(
                    try await page.evaluate(
                        """
                        const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(document.activeElement);
                        return (outlineStyle !== "none" && outlineWidth !== "0px") || boxShadow !== "none";
                        """) as Bool)
                try await page.press(.enter)
                try await page.waits(until: "the details are open", "return document.querySelector('#detail').open")
                try await page.shows("log", in: "#detail")
                try await page.press(.escape)
                try await page.waits(until: "the details are closed", "return !document.querySelector('#detail').open")
                #expect(try await page.evaluate(place) as String == "row")
            }
        }

        @Test("V-04: A name from another device is text: it runs nothing, makes no element, and turns nothing around")
        func hostileNames() async throws {
            let names = [
                #"<img src=x onerror="document.title='owned'">.txt"#, #""><script>document.title='owned'<"# + "/script>.txt",
                "'><svg onload=document.title='owned'>.txt", "{{title}}{{{account}}}.txt", "safe\u{202E}txt.exe", "line\nbreak\u{7}.txt",
            ]
            try await withPane(
                2,
                prepare: { devices in
                    try devices[1].take(name: "<b id=owned onclick=document.title=1>phone</b>")
                    for device in devices { _ = try await device.run("notes", "add", #"<img src=x onerror="document.title='owned'">"#) }
                    for name in names { try devices[0].write("text", to: name) }
                }
            ) { page, server, _ in
                try await page.open(server)
                let shown = [
                    ("items", [names[0], names[1], names[2], names[3]]), ("peers", ["<b id=owned"]), ("storage", ["documents"]), ("changes", []),
                ]
                for (pane, texts) in shown {
                    try await page.choose(pane)
                    for text in texts { try await page.shows(text, in: "#pane") }
                    let bad: Int = try await page.evaluate(
                        "return document.querySelectorAll('#owned, #pane img, #pane script, svg[onload], [onerror]').length")
                    #expect(bad == 0, "\(pane)")
                    // Controls are seen, and do nothing.
                    let controls: Bool = try await page.evaluate("return /[\\u202a-\\u202e\\u2066-\\u2069\\u0007]/.test(document.body.textContent)")
                    #expect(!controls, "\(pane)")
                }
                try await page.choose("items")
                try await page.shows("202e", in: "#pane")
                try await page.click("#pane tbody tr[data-id]:last-of-type .open, #pane tbody tr[data-id] .open")
                try await page.waits(until: "the details are open", "return document.querySelector('#detail').open")
                try await page.open(server.address + "/")
                try await page.isReady()
                try await page.shows("org.example.notes", in: ".card[data-container]")
                #expect(try await page.count("#owned, main img, [onerror]") == 0)
                #expect(!(try await page.title.contains("owned")))
                #expect(try await page.messages().isEmpty)
            }
        }
    }
}
