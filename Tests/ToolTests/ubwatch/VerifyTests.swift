import Foundation
import SystemPackage
import Testing
import ToolProcesses
import UbiquityContainers
import UbiquityStores

/// `ubwatch verify`: what it finds in whole and in damaged contents.
struct VerifyTests {
    @Test("a healthy container is sound, verifying writes nothing in it, and needs no right to")
    func healthy() async throws {
        try await withContent(hasBaseline: true) { content in
            let before = try content.listing()
            let outcome = try await content.verify()
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome)")
            #expect(
                outcome.output
                    == "store Notes, epoch 1: 5 logs, 1 large value, 1 baseline, 3 receipts, 1 epoch mark: nothing is wrong (0 faults, 0 gaps, 0 remarks)\n"
            )
            #expect(try content.listing() == before)
            // Root passes every mode: the program runs as somebody else.
            let other = try await Tool.run(
                "/usr/bin/setpriv",
                ["--reuid=65534", "--regid=65534", "--clear-groups", Tool.path("ubwatch").string, "verify", content.container.string])
            #expect(other.status == 0 && other.output == outcome.output, "\(other)")
            #expect(try content.listing() == before)
        }
    }

    @Test("each kind of damage is one line that names the file, and exit status 1; the files beside it are found as they were")
    func damage() async throws {
        try await withContent(hasBaseline: true) { content in
            for damage in Damage.all {
                let copy = try content.copy()
                let path = try damage.inflict(copy)
                let outcome = try await copy.verify()
                #expect(outcome.status == 1, "\(damage.name): \(outcome)")
                let found = outcome.findings
                #expect(found.count == 1, "\(damage.name): \(outcome.output)")
                #expect(found.first?.hasPrefix("fault: \(path): \(damage.detail)") == true, "\(damage.name): \(outcome.output)")
                #expect(outcome.output.contains("something is wrong") == "\(path)".contains("/Notes/"), "\(damage.name): \(outcome.output)")
                try copy.remove()
            }
        }
    }

    @Test("a baseline that has its hash and holds what cannot be is a fault")
    func wrongBaseline() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            #expect(try await device.run("notes", "add", "one").status == 0)
            try await device.haveBaselineWritten()
            let names = try FileManager.default.subpathsOfDirectory(atPath: device.container.string)
            let whole = device.container.appending(try #require(names.first { $0.hasSuffix(".ubbaseline") }))
            let draft = device.home.appending("draft").string
            let (directory, bytes) = (whole.removingLastComponent(), try Data(contentsOf: URL(filePath: whole.string)))
            try FileManager.default.removeItem(atPath: whole.string)
            for (sql, detail) in [
                ("DELETE FROM log", "its knowledge names a log that it does not list"),
                ("UPDATE log SET hash = NULL", "a log in its list is malformed"),
                ("INSERT INTO seen VALUES (1, 99, 0)", "the list of stamps that its peers had seen is malformed"),
                ("INSERT INTO hole SELECT peer, sequence, hash, 0 FROM log", "it lists a log that it also calls missing"),
                ("INSERT INTO retired VALUES (1, -1, 0)", "a peer that it retires is malformed"),
                ("UPDATE clock_1 SET peer = 99", "a record of “note” is malformed"),
                ("UPDATE baseline SET sequence = 2", "it is baseline 2 of"), ("CREATE VIEW v AS SELECT 1", "it has other tables than a baseline"),
            ] {
                try bytes.write(to: URL(filePath: draft))
                #expect(try await Tool.run("/usr/bin/sqlite3", [draft, sql]).status == 0)
                let changed = [UInt8](try Data(contentsOf: URL(filePath: draft)))
                let path = directory.appending("\(BaselineName(sequence: 1, hash: ContentHash(of: changed)))")
                try FileManager.default.moveItem(atPath: draft, toPath: path.string)
                let outcome = try await Tool.run("ubwatch", ["verify", device.container.string])
                #expect(outcome.status == 1 && outcome.findings.first?.hasPrefix("fault: \(path): \(detail)") == true, "\(sql): \(outcome)")
                try FileManager.default.removeItem(atPath: path.string)
            }
        }
    }

    @Test("what a log needs and is nowhere is a gap that says who waits for it, and is none where a baseline holds it")
    func gaps() async throws {
        try await withContent(hasBaseline: false) { content in
            let logs = try content.files(of: content.writer, ".ublog")
            let value = try #require(try content.files(of: content.writer, "/values/").first)
            let gap = try content.copy()
            try gap.remove(logs[1])
            try gap.remove(value)
            let outcome = try await gap.verify()
            #expect(outcome.status == 1 && outcome.findings.count == 2, "\(outcome)")
            let (author, first) = ("laptop", gap.content.appending(logs[1]))
            #expect(outcome.output.contains("gap: \(first): log 2 of \(author) is nowhere, and log 3 of \(author) awaits it; "), "\(outcome.output)")
            let text = "a large value of \(author) is nowhere, and log 4 of \(author) awaits it; "
            #expect(outcome.output.contains("gap: \(gap.content.appending(value)): \(text)"), "\(outcome.output)")
            try gap.remove()
            // What its author's only reader has named, too.
            let last = try content.copy()
            try last.remove(logs[3])
            let named = try await last.verify()
            #expect(named.status == 1 && named.output.contains("log 4 of laptop is nowhere, and log 1 of phone awaits it"), "\(named)")
            try last.remove()

            try await content.device.haveBaselineWritten()
            let covered = try content.copy()
            for file in [logs[1], logs[3], value] { try covered.remove(file) }
            let held = try await covered.verify()
            #expect(held.status == 0 && held.findings.isEmpty, "\(held)")
            try covered.remove()
            // Its owner removes what a baseline holds.
            try await content.device.takeIn()
            #expect(try content.files(of: content.writer, ".ublog").isEmpty)
            let trimmed = try await content.verify()
            #expect(trimmed.status == 0 && trimmed.findings.isEmpty, "\(trimmed)")
        }
    }

    @Test("two logs of a sequence, values without a log, receipts that claim too much, other programs' files and other epochs are remarks")
    func remarks() async throws {
        try await withContent(hasBaseline: false) { content in
            let hash = ContentHash(of: [1, 2, 3])
            try content.write([1, 2, 3], "\(content.writer)/1/values/\(hash)")
            try content.write([], "\(content.writer)/1/.syncthing.x.tmp")
            try content.write([], "\(content.writer)/7/\(LogFileName(sequence: 1, hash: hash))")
            let logs = try content.files(of: content.reader, ".ublog")
            try content.remove(try #require(logs.last))
            // Another branch of the writer's, behind its third log.
            let last = try #require(try content.files(of: content.writer, "/1/000000000004.").first)
            let log = try LogFile(decoding: [UInt8](Data(contentsOf: URL(filePath: content.content.appending(last).string))))
            var header = log.header
            header.created += 1
            let branch = LogFile.encode(header, body: Array(log.body))
            try content.write(branch, "\(content.writer)/1/\(LogFileName(sequence: 4, hash: ContentHash(of: branch)))")
            let outcome = try await content.verify()
            #expect(outcome.findings.filter { !$0.hasPrefix("remark: ") }.count == 1, "the empty log of epoch 7: \(outcome)")
            for text in [
                "no log here names it", "it is another program's", "no mark names its epoch yet", "it says that log 1 of phone",
                "there is another log of this sequence",
            ] {
                #expect(outcome.findings.contains { $0.hasPrefix("remark: ") && $0.contains(text) }, "\(text): \(outcome.output)")
            }
            // Once a mark is there, what was before has ended.
            try content.write(EpochMark(epoch: 7, peer: content.writer, knowledge: nil, time: .now).encoded(), "epochs/7.\(content.writer)")
            let ended = try await content.verify()
            #expect(ended.findings.filter { $0.contains("its epoch has ended") }.count == 2, "\(ended)")
        }
    }

    @Test("ubwatch verify prints one JSON object, takes a content's directory, and refuses what is none with exit status 64")
    func forms() async throws {
        try await withContent(hasBaseline: false) { content in
            try content.write([], "\(content.writer)/1/stray")
            let json = try await content.verify("--json", "--content", "Notes")
            #expect(json.status == 1)
            let report = try #require(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
            let store = try #require((report["contents"] as? [[String: Any]])?.first)
            #expect(store["logs"] as? Int == 5 && store["content"] as? String == "Notes" && store["epoch"] as? Int == 1)
            let finding = try #require((store["findings"] as? [[String: String]])?.first)
            #expect(Set(finding.keys) == ["kind", "path", "detail", "remedy"] && finding["kind"] == "fault")
            #expect(finding["path"] == content.content.appending("\(content.writer)/1/stray").string)
            let one = try await Tool.run("ubwatch", ["verify", content.content.string])
            #expect(one.status == 1 && one.findings.count == 1, "\(one)")
            let none = try await content.verify("--content", "Other")
            #expect(none.status == 64 && none.output.isEmpty && none.errors.contains("has no content “Other”"), "\(none)")
            let nowhere = try await Tool.run("ubwatch", ["verify", "/nowhere"])
            #expect(nowhere.status == 64 && nowhere.errors.contains("/nowhere"), "\(nowhere)")
            #expect(try await Tool.run("ubwatch", ["verify"]).status == 64)
        }
    }
}

