import BrowserDriving
import Foundation
import Glibc
import SystemPackage
import Testing
import ToolProcesses
import Waiting

extension PageTests {
    /// A container that the transfer agent carries.
    @Suite struct Cloud {
        @Test(
            "V-05: A document is evicted from the page after a question, and fetched; the page says when the agent has stopped, and when it is back")
        func agent() async throws {
            let page = try #require(BrowserTrait.page)
            try await page.reset()
            let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-test-\(UUID().uuidString)")
            let (cloud, root) = (directory.appending("cloud"), directory.appending("root"))
            for made in [cloud, root] { try FileManager.default.createDirectory(atPath: made.string, withIntermediateDirectories: true) }
            defer { try? FileManager.default.removeItem(atPath: directory.string) }
            let device = ToolDevice(home: directory.appending("home"), root: root)
            for words in [
                ["setup", "cloud", cloud.string, "--account", "alice", "--containers", root.string, "--name", "mac", "--no-start", "--yes"],
                ["container", "create", "org.example.notes"],
            ] {
                let outcome = try await Tool.run("ubcontrol", words + ["--home", device.home.string])
                try #require(outcome.status == 0, "\(words): \(outcome)")
            }
            try device.write(String(repeating: "text", count: 1000), to: "Letter.txt")
            try await PaneServer.with(device, ["--allow-actions"]) { server in
                try await page.open(server)
                try await page.shows("agent", in: "#sentences")
                let isBad = "return [...document.querySelectorAll('#sentences [data-tone]')].some((item) => item.dataset.tone === 'bad')"
                try await page.waits(until: "the transport does not answer", isBad)
                let agent = try await RunningTool("ubtransfer", ["--home", device.home.string])
                do {
                    try await page.waits(until: "the agent carries the container", "return !(() => { \(isBad) })()", limit: .seconds(60))
                    try await page.choose("items")
                    let row = "#pane tbody tr[data-id$='Letter.txt']"
                    try await page.shows("here, and the cloud", in: row, limit: .seconds(60))
                    try await page.click("\(row) [data-action=evict]")
                    try await page.waits(until: "the page asks", "return document.querySelector('#confirm').open")
                    #expect(device.documents.contains("Letter.txt"))
                    try await page.click("#confirm-yes")
                    try await page.shows("notDownloaded", in: row, limit: .seconds(60))
                    #expect(!device.documents.contains("Letter.txt"))
                    try await page.click("#confirm-no")
                    try await page.click("\(row) [data-action=fetch]")
                    try await page.click("#confirm-yes")
                    try await page.shows("here, and the cloud", in: row, limit: .seconds(60))
                    #expect(device.documents.contains("Letter.txt"))
                    try await page.click("#confirm-no")
                } catch {
                    _ = try? await agent.stop()
                    throw error
                }
                #expect(try await agent.stop().status == 0)
                // The agent is asked with the next look.
                try device.write("more", to: "Other.txt")
                try await page.waits(until: "the agent has stopped", isBad, limit: .seconds(60))
                #expect(try await page.messages().isEmpty)
            }
            try await page.open("about:blank")
        }
    }
}

extension ToolDevice {
    /// The names of the documents that are here.
    fileprivate var documents: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: container.appending("Documents").string)) ?? []).filter { !$0.hasPrefix(".") }
    }
}
