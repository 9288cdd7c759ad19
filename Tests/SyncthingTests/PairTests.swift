import Foundation
import SyncthingStatus
import SystemPackage
import Testing
import ToolProcesses
import UbiquityContainers
import Waiting

/// Two devices, real Syncthings between them, and the notes example on both.
@Suite("with two Syncthings", .serialized, .asking, .pair)
struct PairTests {
    let pair: SyncthingPair

    init() throws { pair = try #require(SyncthingPair.current) }

    @Test("saves, edits and removals on either device reach the other, and both end with the same notes")
    func converge() async throws {
        let both = try await pair.members()
        let (a, b) = (both.a, both.b)
        let milk = try await a.add("Milk")
        let bread = try await b.add("Bread")
        try await until("both hold both notes", limit: patience) { try await both.hold(["Bread", "Milk"]) }
        try await b.tool("notes", "edit", milk, "--title", "Oat milk")
        try await a.tool("notes", "rm", bread)
        try await until("both hold the one that is left", limit: patience) { try await both.hold(["Oat milk"]) }
    }

    @Test("S-004: a .nosync folder never arrives, nor anything below it, from the container's first moment on")
    func nosync() async throws {
        let both = try await pair.members()
        let (a, b) = (both.a, both.b)
        try await a.add("Milk")
        try a.write("secret", to: "Drafts.nosync/deep/secret.txt")
        try a.write("public", to: "Documents/public.txt")
        try await until("the file beside it has arrived", limit: patience) { b.read("Documents/public.txt") == "public" }
        // What was written with it was looked at with it, at the latest in this scan.
        try await a.device.post("db/scan?folder=ubiquity")
        for path in ["Drafts.nosync", "Drafts.nosync/deep/secret.txt"] {
            #expect(try await a.device.client.file("\(a.account)/org.example.notes/\(path)", in: "ubiquity") == nil)
            #expect(!FileManager.default.fileExists(atPath: b.container.appending(path).string))
            #expect(try await a.status(path) == .excluded)
        }
        try await until("the file beside it is current", limit: patience) { try await a.status("Documents/public.txt") == .current }
        #expect(try String(contentsOfFile: a.device.folder.appending(".stignore").string, encoding: .utf8).hasPrefix("*.nosync\n"))
    }

    @Test("two edits made apart leave a conflict copy, and the item is conflicted on both devices until the copy is gone")
    func conflicted() async throws {
        let both = try await pair.members()
        let (a, b) = (both.a, both.b)
        try a.write("first", to: "Documents/Letter.txt")
        try await until("the letter is current on both", limit: patience) {
            try await both.are(.current, "Documents/Letter.txt")
        }
        try await pair.pause(true)
        try a.write("from a", to: "Documents/Letter.txt")
        try b.write("from b, longer", to: "Documents/Letter.txt")
        for member in [a, b] {
            try await until("the edit waits", limit: patience) { try await member.status("Documents/Letter.txt") == .waitingToUpload }
            try await member.device.post("db/scan?folder=ubiquity")
        }
        try await pair.pause(false)
        try await until("both show the conflict", limit: patience) {
            try await both.are(.conflicted, "Documents/Letter.txt")
        }
        let documents = a.container.appending("Documents")
        let copy = try #require(
            FileManager.default.contentsOfDirectory(atPath: documents.string).first { $0.contains(".sync-conflict-") })
        try FileManager.default.removeItem(atPath: documents.appending(copy).string)
        try await until("both are current again", limit: patience) {
            try await both.are(.current, "Documents/Letter.txt")
        }
        #expect(a.read("Documents/Letter.txt") == b.read("Documents/Letter.txt"))
    }

