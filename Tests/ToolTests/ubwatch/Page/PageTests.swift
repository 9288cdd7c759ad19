import BrowserDriving
import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// The page of `ubwatch serve` in Chromium, which all of its tests share.
@Suite(.serialized, .browser) struct PageTests {}

/// Starts a browser for a suite, and ends it behind the last test.
struct BrowserTrait: SuiteTrait, TestScoping {
    @TaskLocal static var page: BrowserPage?

    func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        try await Browser.with { page in
            try await Self.$page.withValue(page) { try await function() }
        }
    }
}

extension Trait where Self == BrowserTrait {
    static var browser: Self { BrowserTrait() }
}

/// Runs a body with devices, of which the first one is served, and with a page that shows nothing yet.
///
/// - Parameters:
///   - count: the number of devices.
///   - arguments: further arguments of `ubwatch serve`.
///   - prepare: makes containers before the server starts.
///   - body: uses the page.
/// - Throws: the errors of both.
func withPane(
    _ count: Int = 1, _ arguments: [String] = [], prepare: ([ToolDevice]) async throws -> Void = { _ = try await $0[0].run("notes", "add", "Milk") },
    _ body: (BrowserPage, PaneServer, [ToolDevice]) async throws -> Void
) async throws {
    let page = try #require(BrowserTrait.page)
    try await page.reset()
    try await withDevices(count) { devices in
        try await prepare(devices)
        try await PaneServer.with(devices[0], arguments) { server in try await body(page, server, devices) }
        // No event source is left that asks a port which another server may get.
        try await page.open("about:blank")
    }
}

extension ToolDevice {
    /// Writes a document into the container.
    func write(_ text: String, to name: String) throws {
        let file = container.appending("Documents").pushing(FilePath(name))
        try FileManager.default.createDirectory(atPath: file.removingLastComponent().string, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(filePath: file.string))
    }
}
