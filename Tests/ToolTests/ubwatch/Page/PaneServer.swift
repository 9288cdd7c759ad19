import BrowserDriving
import Foundation
import SystemPackage
import Testing
import ToolProcesses
import Waiting

/// `ubwatch serve` of a device.
struct PaneServer: Sendable {
    private struct Listening: Decodable {
        var url: String
        var port: UInt16
    }

    private let process: RunningTool
    /// The address that opens the page, with a ticket.
    let url: String
    let port: UInt16

    /// The address without a ticket.
    var address: String { String(url.prefix { $0 != "?" }.dropLast()) }

    /// The server's name and port, as in `Host`.
    var host: String { String(address.dropFirst("http://".count)) }

    private init(_ home: FilePath, _ arguments: [String], port: UInt16) async throws {
        process = try await RunningTool("ubwatch", ["serve", "--port", "\(port)", "--home", home.string, "--json"] + arguments)
        do {
            let line = try #require(try await process.lines.limited("the server's address").makeAsyncIterator().next())
            let listening = try JSONDecoder().decode(Listening.self, from: Data(line.utf8))
            (url, self.port) = (listening.url, listening.port)
        } catch {
            let outcome = try await process.stop()
            throw Failure(description: "ubwatch serve has not begun to listen: \(error); \(outcome)")
        }
    }

    private struct Failure: Error, CustomStringConvertible { var description: String }

    /// Runs a body with a server, and ends it.
    ///
    /// - Parameters:
    ///   - device: the device whose containers it shows.
    ///   - arguments: further arguments, such as `--allow-actions`.
    ///   - port: the port; 0 for any that is free.
    ///   - body: uses the server.
    /// - Throws: the errors of the body, and an error when the server does not start.
    static func with(_ device: ToolDevice, _ arguments: [String] = [], port: UInt16 = 0, _ body: (PaneServer) async throws -> Void) async throws {
        let server = try await PaneServer(device.home, arguments, port: port)
        do {
            try await body(server)
        } catch {
            _ = try? await server.process.stop()
            throw error
        }
        let outcome = try await server.process.stop()
        #expect(outcome.errors.isEmpty || !outcome.errors.contains("Fatal"), "\(outcome)")
    }

    /// Sends a request as a program without a browser does.
    func ask(_ request: String, _ fields: [String: String] = [:], body: String = "") async throws -> HTTPExchange {
        try await HTTPExchange.send(request, port: port, fields: ["Host": host].merging(fields) { $1 }, body: body)
    }

    /// The field `Cookie` of a browser that has opened the page with its ticket.
    func cookie() async throws -> String {
        let target = try #require(url.range(of: address).map { url[$0.upperBound...] }, "\(url) is not at \(address)")
        let answer = try await ask("GET \(target)")
        let field = answer.head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("set-cookie:") }
        let value = try #require(field?.dropFirst("set-cookie:".count).split(separator: ";").first, "no cookie in \(answer)")
        return value.trimmingCharacters(in: .whitespaces)
    }

    /// What the page of the notes' container is at.
    static let notes = "/container/org.example.notes"
}

extension BrowserPage {
    /// Opens the pane, and waits until its state is drawn.
    ///
    /// - Parameters:
    ///   - server: the server, whose ticket is used.
    ///   - path: the page.
    /// - Throws: `BrowserError`; `Overdue` if nothing is drawn.
    func open(_ server: PaneServer, _ path: String = PaneServer.notes) async throws {
        try await open(server.url)
        if path != "/" { try await open(server.address + path) }
        try await isReady()
    }

    func isReady() async throws {
        try await waits(until: "the page has drawn the state", "return document.documentElement.dataset.ready === 'true'", limit: .seconds(40))
    }

    /// Chooses a tab, and waits for its table.
    func choose(_ pane: String) async throws {
        try await click("[role=tab][data-pane='\(pane)']")
        try await waits(
            until: "the pane \(pane) is chosen",
            "return document.querySelector(arguments[0])?.getAttribute('aria-selected') === 'true' && !!document.querySelector('#pane thead th')",
            "[role=tab][data-pane='\(pane)']")
    }

    /// The number of elements that a selector selects.
    func count(_ css: String) async throws -> Int { try await evaluate("return document.querySelectorAll(arguments[0]).length", .string(css)) }
}