    @Test("removing a whole container on one device empties no store on either, and both say that they are suspended")
    func wiped() async throws {
        let both = try await pair.members()
        let (a, b) = (both.a, both.b)
        try await a.add("Milk")
        try await b.add("Bread")
        try await until("both hold both notes", limit: patience) { try await both.hold(["Bread", "Milk"]) }
        // A receipt that is on its way would survive: what is new beats a removal.
        try await until("nothing is on its way", limit: patience, seen: { "\(Set(try a.files()).symmetricDifference(try b.files()))" }) {
            try a.files() == b.files()
        }
        try FileManager.default.removeItem(atPath: a.container.string)
        // Directories with something in them that is ignored, such as tmp.nosync, are left standing.
        try await until("the removal has arrived", limit: patience, seen: { "\(try b.files())" }) { try b.files() == [] }
        for member in [a, b] {
            let listed = try await member.tool("notes", "list", "--json")
            #expect(listed.errors.contains("gone"), "\(listed.errors)")
            #expect(try await member.titles() == ["Bread", "Milk"])
            // All that is wrong with the store is that the container lacks what it has published.
            let problems = try await member.problems()
            #expect(problems.allSatisfy { $0.kind == "container" } && !problems.isEmpty, "\(problems)")
            #expect(try await member.tool("notes", "status").output.contains("suspended"))
            // Saves go on, here only, and bring nothing back.
            try await member.add("Eggs from \(member.device.name)")
            #expect(try member.files() == [])
        }
    }

    @Test("a device that was cut off catches up when it is back, in both directions")
    func catchesUp() async throws {
        let both = try await pair.members()
        let (a, b) = (both.a, both.b)
        try await a.add("Milk")
        try await until("both hold the note", limit: patience) { try await b.titles() == ["Milk"] }
        try await pair.pause(true)
        for number in 1...5 { try await a.add("Note \(number)") }
        try await b.add("Bread")
        #expect(try await b.titles() == ["Bread", "Milk"])
        try await pair.pause(false)
        let all = ["Bread", "Milk"] + (1...5).map { "Note \($0)" }
        try await until("both hold all", limit: patience) { try await both.hold(all) }
    }

    @Test("two devices that made the same container apart end with one container and the union of the notes")
    func madeApart() async throws {
        try await pair.pause(true)
        let both = try await pair.members()
        let (a, b) = (both.a, both.b)
        try await a.add("Milk")
        try await b.add("Bread")
        #expect(try await a.titles() == ["Milk"])
        #expect(try await b.titles() == ["Bread"])
        try await pair.pause(false)
        try await until("both hold both notes", limit: patience) { try await both.hold(["Bread", "Milk"]) }
        for member in [a, b] {
            let root = member.device.folder.appending(member.account)
            #expect(try FileManager.default.contentsOfDirectory(atPath: root.string) == ["org.example.notes"])
            try await member.tool("ubcontrol", "store", "check", "\(try member.storeFile())")
        }
    }
}

extension Member {
    /// The files in the container that are not this device's alone.
    ///
    /// Of a file that goes while it is fetched, Syncthing keeps a draft for a day.
    func files() throws -> [String] {
        guard let paths = FileManager.default.enumerator(atPath: container.string) else { return [] }
        return paths.compactMap { $0 as? String }.filter { path in
            if path.split(separator: "/").contains(where: { $0.hasSuffix(".nosync") || ForeignNames.isDraft(String($0)) }) { return false }
            var isDirectory: ObjCBool = false
            return FileManager.default.fileExists(atPath: container.appending(path).string, isDirectory: &isDirectory) && !isDirectory.boolValue
        }.sorted()
    }

    /// A problem that `ubcontrol store check` finds.
    struct Problem: Decodable {
        var kind: String
        var subject: String
        var detail: String
    }

    func problems() async throws -> [Problem] {
        struct Check: Decodable { var problems: [Problem] }
        let outcome = try await Tool.run("ubcontrol", ["store", "check", "\(try storeFile())", "--json", "--home", home.string])
        return try JSONDecoder().decode(Check.self, from: Data(outcome.output.utf8)).problems
    }

    /// The account's file on this device; the local file lies below `local~<uuid>`.
    func storeFile() throws -> FilePath {
        let names = try FileManager.default.subpathsOfDirectory(atPath: home.string)
        return home.appending(try #require(names.first { $0.hasSuffix("/store/Notes.sqlite") && !$0.contains("/local~") }))
    }
}
