import BrowserDriving
import Foundation
import SystemPackage
import Testing
import ToolProcesses

extension PageTests {
    /// The page for everybody: what axe-core (https://github.com/dequelabs/axe-core) can check.
    @Suite struct Access {
        private struct MissingScript: Error, CustomStringConvertible {
            var description = "axe-core is missing in the checkout; run Tools/setup --tests"
        }

        /// The text of axe-core, which `Tools/setup` fetches.
        private static func axe() throws -> String {
            let tools = packageDirectory.appending(".build/tools")
            let names = (try? FileManager.default.contentsOfDirectory(atPath: tools.string)) ?? []
            guard let name = names.filter({ $0.hasPrefix("axe-") }).max() else { throw MissingScript() }
            return try String(contentsOfFile: tools.appending(name).appending("axe.min.js").string, encoding: .utf8)
        }

        /// The violations on the page as it is now, one line each.
        private static func violations(_ page: BrowserPage) async throws -> [String] {
            try await page.evaluate(
                try axe() + """
                    ;
                    return axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations.flatMap((violation) =>
                        violation.nodes.map((node) => `${violation.id}: ${node.target.join(" ")}: ${node.failureSummary}`)));
                    """)
        }

        @Test(
            "V-07: axe-core finds no violation on either page, in light and dark colours, and 360 pixels wide, where nothing is scrolled sideways",
            arguments: [("light", false, 1280), ("dark", true, 1280), ("narrow", false, 360)])
        func axe(name: String, isDark: Bool, width: Int) async throws {
            try await withPane(
                2,
                prepare: { devices in
                    for device in devices { _ = try await device.run("notes", "add", "Milk") }
                    try devices[0].write("one", to: "Letter.txt")
                    try devices[0].write("two", to: "Letter.sync-conflict-20260102-030405-ABCDEFG.txt")
                    try devices[0].write("three", to: String(repeating: "A very long name ", count: 12) + ".txt")
                    #expect(try await devices[0].run("ubcontrol", "container", "create", "org.example.texts").status == 0)
                }
            ) { page, server, _ in
                try await page.emulate(isDark: isDark, isStill: true)
                try await page.resize(to: .init(width: width, height: 900))
                for path in ["/", PaneServer.notes] {
                    try await page.open(server, path)
                    if path != "/" {
                        for pane in ["peers", "troubles", "items"] {
                            try await page.choose(pane)
                            try await page.find("#pane tbody tr[data-id]")
                            #expect(try await Self.violations(page) == [], "\(name) \(path) \(pane)")
                        }
                    } else {
                        try await page.find(".card[data-container]")
                        #expect(try await Self.violations(page) == [], "\(name) \(path)")
                    }
                    let (shown, scrolled): (Int, Int) = try await (
                        page.evaluate("return document.documentElement.clientWidth"), page.evaluate("return document.documentElement.scrollWidth")
                    )
                    #expect(shown == width && scrolled <= shown, "\(path): \(scrolled) of \(shown)")
                }
            }
        }
    }
}
