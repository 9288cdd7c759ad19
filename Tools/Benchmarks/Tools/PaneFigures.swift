import BrowserDriving
import Foundation
import SystemPackage
import ToolProcesses

/// Measures `ubwatch serve` with a page of Chromium, on a container of 20 peers, 5,000 logs and 10,000 items.
///
/// The time of an update is that from the writing of a document to its row on the page, after some quiet seconds.
struct PaneFigures {
    static let metrics = ["pane_first_ms", "pane_update_ms", "pane_memory_mb", "pane_idle_cpu_percent"]

    private struct Address: Decodable {
        var url: String
        var port: Int
    }

    private static let rounds = 7
    private static let items = 10_000
    private static let idleSeconds = 20
    private static let restSeconds = 6

    static func run(_ report: Report) async throws {
        let scene = try ContainerScene(peers: 20, logsPerPeer: 250, items: items)
        defer { scene.remove() }
        let root = scene.container.removingLastComponent().removingLastComponent()
        _ = try await Tool.run("ubcontrol", ["sign-in", "bench", "--containers", root.string, "--home", scene.home.string])
        let server = try await RunningTool("ubwatch", ["serve", "--port", "0", "--json", "--home", scene.home.string], limit: nil)
        do {
            guard let line = await server.lines.first(where: { _ in true }) else {
                throw Failure(description: "ubwatch serve has printed no address")
            }
            let address = try JSONDecoder().decode(Address.self, from: Data(line.utf8))
            try await Browser.with { page in try await measure(report, scene, address, server, page) }
        } catch {
            _ = try? await server.stop()
            throw error
        }
        _ = try await server.stop()
    }

    private static func measure(
        _ report: Report, _ scene: ContainerScene, _ address: Address, _ server: RunningTool, _ page: BrowserPage
    ) async throws {
        let path = "\(address.url.prefix { $0 != "?" })container/\(scene.container.lastComponent?.string ?? "")"
        try await page.open(address.url)
        var (first, update): ([Double], [Double]) = ([], [])
        for round in 0...rounds {
            try await page.open("about:blank")
            try await page.open(path)
            try await page.run(
                """
                return new Promise(done => {
                    const look = () => document.documentElement.dataset.ready ? done() : setTimeout(look, 5);
                    look();
                })
                """)
            let time: Double = try await page.evaluate("return performance.getEntriesByName('pane-ready')[0].startTime")
            // The first round fills caches.
            if round > 0 { first.append(time) }
        }
        for round in 1...rounds {
            // Changes that go on are read less often, so that the server takes a fifth of a core at most; see `ContainerWatch`.
            try await Task.sleep(for: .seconds(restSeconds))
            let count = "of \((items + scene.directories + round).formatted(.number.locale(.init(identifier: "en"))))"
            try await page.run(
                """
                const isThere = () => document.querySelector("#count").textContent.endsWith(arguments[0]);
                window.seen = new Promise(done => {
                    const look = () => isThere() ? done(Date.now()) : requestAnimationFrame(look);
                    look();
                })
                """, .string(count))
            let start = Date()
            try Data("New\n".utf8).write(to: URL(filePath: scene.container.appending("Documents/0/new \(round).txt").string))
            let end: Double = try await page.evaluate("return window.seen")
            update.append(end - start.timeIntervalSince1970 * 1000)
        }
        let facts = ProcessFacts(server.identifier)
        let before = facts.processorTime
        let begin = ContinuousClock.now
        try await Task.sleep(for: .seconds(idleSeconds))
        let seconds = (ContinuousClock.now - begin) / .seconds(1)
        let idle = (facts.processorTime - before) / seconds * 100
        report.line("pane_first_ms", unit: "ms", ours: median(first))
        report.line("pane_update_ms", unit: "ms", ours: median(update))
        report.line("pane_memory_mb", unit: "MB", ours: Double(facts.residentMemory) / 1e6)
        report.line("pane_idle_cpu_percent", unit: "%", ours: idle)
    }

    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }
}