extension Tool.Outcome {
    /// The lines that name a file.
    fileprivate var findings: [Substring] { output.split(separator: "\n").filter { !$0.hasPrefix("store ") && !$0.hasPrefix("unread: ") } }
}

/// Something that goes wrong with one file.
private struct Damage {
    var name: String
    /// How the line goes on behind the path.
    var detail: String
    /// Does it; returns the path of the file that is to be named.
    var inflict: @Sendable (VerifiedContent) throws -> FilePath

    static let all: [Damage] = [
        Damage(name: "a truncated log", detail: "its bytes do not have the hash") { content in
            try content.change(content.files(of: content.writer, ".ublog")[1]) { $0.removeLast(3) }
        },
        Damage(name: "a flipped byte", detail: "its bytes do not have the hash") { content in
            try content.change(content.files(of: content.writer, ".ublog")[2]) { $0[$0.count / 2] ^= 0x10 }
        },
        Damage(name: "a log under another's sequence", detail: "its header has the sequence 2") { content in
            let log = try content.files(of: content.writer, ".ublog")[1]
            return try content.copy(log, to: log.replacing("/000000000002.", with: "/000000000012."))
        },
        Damage(name: "a log under another's name", detail: "it is a log of") { content in
            let log = try content.files(of: content.writer, ".ublog")[1]
            return try content.copy(log, to: log.replacing("\(content.writer)", with: "\(content.reader)"))
        },
        Damage(name: "a damaged value", detail: "its bytes do not have the hash") { content in
            try content.change(content.files(of: content.writer, "/values/")[0]) { $0[9] = 0 }
        },
        Damage(name: "a truncated baseline", detail: "it") { content in
            try content.change(content.files(of: nil, ".ubbaseline")[0]) { $0.removeLast($0.count / 2) }
        },
        Damage(name: "a baseline with a flipped byte", detail: "its bytes do not have the hash in its name") { content in
            try content.change(content.files(of: nil, ".ubbaseline")[0]) { $0[$0.count - 1] ^= 1 }
        },
        Damage(name: "a foreign file in a peer's directory", detail: "it does not belong here") { content in
            try content.write([1], "\(content.reader)/1/notes.txt")
        },
        Damage(name: "a copy that a synchroniser made", detail: "a synchroniser found two files") { content in
            try content.write([1], "\(content.reader)/1/values/x.sync-conflict-20260101-000000-ABCDEFG")
        },
        Damage(name: "a garbage receipt", detail: "it is damaged") { content in try content.write([1, 2], "\(content.reader)/1/receipts/999") },
        Damage(name: "a garbage mark", detail: "it is damaged") { content in try content.write([1, 2], "epochs/1.\(content.reader)") },
        Damage(name: "a directory in the place of a log", detail: "it is a directory, where a file belongs") { content in
            let path = content.content.appending("\(content.reader)/1/\(LogFileName(sequence: 9, hash: ContentHash(of: [])))")
            try FileManager.default.createDirectory(atPath: path.string, withIntermediateDirectories: false)
            return path
        },
        Damage(name: "a link in the place of a directory", detail: "it is a link") { content in
            let path = content.content.appending("\(content.reader)/2")
            try FileManager.default.createSymbolicLink(atPath: path.string, withDestinationPath: "1")
            return path
        },
        Damage(name: "a file beside the contents", detail: "it is a file, where a directory belongs") { content in try content.write([1], "../file")
        },
    ]
}

