import ArgumentParser
import BrowserDriving
import Foundation
import SystemPackage
import ToolProcesses

/// Makes the images of the pane that the book shows.
@main
struct Screenshots: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "screenshots",
        abstract: "Make the images of the pane for the book.",
        discussion: """
            Three devices share three containers in a temporary directory, which is removed; Chromium shows what `ubwatch serve` serves while they \
            work. The images are pane-light.png, pane-dark.png, pane-overview.png (1280 by 900 pixels) and pane-narrow.png (390 by 844 pixels).
            """)

    @Argument(help: "The directory for the images.")
    var directory = FilePath(#filePath).removingLastComponent().removingLastComponent().removingLastComponent()
        .appending("Sources/Ubiquity/Ubiquity.docc/Resources").string

    @Option(help: "How many seconds the devices work, which the graph shows.")
    var seconds = 50

    func run() async throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let scene = try Scene()
        defer { scene.remove() }
        try await scene.prepare()
        try await scene.serve { address, url in
            try await scene.work(for: .seconds(seconds))
            try await Browser.with { page in
                try await page.open(url)
                try await take("pane-overview", of: address + "/", page)
                try await take("pane-light", of: address + "/container/org.example.notes#items", page)
                try await take("pane-dark", of: address + "/container/org.example.notes#peers", page, isDark: true)
                try await take("pane-narrow", of: address + "/container/org.example.notes", page, size: .init(width: 390, height: 844))
            }
        }
    }

    /// Writes an image of a page.
    private func take(_ name: String, of address: String, _ page: BrowserPage, isDark: Bool = false, size: Browser.Size = .usual) async throws {
        // Another fragment alone does not load the page again.
        try await page.open("about:blank")
        try await page.emulate(isDark: isDark, isStill: true)
        try await page.resize(to: size)
        try await page.open(address)
        try await page.waits(until: "the page has drawn the state", "return document.documentElement.dataset.ready === 'true'")
        try await page.waits(until: "the page has drawn a row", "return document.querySelectorAll('#pane tbody tr[data-id]').length > 0")
        try await page.run("return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(true))))")
        let file = FilePath(directory).appending("\(name).png")
        try await page.screenshot().write(to: URL(filePath: file.string))
        print(file)
    }
}
