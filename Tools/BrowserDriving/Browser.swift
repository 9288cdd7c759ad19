internal import Foundation
internal import Glibc
internal import SystemPackage
internal import ToolProcesses
internal import Waiting

/// Chromium without a window, driven through chromedriver, for tests of pages.
///
/// The protocol is WebDriver (https://www.w3.org/TR/webdriver2/), with chromedriver's commands for the DevTools.
package enum Browser {
    /// A size in CSS pixels.
    package struct Size: Sendable, Hashable {
        package var width: Int
        package var height: Int

        /// The size of a page unless a test needs another one.
        package static let usual = Size(width: 1280, height: 900)

        package init(width: Int, height: Int) { (self.width, self.height) = (width, height) }
    }

    /// chromedriver is not installed.
    package struct MissingProgram: Error, CustomStringConvertible {
        package var description: String { "chromedriver is missing; install the package chromium-driver (Tools/setup --tests installs it)" }
    }

    /// The longest time in seconds by the wall clock that the processes run, even if nobody ends them: longer than any run of all tests, since a
    /// suite's tests can wait long for others.
    private static let longestRun = 5400
    private static let driver = "/usr/bin/chromedriver"

    /// Runs a body with a page of a new browser, which has no cookies and no history.
    ///
    /// Both processes have ended, and the files of the browser are removed, when this returns or throws.
    ///
    /// - Parameters:
    ///   - size: the size of the page.
    ///   - body: uses the page.
    /// - Returns: the result of the body.
    /// - Throws: the errors of the body; ``MissingProgram``; ``BrowserError``; `Overdue`.
    package static func with<Result>(size: Size = .usual, _ body: (BrowserPage) async throws -> Result) async throws -> Result {
        guard FileManager.default.isExecutableFile(atPath: driver) else { throw MissingProgram() }
        let profile = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-browser-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(atPath: profile.string) }
        // timeout(1) passes the signal that it receives on to Chromium's processes, and ends all of them even if this process is killed.
        let process = try await RunningTool("/usr/bin/timeout", ["--kill-after=10", "\(longestRun)", driver, "--port=0"], limit: nil)
        var page: BrowserPage?
        do {
            let opened = try await BrowserPage(DriverConnection(port: try await port(of: process)), profile: profile.string)
            page = opened
            try await opened.resize(to: size)
            let result = try await body(opened)
            try await end(process, opened)
            return result
        } catch {
            try? await end(process, page)
            throw error
        }
    }

    /// Reads the port from the lines that chromedriver prints first.
    private static func port(of process: RunningTool) async throws -> UInt16 {
        let lines = process.lines.limited("chromedriver's port").makeAsyncIterator()
        while let line = try await lines.next() {
            guard let range = line.range(of: "started successfully on port ") else { continue }
            if let port = UInt16(line[range.upperBound...].prefix(while: \.isNumber)) { return port }
        }
        throw BrowserError(command: "start", code: "chromedriver has ended", message: try await process.end().errors)
    }

    /// Ends the processes, also in a task that is cancelled.
    private static func end(_ process: RunningTool, _ page: BrowserPage?) async throws {
        try await Task {
            try? await page?.close()
            process.signal(SIGTERM)
            _ = try await process.end()
        }.value
    }
}