/// The content of a notebook of two devices: a writer of four logs and a large value, and a reader of one log.
private struct VerifiedContent: Sendable {
    let device: ToolDevice
    let container: FilePath
    let writer: PeerIdentifier
    let reader: PeerIdentifier

    var content: FilePath { container.appending("CoreData/Notes") }

    func verify(_ options: String...) async throws -> Tool.Outcome { try await Tool.run("ubwatch", ["verify", container.string] + options) }

    /// The paths below the content, with kind, size and time of the last change.
    func listing() throws -> [String: String] {
        var listing: [String: String] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: container.string) + [""] {
            let attributes = try FileManager.default.attributesOfItem(atPath: container.appending(path).string)
            listing[path] = [FileAttributeKey.type, .size, .modificationDate].map { "\(attributes[$0] ?? "")" }.joined(separator: " ")
        }
        return listing
    }

    /// The files of one peer, or of whichever, whose paths below the content hold a text.
    func files(of peer: PeerIdentifier?, _ text: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: content.string).filter { path in
            path.contains(text) && (peer.map { path.hasPrefix("\($0)") } ?? true)
        }.sorted()
    }

    @discardableResult
    func write(_ bytes: [UInt8], _ path: String) throws -> FilePath {
        let file = content.appending(path).lexicallyNormalized()
        try FileManager.default.createDirectory(atPath: file.removingLastComponent().string, withIntermediateDirectories: true)
        try Data(bytes).write(to: URL(filePath: file.string))
        return file
    }

    func change(_ path: String, _ body: (inout [UInt8]) -> Void) throws -> FilePath {
        var bytes = [UInt8](try Data(contentsOf: URL(filePath: content.appending(path).string)))
        body(&bytes)
        return try write(bytes, path)
    }

    func copy(_ path: String, to other: String) throws -> FilePath {
        try FileManager.default.copyItem(atPath: content.appending(path).string, toPath: content.appending(other).string)
        return content.appending(other)
    }

    func remove(_ path: String) throws { try FileManager.default.removeItem(atPath: content.appending(path).string) }

    /// The same container elsewhere.
    func copy() throws -> VerifiedContent {
        let place = container.removingLastComponent().appending("copy-\(UUID().uuidString)")
        try FileManager.default.copyItem(atPath: container.string, toPath: place.string)
        return VerifiedContent(device: device, container: place, writer: writer, reader: reader)
    }

    func remove() throws { try FileManager.default.removeItem(atPath: container.string) }
}

private func withContent(hasBaseline: Bool, _ body: (VerifiedContent) async throws -> Void) async throws {
    try await withDevices(2) { devices in
        for title in ["one", "two", "three"] { #expect(try await devices[0].run("notes", "add", title).status == 0) }
        let file = devices[0].home.appending("large.csv")
        try "title,body\nLarge,\(String(repeating: "large ", count: 400_000))\n".write(toFile: file.string, atomically: true, encoding: .utf8)
        #expect(try await devices[0].run("notes", "import", file.string).status == 0)
        let log = try #require(try devices[0].logs().first)
        func peer(of log: FilePath) throws -> PeerIdentifier {
            try #require(PeerIdentifier(log.removingLastComponent().removingLastComponent().lastComponent?.string ?? ""))
        }
        let writer = try peer(of: log)
        try await devices[1].takeIn()
        #expect(try await devices[1].run("notes", "add", "mine").status == 0)
        let reader = try #require(try devices[0].logs().map(peer).first { $0 != writer })
        let content = VerifiedContent(device: devices[0], container: devices[0].container, writer: writer, reader: reader)
        for device in devices { try await device.takeIn() }
        if hasBaseline { try await content.device.haveBaselineWritten() }
        try await body(content)
    }
}
