import Foundation
import SyncthingStatus
import SystemPackage
import Testing
import ToolProcesses
import UbiquityContainers
import Waiting

extension PairTests {
    @Test("an item waits while nobody is there, goes out while another lacks it, and is current once another has it")
    func outgoing() async throws {
        let both = try await pair.members()
        let (a, b) = (both.a, both.b)
        // Syncthing looks at a file a second after it was written; it must not get away before the question.
        try await pair.pause(true)
        try a.write("first", to: "Documents/Letter.txt")
        #expect(try await a.status("Documents/Letter.txt") == .waitingToUpload)
        #expect(try await a.status("Documents/Missing.txt") == .unknown)
        try await pair.pause(false)
        try await until("the letter and its directory are current on both", limit: patience) {
            try await both.are(.current, "Documents/Letter.txt", "Documents")
        }
        // A device that does not fetch.
        try await b.device.patch("config/folders/ubiquity", #"{"type": "sendonly"}"#)
        try a.write("second, longer", to: "Documents/Letter.txt")
        try a.write("new", to: "Documents/New.txt")
        try await until("what is newer there is known here, and not fetched", limit: patience) {
            guard try await b.status("Documents/Letter.txt") == .downloaded else { return false }
            return try await b.status("Documents/New.txt") == .notDownloaded
        }
        #expect(b.read("Documents/Letter.txt") == "first" && b.read("Documents/New.txt") == nil)
        #expect(try await b.status("Documents") == .downloaded)
        #expect(try await a.status("Documents/New.txt") == .uploading)
        #expect(try await a.status("Documents") == .uploading)
        try await b.device.patch("config/folders/ubiquity", #"{"type": "sendreceive"}"#)
        try await until("all is current on both", limit: patience) {
            try await both.are(.current, "Documents", "Documents/Letter.txt", "Documents/New.txt")
        }
        // Known from its last index while it is away.
        try await pair.pause(true)
        try a.write("newest", to: "Documents/Newest.txt")
        try await a.device.post("db/scan?folder=ubiquity")
        #expect(try await a.status("Documents/New.txt") == .current)
        #expect(try await a.status("Documents/Newest.txt") == .waitingToUpload)
        try await pair.pause(false)
    }

    @Test("what .stignore leaves out is excluded, and a paused folder makes everything unknown")
    func leftOut() async throws {
        let a = try await pair.members().a
        try await a.add("Milk")
        let ignores = a.device.folder.appending(".stignore")
        let before = try String(contentsOfFile: ignores.string, encoding: .utf8)
        try Data((before + "(?i)*.bak\n").utf8).write(to: URL(filePath: ignores.string))
        try a.write("old", to: "Documents/Letter.BAK")
        try a.write("new", to: "Documents/Letter.txt")
        try await a.device.post("db/scan?folder=ubiquity")
        #expect(try await a.status("Documents/Letter.BAK") == .excluded)
        try Data(before.utf8).write(to: URL(filePath: ignores.string))
        try await until("the letter is current", limit: patience) { try await a.status("Documents/Letter.txt") == .current }
        try await a.device.patch("config/folders/ubiquity", #"{"paused": true}"#)
        #expect(try await a.status("Documents/Letter.txt") == .unknown)
        try await a.device.patch("config/folders/ubiquity", #"{"paused": false}"#)
        try await until("the letter is current again", limit: patience) { try await a.status("Documents/Letter.txt") == .current }
    }

    @Test("a file that arrives is a change, and by events alone a reader sees it being fetched and become current")
    func events() async throws {
        let both = try await pair.members()
        let (a, b) = (both.a, both.b)
        try await a.add("Milk")
        try await until("the container has arrived", limit: patience) { FileManager.default.fileExists(atPath: b.container.string) }
        // Slow enough to be seen; loopback counts as the local network.
        try await b.device.patch("config/options", #"{"maxRecvKbps": 300, "limitBandwidthInLan": true}"#)
        let film = b.container.appending("Documents/Film.bin")
        let source = try b.source
        let (ready, isReady) = AsyncStream.makeStream(of: Void.self)
        let seen = Task {
            try await within("the film has arrived", limit: patience) {
                var statuses: [ItemStatus] = []
                for await change in source.changes() {
                    isReady.yield()
                    guard change == .item(film) || change == .below(b.container) else { continue }
                    let status = try await source.state(of: film).status
                    if statuses.last != status { statuses.append(status) }
                    if status == .current { break }
                }
                return statuses
            }
        }
        for try await _ in ready.limited("the first change", limit: patience) { break }
        // Beyond the burst of half a mebibyte that is let through at once.
        try a.write((0..<300_000).map { _ in String(UInt64.random(in: 0 ... .max), radix: 36) }.joined(), to: "Documents/Film.bin")
        let statuses = try await seen.value
        try await b.device.patch("config/options", #"{"maxRecvKbps": 0, "limitBandwidthInLan": false}"#)
        #expect(statuses.contains(.downloading) && statuses.last == .current, "\(statuses)")
    }

    @Test("a wrong key and a folder that is not shared are errors that say what to do")
    func misconfigured() async throws {
        let a = try await pair.members().a
        let wrong = SyncthingTransport(a.container, endpoint: try SyncthingEndpoint(a.device.address, key: "wrong"))
        for ask in [wrong.check, { _ = try await wrong.state(of: a.container.appending("x")).status }] {
            await #expect { try await ask() } throws: {
                ($0 as? SyncthingError)?.code == .wrongKey && "\($0)".contains(a.device.address) && !"\($0)".contains("wrong")
            }
        }
        let elsewhere = SyncthingTransport(pair.directory.appending("elsewhere"), endpoint: try a.device.endpoint)
        await #expect { try await elsewhere.check() } throws: {
            ($0 as? SyncthingError)?.code == .folderNotShared && "\($0)".contains("elsewhere")
        }
        try await a.source.check()
    }

    @Test("a question and a sequence of changes end with their task")
    func cancellation() async throws {
        let a = try await pair.members().a
        let source = try a.source
        let (ready, isReady) = AsyncStream.makeStream(of: Void.self)
        let reading = Task { for await _ in source.changes() { isReady.yield() } }
        for try await _ in ready.limited("the first change", limit: patience) { break }
        reading.cancel()
        try await within("the sequence has ended", limit: patience) { await reading.value }
        let asking = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await source.state(of: a.container.appending("x")).status
        }
        await #expect(throws: CancellationError.self) { try await asking.value }
    }
}

@Suite(.asking)
struct AbsenceTests {
    @Test("while Syncthing is away all is unknown, and readers of changes hear of its going and coming")
    func comesBack() async throws {
        try await SyncthingPair.with { pair in
            let both = try await pair.members()
            let (a, b) = (both.a, both.b)
            try a.write("text", to: "Documents/Letter.txt")
            try await until("the letter is current", limit: patience) { try await b.status("Documents/Letter.txt") == .current }
            let source = try b.source
            let letter = b.container.appending("Documents/Letter.txt")
            let (statuses, told) = AsyncStream.makeStream(of: ItemStatus.self)
            let reading = Task {
                for await change in source.changes() where change == .below(b.container) || change == .item(letter) {
                    told.yield(try await source.state(of: letter).status)
                }
            }
            defer { reading.cancel() }
            try await within("the status is current", limit: patience) { for await status in statuses where status == .current { break } }
            try await b.device.shutDown()
            try await within("the status is unknown", limit: patience) { for await status in statuses where status == .unknown { break } }
            let again = try await RunningTool(
                "/usr/bin/syncthing", ["serve", "--home=\(b.device.home)", "--no-browser", "--no-restart", "--no-upgrade"])
            let result = await Result {
                try await within("the status is current again", limit: patience) { for await status in statuses where status == .current { break } }
            }
            try await again.stop()
            try result.get()
        }
    }
}
