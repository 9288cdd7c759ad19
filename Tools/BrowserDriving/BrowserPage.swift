package import Foundation

/// A page in a browser.
package struct BrowserPage: Sendable {
    private let connection: DriverConnection
    private let session: String

    private struct Session: Decodable { var sessionId: String }

    init(_ connection: DriverConnection, profile: String) async throws {
        let arguments: JSON = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
            "--user-data-dir=\(profile)",
        ]
        let capabilities: JSON = [
            "browserName": "chrome", "goog:loggingPrefs": ["browser": "ALL"], "goog:chromeOptions": ["args": arguments],
        ]
        self.connection = connection
        let made: Session = try await connection.send("POST /session", ["capabilities": ["alwaysMatch": capabilities]])
        session = made.sessionId
    }

    /// Ends the browser, which then writes no more files.
    func close() async throws { let _: DriverConnection.Ignored = try await connection.send("DELETE /session/\(session)") }

    private func get(_ path: String) async throws -> String { try await connection.send("GET /session/\(session)\(path)") }

    func post<Value: Decodable & Sendable>(_ path: String, _ body: JSON = [:]) async throws -> Value {
        try await connection.send("POST /session/\(session)\(path)", body)
    }

    func perform(_ path: String, _ body: JSON = [:]) async throws { let _: DriverConnection.Ignored = try await post(path, body) }

    // MARK: The document

    /// Opens an address, and returns when the document and what it names are loaded.
    package func open(_ url: String) async throws { try await perform("/url", ["url": .string(url)]) }

    /// Forgets cookies, messages, preferences and size, and shows nothing.
    package func reset() async throws {
        try await open("about:blank")
        try await devTools("Network.clearBrowserCookies")
        try await emulate()
        try await resize(to: .usual)
        _ = try await messages()
    }

    package var title: String { get async throws { try await get("/title") } }
    package var url: String { get async throws { try await get("/url") } }

    /// Runs a script as the body of a function, and waits for the promise that it returns, if any.
    ///
    /// - Parameters:
    ///   - script: JavaScript that returns a value.
    ///   - arguments: the values of `arguments`.
    /// - Returns: the value.
    /// - Throws: ``BrowserError`` with what the script throws; `DecodingError` if the value is of another type.
    package func evaluate<Value: Decodable & Sendable>(_ script: String, _ arguments: JSON...) async throws -> Value {
        try await evaluate(script, arguments)
    }

    func evaluate<Value: Decodable & Sendable>(_ script: String, _ arguments: [JSON]) async throws -> Value {
        try await post("/execute/sync", ["script": .string(script), "args": .array(arguments)])
    }

    /// Runs a script for its effect.
    package func run(_ script: String, _ arguments: JSON...) async throws { let _: DriverConnection.Ignored = try await evaluate(script, arguments) }

    /// The messages of the console since the last call, such as errors and what a security policy refuses.
    package func messages() async throws -> [String] {
        struct Entry: Decodable { var level: String, message: String }
        let entries: [Entry] = try await post("/se/log", ["type": "browser"])
        return entries.map { "\($0.level) \($0.message)" }
    }

    /// An image of the visible part of the page, as PNG.
    package func screenshot() async throws -> Data { Data(base64Encoded: try await get("/screenshot")) ?? Data() }

    // MARK: The window

    /// Tells the page what the user prefers: `prefers-color-scheme` and `prefers-reduced-motion`.
    package func emulate(isDark: Bool = false, isStill: Bool = false) async throws {
        let features: JSON = [
            ["name": "prefers-color-scheme", "value": isDark ? "dark" : "light"],
            ["name": "prefers-reduced-motion", "value": isStill ? "reduce" : "no-preference"],
        ]
        try await devTools("Emulation.setEmulatedMedia", ["features": features])
    }

    /// Gives the page a size, at one pixel for each CSS pixel.
    package func resize(to size: Browser.Size) async throws {
        let (width, height) = (JSON.number(Double(size.width)), JSON.number(Double(size.height)))
        try await devTools("Emulation.setDeviceMetricsOverride", ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": false])
    }

    /// Sends a command of the DevTools protocol.
    package func devTools(_ command: String, _ parameters: JSON = [:]) async throws {
        try await perform("/goog/cdp/execute", ["cmd": .string(command), "params": parameters])
    }
}
