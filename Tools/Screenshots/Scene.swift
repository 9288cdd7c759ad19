import Foundation
import SystemPackage
import ToolProcesses

/// The desk, the phone and the tablet of one account, with notes, people and texts.
struct Scene {
    private let directory: FilePath
    private let devices = ["desk", "phone", "tablet"]

    /// A program of the scene failed.
    struct Failure: Error, CustomStringConvertible { var description: String }

    init() throws {
        directory = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-screenshots-\(UUID().uuidString)")
        try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
    }

    func remove() { try? FileManager.default.removeItem(atPath: directory.string) }

    // A path that is read well on the page.
    private var root: FilePath { directory.appending("Containers") }
    private func home(_ device: String) -> FilePath { directory.appending(device) }
    private func container(_ identifier: String) -> FilePath { root.appending("ann").appending(identifier) }

    @discardableResult
    private func run(_ device: String, _ tool: String, _ arguments: String...) async throws -> String {
        let outcome = try await Tool.run(tool, arguments + ["--home", home(device).string])
        guard outcome.status == 0 else { throw Failure(description: "\(tool) \(arguments) of \(device): \(outcome)") }
        return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func write(_ size: Int, to path: String, of identifier: String) throws {
        let file = container(identifier).appending("Documents").pushing(FilePath(path))
        try FileManager.default.createDirectory(atPath: file.removingLastComponent().string, withIntermediateDirectories: true)
        try Data(repeating: UInt8(ascii: "x"), count: size).write(to: URL(filePath: file.string))
    }

    // MARK: The state

    /// Makes the devices and what they hold.
    func prepare() async throws {
        for device in devices {
            try await run(device, "ubcontrol", "sign-in", "ann", "--containers", root.string)
            let configuration = #"{"format":1,"deviceName":"\#(device)","storageMark":60000000,"transport":"directory"}"#
            try Data(configuration.utf8).write(to: URL(filePath: home(device).appending("config.json").string))
        }
        try await run("desk", "ubcontrol", "container", "create", "org.example.texts")
        try writeDocuments()
        try await run("desk", "people", "add", "Ana Sousa", "--email", "ana@example.org")
        try await run("phone", "people", "add", "Wisława Nowak", "--email", "wislawa@example.org")
        try await disagree()
    }

    private func writeDocuments() throws {
        let notes = [
            ("Recipes/Lentil soup.txt", 4_200), ("Recipes/Quince jelly.txt", 3_100), ("Lisbon/Tickets.pdf", 1_830_000),
            ("Lisbon/Map of the Alfama.pdf", 6_420_000), ("Garden/Plan.txt", 2_048), ("Garden/Wall in spring.jpg", 4_710_000),
            ("Garden/Wall in autumn.jpg", 5_240_000), ("Reading list.txt", 900),
        ]
        for (path, size) in notes { try write(size, to: path, of: "org.example.notes") }
        let texts = [
            ("Letter to Ana.txt", 5_300), ("Letter to Ana.sync-conflict-20260102-030405-PHONE12.txt", 5_350), ("Invoice 2026-11.txt", 1_200),
            ("Speech.txt", 18_200), ("Diary/2026-10.txt", 44_000), ("Diary/2026-11.txt", 39_500),
        ]
        for (path, size) in texts { try write(size, to: path, of: "org.example.texts") }
    }

    /// Edits one note on two devices that do not see each other meanwhile.
    private func disagree() async throws {
        let note = try await run("desk", "notes", "add", "Train to Lisbon")
        for device in devices { try await run(device, "notes", "list") }
        let (here, away) = (container("org.example.notes").string, container("org.example.notes-away").string)
        try FileManager.default.moveItem(atPath: here, toPath: away)
        try await run("desk", "notes", "edit", note, "--body", "At 8:40, seat 61")
        try FileManager.default.moveItem(atPath: away, toPath: here)
        try await run("phone", "notes", "edit", note, "--body", "At 9:10, seat 14")
        for device in devices + devices { try await run(device, "notes", "list") }
    }

    // MARK: The server

    /// Runs a body while the desk's containers are served.
    ///
    /// - Parameter body: gets the server's address, and the one with a ticket.
    /// - Throws: the errors of the body, and ``Failure`` if the server does not start.
    func serve(_ body: (_ address: String, _ url: String) async throws -> Void) async throws {
        struct Listening: Decodable { var url: String, port: Int }
        let server = try await RunningTool("ubwatch", ["serve", "--port", "0", "--json", "--home", home("desk").string])
        do {
            guard let line = await server.lines.first(where: { _ in true }) else { throw Failure(description: "\(try await server.end())") }
            let listening = try JSONDecoder().decode(Listening.self, from: Data(line.utf8))
            try await body(String(listening.url.prefix { $0 != "?" }.dropLast()), listening.url)
        } catch {
            _ = try? await server.stop()
            throw error
        }
        try await server.stop()
    }

    /// Saves on the devices in turn, more and less of it, so that the graph has something to show.
    func work(for time: Duration) async throws {
        let end = ContinuousClock.now + time
        let file = directory.appending("rows.csv")
        var round = 0
        while ContinuousClock.now < end {
            let rows = Int(30 + 28 * sin(Double(round) / 4)) * (round % 3 + 1)
            let lines = (0..<rows).map { "Note \(round).\($0),\"Quince along the wall; ask about the slope\"" }
            try Data((["title,body"] + lines).joined(separator: "\n").utf8).write(to: URL(filePath: file.string))
            try await run(round % 3 == 0 ? "desk" : "phone", "notes", "import", file.string)
            if round % 5 == 0 { try await run("phone", "people", "add", "Visitor \(round)", "--email", "visitor\(round)@example.org") }
            if round % 7 == 0 { for device in ["desk", "phone"] { try await run(device, "notes", "list", "--json") } }
            round += 1
        }
        try await run("desk", "notes", "list", "--json")
    }
}
