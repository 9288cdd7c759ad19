import Foundation
import LoopbackServer
import StoreInspection
import Testing
import UbiquityContainers
import UbiquityStores

@testable import ubwatch

/// The decisions of the page's server that need no server.
struct PageRuleTests {
    private let access = LoopbackAccess(port: 8390, label: "ab12", ticket: "ticket", secret: "secret", allowsActions: true)

    private func question(_ change: (inout LoopbackAccess.Question) -> Void = { _ in }) -> LoopbackAccess.Question {
        var question = LoopbackAccess.Question(host: "ab12.localhost:8390", cookie: "secret")
        change(&question)
        return question
    }

    private func isRefused(_ change: (inout LoopbackAccess.Question) -> Void) -> Bool {
        if case .refuse = access.answer(question(change)) { true } else { false }
    }

    @Test("The page is read with its cookie, and entered with its ticket, under the server's own name")
    func reading() {
        #expect(access.answer(question()) == .allow)
        #expect(access.answer(question { ($0.cookie, $0.ticket) = (nil, "ticket") }) == .enter)
        #expect(isRefused { $0.cookie = nil } && isRefused { $0.cookie = "secre" } && isRefused { $0.cookie = "secreT" })
        #expect(isRefused { ($0.cookie, $0.ticket) = (nil, "Ticket") })
        // A wrong ticket is wrong with a cookie too: it is of another run.
        #expect(isRefused { $0.ticket = "other" })
        let others = [nil, "evil.example:8390", "127.0.0.1:8390", "localhost:8390", "ab12.localhost", "ab12.localhost:80", "ab13.localhost:8390", ""]
        for host in others { #expect(isRefused { $0.host = host }) }
    }

    @Test("No other page reads it, shows it in a frame, or asks it for something; a link leads to it")
    func otherPages() {
        #expect(isRefused { $0.origin = "http://127.0.0.1:9" } && isRefused { $0.origin = "null" })
        #expect(access.answer(question { $0.origin = "http://ab12.localhost:8390" }) == .allow)
        for site in ["cross-site", "same-site"] {
            #expect(isRefused { ($0.fetchSite, $0.fetchMode, $0.fetchDestination) = (site, "no-cors", "script") })
            #expect(isRefused { ($0.fetchSite, $0.fetchMode, $0.fetchDestination) = (site, "navigate", "iframe") })
            #expect(access.answer(question { ($0.fetchSite, $0.fetchMode, $0.fetchDestination) = (site, "navigate", "document") }) == .allow)
        }
        #expect(access.answer(question { $0.fetchSite = "same-origin" }) == .allow)
    }

    @Test("An action needs leave, the page's own origin and the mark of its script")
    func actions() {
        func post(_ change: (inout LoopbackAccess.Question) -> Void = { _ in }) -> LoopbackAccess.Question {
            question {
                ($0.method, $0.origin, $0.isMarked) = ("POST", "http://ab12.localhost:8390", true)
                change(&$0)
            }
        }
        func isRefused(_ question: LoopbackAccess.Question) -> Bool { if case .refuse = access.answer(question) { true } else { false } }
        #expect(access.answer(post()) == .allow)
        #expect(isRefused(post { $0.isMarked = false }) && isRefused(post { $0.origin = nil }) && isRefused(post { $0.cookie = nil }))
        #expect(isRefused(post { $0.method = "PUT" }))
        let reading = LoopbackAccess(port: 8390, label: "ab12", ticket: "ticket", secret: "secret", allowsActions: false)
        #expect(reading.answer(post()) == .refuse("The page only shows. Start it with --allow-actions."))
        // The ticket opens the page and does nothing else.
        #expect(isRefused(post { ($0.cookie, $0.ticket) = (nil, "ticket") }))
    }

    @Test("A ticket and a cookie are of 256 bits, and others at each start")
    func secrets() {
        let made = (0..<64).map { _ in LoopbackAccess(port: 1, allowsActions: false) }
        let words = made.flatMap { [$0.ticket, $0.secret] }
        #expect(Set(words).count == 128 && words.allSatisfy { $0.count == 64 && $0.allSatisfy(\.isHexDigit) })
    }

    private func table(_ rows: [(String, String)]) -> PageTable {
        PageTable(
            Table(columns: [.init(title: "Name")], rows: rows.map { .init(id: $0.0, cells: [.init($0.1)]) }, empty: "nothing"))
    }

    /// What the page does with a change.
    private func applying(_ change: PageTable.Change, to table: PageTable) -> [PageTable.Row] {
        var rows = table.rows.filter { !change.gone.contains($0.id) }
        for row in change.set { rows[rows.firstIndex { $0.id == row.id }!] = row }
        for added in change.added { rows.insert(added.row, at: added.index) }
        return rows
    }

    @Test("A change of a table leads to the other table, whatever comes, goes and changes", arguments: 1...200)
    func changes(seed: UInt64) throws {
        var state = seed &* 0x9E37_79B9_7F4A_7C15
        func random(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
        let old = (0..<random(20)).map { ("row\($0)", "\(random(3))") }
        var new = old.filter { _ in random(4) > 0 }.map { ($0.0, random(3) == 0 ? "other" : $0.1) }
        for index in 0..<random(5) { new.insert(("new\(index)", "x"), at: random(new.count + 1)) }
        let (before, after) = (table(old), table(new))
        let change = try #require(before.change(to: after), "seed \(seed)")
        #expect(applying(change, to: before) == after.rows, "seed \(seed)")
    }

    @Test("Rows in another order, or two with one identifier, are sent whole; an age is sent as its time")
    func wholes() throws {
        #expect(table([("a", ""), ("b", "")]).change(to: table([("b", ""), ("a", "")])) == nil)
        #expect(table([("a", "")]).change(to: table([("a", ""), ("a", "x")])) == nil)
        let time = Date(timeIntervalSince1970: 0)
        let cells = [Table.Cell("3 min", number: 180, date: time), Table.Cell("4 min", number: 240, date: time)].map(PageTable.Cell.init)
        #expect(cells[0] == cells[1])
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        #expect(String(decoding: try encoder.encode(cells[0]), as: UTF8.self) == #"["","plain",null,"1970-01-01T00:00:00Z"]"#)
    }

    @Test("Characters that hide or turn others are shown as numbers")
    func visible() {
        #expect("a\u{202E}b\u{7}c\u{2028}é😀".visible == "a\\u{202e}b\\u{7}c\\u{2028}é😀" && "plain".visible == "plain")
    }

    @Test("A target comes back as what it was, and other texts are none")
    func targets() {
        for target in [Target.peer("p", store: "s"), .store("s"), .item("/a b/\"c"), .trouble(3), .log("/x.ublog"), .change(7)] {
            #expect(Target(target.text) == target)
        }
        for text in ["", "[]", "[\"store\"]", "[\"trouble\",\"x\"]", "[\"other\",\"x\"]", "{}", "[1,2]"] { #expect(Target(text) == nil, "\(text)") }
    }

    private func facts(_ change: (inout WatchFacts) -> Void = { _ in }) -> WatchFacts {
        var facts = WatchFacts(
            time: Date(timeIntervalSince1970: 0), path: "/c/ann/org.example.notes", account: "ann", container: "org.example.notes", presence: .there,
            device: .init(), state: .idle)
        change(&facts)
        return facts
    }

    @Test("A person is told once of a container that stops, of space, and of each new problem; names are no markup")
    func notices() {
        let stuck = facts {
            $0.state = .stuck
            $0.reasons = ["log 3 is damaged"]
        }
        #expect(PersonNotice.notices(from: nil, to: facts()).isEmpty)
        #expect(PersonNotice.notices(from: facts(), to: stuck) == [PersonNotice(title: "org.example.notes", text: "log 3 is damaged")])
        #expect(PersonNotice.notices(from: stuck, to: stuck).isEmpty)
        let full = facts {
            $0.storage.documents.bytes = 10
            $0.space.mark = 10
        }
        #expect(PersonNotice.notices(from: facts(), to: full).count == 1 && PersonNotice.notices(from: full, to: full).isEmpty)
        let copies = facts {
            $0.troubles.add(.init(kind: .copy, subject: "<b>&x</b>\u{202E}", reason: "", remedy: ""), limit: 10)
        }
        // What was there when it began is on the page.
        #expect(PersonNotice.notices(from: nil, to: copies).isEmpty)
        let notice = PersonNotice.notices(from: facts(), to: copies)
        #expect(notice.map(\.command.last) == ["1 conflict copy: &lt;b&gt;&amp;x&lt;/b&gt;\\u{202e}"])
        #expect(notice.first?.command.contains("--") == true)
    }

    @Test("An action is a command for an entry that is there and in that state, and for nothing else")
    func commands() {
        let facts = facts {
            $0.transport = .init(.cloud)
            $0.items.listed = [.init(path: "/c/a", state: .init(.current)), .init(path: "/c/b", state: .init(.notDownloaded), isHere: false)]
            $0.device.home = "/home"
        }
        #expect(PageAction.evict.command(for: .item("/c/a"), in: facts) == ["ubcontrol", "item", "evict", "--home", "/home", "/c/a"])
        #expect(PageAction.fetch.command(for: .item("/c/b"), in: facts) == ["ubcontrol", "item", "fetch", "--no-wait", "--home", "/home", "/c/b"])
        #expect(
            PageAction.evict.command(for: .item("/c/b"), in: facts) == nil && PageAction.fetch.command(for: .item("/etc/passwd"), in: facts) == nil)
        #expect(PageAction.pause.command(for: .store("notes"), in: facts) == nil && PageAction.verify.command(for: .item("/c/a"), in: facts) == nil)
        #expect(PageAction.verify.command(for: nil, in: facts) == ["ubwatch", "verify", "/c/ann/org.example.notes"])
        var plain = facts
        plain.transport = nil
        #expect(PageAction.evict.command(for: .item("/c/a"), in: plain) == nil && PageAction.retry.command(for: nil, in: plain) == nil)
    }

    @Test("A reader of the overview is told what a container has become while nobody read")
    func overview() {
        var container = PageContainer(id: "org.example.notes", account: "ann", path: "/c/ann/org.example.notes")
        func told() -> String { String(decoding: container.brief(at: Date()).flatMap(\.bytes), as: UTF8.self) }
        #expect(told().contains("looking at the container"))
        container.take(.facts(facts { $0.items.count = 7 }), at: Date())
        #expect(told().contains("\"items\":7"), "\(told())")
    }

    @Test("A log is looked into only below the stores of its container")
    func logs() {
        let view = ContainerView(path: "/c/ann/org.example.notes")
        #expect(view.contains(log: "/c/ann/org.example.notes/CoreData/notes/p/1/1.abc.ublog"))
        for path in [
            "/c/ann/org.example.notes/CoreData/../../../../etc/x.ublog", "/etc/passwd", "/c/ann/org.example.notes/CoreData/notes/x.txt",
            "/c/ann/org.example.notes/x.ublog", "CoreData/x.ublog",
        ] {
            #expect(!view.contains(log: path), "\(path)")
        }
    }
}
