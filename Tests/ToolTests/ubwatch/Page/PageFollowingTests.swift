import BrowserDriving
import Foundation
import Glibc
import SystemPackage
import Testing
import ToolProcesses
import Waiting

extension PageTests {
    /// What happens while the page is open.
    @Suite struct Following {
        @Test("V-01: A save on another device appears on the page within a second of its log's arrival, without a reload")
        func save() async throws {
            try await withPane(2) { page, server, devices in
                try await page.open(server)
                try await page.choose("changes")
                // What comes before the container is watched is no change.
                try await page.waits(until: "the container is watched", "return !!document.querySelector('#state').dataset.state")
                let before = Set(try devices[0].logs())
                // The moment at which a row of the log is in the document.
                try await page.run(
                    """
                    window.arrived = 0;
                    const rows = () => [...document.querySelectorAll("#pane tbody tr[data-id]")];
                    const known = new Set(rows().map((row) => row.dataset.id));
                    const isNew = (row) => !known.has(row.dataset.id) && /log 1(?![0-9])/.test(row.textContent);
                    const look = () => { if (!window.arrived && rows().some(isNew)) window.arrived = Date.now(); };
                    new MutationObserver(look).observe(document.querySelector("#pane"), { subtree: true, childList: true, characterData: true });
                    """)
                _ = try await devices[1].list()
                try await devices[1].run("notes", "add", "Bread")
                let log = try #require(try devices[0].logs().first { !before.contains($0) })
                try await page.waits(until: "the page shows the log", "return window.arrived > 0", limit: .seconds(30))
                let attributes = try FileManager.default.attributesOfItem(atPath: log.string)
                let written = try #require(attributes[.modificationDate] as? Date).timeIntervalSince1970
                let arrived: Double = try await page.evaluate("return window.arrived / 1000")
                // While others compete for the cores, nothing is known of the time.
                if QuietTime.machineLoad() < 1 { #expect(arrived - written < 1, "\(arrived - written) s") }
                #expect(try await page.messages().isEmpty)
            }
        }

        @Test("V-02: The meter is red, and says so in words, when the containers take more than the mark of config.json")
        func mark() async throws {
            try await withPane { page, server, devices in
                let device = devices[0]
                try await page.open(server)
                #expect(try await page.find("#meter").attribute("data-over") == "false")
                let isRed = """
                    const red = (colour) => {
                        const [r, g, b] = (colour.match(/\\d+(\\.\\d+)?/g) ?? []).map(Number);
                        return r > g + 60 && r > b + 60;
                    };
                    const isText = (node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim() !== "";
                    const texts = [...document.querySelectorAll("#meter *")].filter((element) => [...element.childNodes].some(isText));
                    return texts.some((element) => red(getComputedStyle(element).color));
                    """
                #expect(try await page.evaluate(isRed) == false)
                try Data(#"{"format":1,"storageMark":100}"#.utf8).write(to: URL(filePath: device.home.appending("config.json").string))
                // A change of the container, behind which it is read again.
                try device.write(String(repeating: "text", count: 100), to: "Letter.txt")
                try await page.waits(until: "the meter is over the mark", "return document.querySelector('#meter').dataset.over === 'true'")
                #expect(try await page.evaluate(isRed) == true)
                try await page.shows("over the mark", in: "#meter")
                try await page.shows("100 bytes", in: "#meter")
            }
        }

        @Test("V-05: A page whose connection breaks says so, returns by itself, and goes on where it was", .enabled(if: geteuid() == 0))
        func broken() async throws {
            try await withPane { page, server, devices in
                try await page.open(server)
                try await page.choose("changes")
                // What comes before the container is watched is no change.
                try await page.waits(until: "the container is watched", "return !!document.querySelector('#state').dataset.state")
                try await page.run(
                    """
                    window.isSame = true;
                    const banner = document.querySelector("#connection");
                    new MutationObserver(() => { if (!banner.hidden) window.said = banner.textContent; }).observe(banner, { attributes: true });
                    """)
                // The kernel ends the connections, as when a machine sleeps; see ss(8).
                _ = try await Tool.run("/usr/bin/ss", ["--kill", "sport", "=", ":\(server.port)"])
                try await page.waits(until: "the page says it", "return (window.said ?? '').includes('Not connected')", limit: .seconds(60))
                try await page.waits(
                    until: "the page has returned", "return window.isSame && document.querySelector('#connection').hidden", limit: .seconds(60))
                try await devices[0].run("notes", "add", "Bread")
                try await page.shows("log 2", in: "#pane")
            }
        }

        @Test("V-05: A page whose server has ended says so, keeps what it knew, and says how to open the page of the next one")
        func ended() async throws {
            try await withPane { page, _, devices in
                // A server of its own, which ends before the test.
                var port: UInt16 = 0
                try await PaneServer.with(devices[0]) { first in
                    port = first.port
                    try await page.open(first)
                    try await page.waits(until: "the page is connected", "return document.querySelector('#connection').hidden")
                }
                try await page.waits(until: "the banner is shown", "return !document.querySelector('#connection').hidden")
                try await page.shows("connected", in: "#connection")
                // What was known stays.
                #expect(try await page.find("#state").text.isEmpty == false)
                try await PaneServer.with(devices[0], port: port) { second in
                    try await page.shows("ubwatch serve --open", in: "#connection", limit: .seconds(60))
                    try await page.open(second)
                    try await page.waits(until: "the page is connected", "return document.querySelector('#connection').hidden")
                }
            }
        }

        @Test(
            "V-05: A wipe of the container is shown as a loss, and so is its return; the nav follows an account's sign-out and another one's sign-in")
        func account() async throws {
            try await withPane { page, server, devices in
                let device = devices[0]
                try await page.open(server)
                try await page.waits(until: "the state is well", "return document.querySelector('#state').dataset.tone !== 'bad'")
                try await device.apart {
                    try await page.waits(until: "the state is bad", "return document.querySelector('#state').dataset.tone === 'bad'")
                    try await page.shows("not there", in: "main")
                }
                try await page.waits(until: "the state is well again", "return document.querySelector('#state').dataset.tone !== 'bad'")
                #expect(try await device.run("ubcontrol", "container", "wipe", "org.example.notes", "--yes").status == 0)
                try await page.waits(until: "the wipe is shown", "return document.querySelector('#state').dataset.tone === 'bad'")
                #expect(try await page.count("#reasons li") > 0)

                func containers() async throws -> [String] {
                    try await page.evaluate("return [...document.querySelectorAll('nav a[data-container]')].map((link) => link.textContent.trim())")
                }
                #expect(try await containers() == ["org.example.notes"])
                #expect(try await device.run("ubcontrol", "sign-out").status == 0)
                try await until("the nav is empty") { try await containers().isEmpty }
                #expect(try await device.run("ubcontrol", "sign-in", "bob", "--containers", device.root.string).status == 0)
                #expect(try await device.run("ubcontrol", "container", "create", "org.example.letters").status == 0)
                try await until("the nav has the other account's container") { try await containers() == ["org.example.letters"] }
                try await page.shows("bob", in: "#account")
            }
        }
    }
}
