import Foundation
import Testing

@testable import StoreInspection
@testable import UbiquityContainers
@testable import ubwatch

/// The view's machine, without a terminal, files or a clock.
@Suite struct ViewStateTests {
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)
    private static let container = "/root/alice/org.example.notes"
    private static let peers = (1...3).map { "alice~00000000-0000-4000-8000-00000000000\($0)" }

    /// Three peers, of which the second lacks two logs of the first, and some items.
    private static func facts(items: [String] = ["a.txt", "b.txt", "c.txt"]) -> WatchFacts {
        var facts = WatchFacts(
            time: start, path: container, account: "alice", container: "org.example.notes", presence: .there, device: .init(), state: .idle)
        facts.attached = peers
        let surveyed = peers.enumerated().map { index, peer in
            ContainerSurvey.Peer(
                peer: peer, device: "device \(index + 1)", app: "notes", seen: start.addingTimeInterval(-Double(index) * 60), logs: 5 - index,
                bytes: 100,
                last: Int64(5 - index), isForked: false, late: 0,
                knowledge: peers.filter { $0 != peer }.map { other in
                    let lacks = index == 1 && other == peers[0]
                    return .init(peer: other, read: 3, behind: lacks ? 2 : 0, oldest: lacks ? start.addingTimeInterval(-3_600) : nil)
                })
        }
        facts.stores = [.init(name: "Notes", epoch: 2, peers: surveyed, logs: 12, bytes: 300, storage: .init())]
        facts.items.count = items.count
        facts.items.listed = items.map { .init(path: "\(container)/Documents/\($0)", state: ItemState($0 == "b.txt" ? .conflicted : .current)) }
        return facts
    }

    private func state(rows: Int = 24, columns: Int = 80, facts: WatchFacts? = facts()) -> ViewState {
        let files = ViewFiles(names: { _ in ["000000000001.aa.ublog", "other"] }, file: { _ in (12, Self.start) })
        var state = ViewState(containers: [Self.container], size: .init(rows: rows, columns: columns), now: Self.start, files: files)
        if let facts { _ = state.input(.facts(0, facts), at: Self.start) }
        return state
    }

    /// Presses keys, and gives what they ask for.
    private func press(_ keys: String, _ state: inout ViewState) -> [ViewState.Action] {
        var decoder = KeyDecoder()
        return (decoder.decode(keys.utf8) + decoder.flush()).compactMap { state.input(.key($0), at: Self.start) }
    }

    private func rows(_ state: inout ViewState) -> [String] {
        let screen = ViewLayout.screen(of: &state)
        return (0..<screen.size.rows).map(screen.text(ofRow:))
    }

    @Test("Keys switch panes, in a ring and by number")
    func panes() {
        var state = state()
        let table: [(String, Pane)] = [
            ("\t", .stores), ("\t", .items), ("\u{1B}[Z", .stores), ("6", .changes), ("\t", .peers), ("\u{1B}[Z", .changes), ("4", .troubles),
            ("1", .peers),
        ]
        for (keys, pane) in table {
            #expect(press(keys, &state) == [])
            #expect(state.pane == pane, "after \(keys.debugDescription)")
        }
    }

    @Test("What asks for something from outside: to quit, to read again, to open a log")
    func actions() {
        var state = state()
        #expect(press("r", &state) == [.refresh])
        // A peer, and the only log at the end of what is told of it.
        #expect(press("\r", &state) == [])
        #expect(press("G\r", &state) == [.open(log: "\(Self.container)/CoreData/Notes/\(Self.peers[0])/2/000000000001.aa.ublog")])
        #expect(press("q", &state) == [.quit])
    }

    @Test("A filter keeps the rows that hold all its words, in any case; escape brings the former one back, enter keeps it")
    func filter() {
        var state = state()
        _ = press("3", &state)
        #expect(state.view.states[.items]?.order.count == 3)
        _ = press("/B.TXT", &state)
        #expect(state.view.states[.items]?.order == [1])
        // Letters that mean something elsewhere are letters here.
        _ = press("q", &state)
        #expect(state.view.states[.items]?.order == [])
        _ = press("\u{7F}\r", &state)
        #expect(state.mode == .browsing && state.view.states[.items]?.filter == "B.TXT")
        _ = press("/x\u{1B}", &state)
        #expect(state.view.states[.items]?.filter == "B.TXT")
        _ = press("/\u{15}confl b\r", &state)
        #expect(state.view.states[.items]?.order == [1])
        _ = press("\u{1B}", &state)
        #expect(state.view.states[.items]?.order == [0, 1, 2])
    }

    @Test("A table is sorted by each column in turn, by number where there are numbers, and the other way round")
    func sorting() {
        var state = state()
        // The number, the peer, then how many logs it wrote.
        _ = press("sss", &state)
        #expect(state.view.states[.peers]?.order == [2, 1, 0])
        _ = press("S", &state)
        #expect(state.view.states[.peers]?.order == [0, 1, 2])
        #expect(rows(&state).contains { $0.contains("Wrote↓") })
        // The bytes are equal, the number of logs that it lacks is not.
        _ = press("ss", &state)
        #expect(state.view.states[.peers]?.order == [0, 2, 1])
        _ = press(String(repeating: "s", count: 20), &state)
        #expect(state.view.states[.peers]?.sortColumn != nil || state.view.states[.peers]?.order == [0, 1, 2])
    }

    @Test("What is chosen stays chosen while rows come and go above it")
    func selection() {
        var state = state()
        _ = press("3jj", &state)
        #expect(state.view.chosen(in: .items)?.id.hasSuffix("c.txt") == true)
        _ = state.input(.facts(0, Self.facts(items: ["0.txt", "a.txt", "b.txt", "c.txt"])), at: Self.start)
        _ = rows(&state)
        #expect(state.view.chosen(in: .items)?.id.hasSuffix("c.txt") == true)
        _ = state.input(.facts(0, Self.facts(items: ["a.txt"])), at: Self.start)
        _ = rows(&state)
        #expect(state.view.chosen(in: .items)?.id.hasSuffix("a.txt") == true)
        _ = press("GG\u{1B}[6~\u{1B}[5~gj", &state)
        #expect(state.view.states[.items]?.place == 0)
    }

    @Test("The peers' table tells who lacks how many logs of whom, and how old the oldest is")
    func peers() {
        var state = state()
        let rows = rows(&state)
        let second = rows.first { $0.contains("device 2") } ?? ""
        #expect(
            second.split(separator: " ").map(String.init) == ["2", "device", "2", "4", "100", "bytes", "2", "1", "h", "1", "min", "3+2", "·", "3"])
        let first = rows.first { $0.contains("device 1") } ?? ""
        #expect(first.split(separator: " ").suffix(3) == ["·", "3", "3"], "\(rows)")
    }

    @Test("Ages go on with time, and not while it is paused")
    func ages() {
        var state = state()
        func age(_ state: inout ViewState) -> String { rows(&state).first { $0.contains("device 2") }?.contains("2 h") == true ? "2 h" : "1 h" }
        #expect(age(&state) == "1 h")
        _ = press("p", &state)
        _ = state.input(.tick, at: Self.start.addingTimeInterval(4_000))
        #expect(age(&state) == "1 h")
        _ = press("p", &state)
        _ = state.input(.tick, at: Self.start.addingTimeInterval(4_000))
        #expect(age(&state) == "2 h")
        let texts = [0, 9, 10, 59, 60, 3_599, 3_600, 86_399, 86_400, 864_000].map { Age.text(of: Self.start, at: Self.start.addingTimeInterval($0)) }
        #expect(texts == ["now", "now", "10 s", "50 s", "1 min", "59 min", "1 h", "23 h", "1 d", "10 d"])
        #expect(Age.text(of: Self.start, at: Self.start.addingTimeInterval(-100)) == "ahead")
    }

    private func log(_ sequence: Int64, isOwn: Bool) -> ContainerChange {
        var change = ContainerChange(time: Self.start, kind: .log, level: .file, text: "Notes: log \(sequence)", container: Self.container)
        (change.sequence, change.isOwn) = (sequence, isOwn)
        return change
    }

    @Test("A pause shows what was, counts what comes meanwhile, and shows that when it ends")
    func pausing() {
        var state = state()
        _ = press("6p", &state)
        _ = state.input(.changes(0, [log(1, isOwn: true), log(2, isOwn: false)]), at: Self.start)
        var shown = rows(&state)
        #expect(state.missed == 2 && shown[0].hasSuffix("paused, 2 since  idle"), "\(shown[0])")
        #expect(!shown.contains { $0.contains("log 1") })
        // Keys go on working.
        _ = press("1", &state)
        _ = press("6p", &state)
        shown = rows(&state)
        #expect(shown.contains { $0.contains("Notes: log 1") } && shown.contains { $0.contains("Notes: log 2") })
        #expect(!state.isPaused && state.missed == 0)
    }

    @Test("Logs are counted in the graph, this device's green and others' blue, in columns of ten seconds")
    func graph() {
        var state = state()
        _ = state.input(.changes(0, (1...8).map { log($0, isOwn: true) } + [log(1, isOwn: false)]), at: Self.start)
        _ = state.input(.tick, at: Self.start.addingTimeInterval(20))
        let screen = ViewLayout.screen(of: &state)
        let texts = (0..<24).map(screen.text(ofRow:))
        let (exports, imports) = (texts.firstIndex { $0.hasPrefix("exports") }!, texts.firstIndex { $0.hasPrefix("imports") }!)
        #expect(texts[exports].hasSuffix("█·· 8") && texts[imports].hasSuffix("▁·· 1"), "\(texts)")
        #expect(screen[exports].first { $0.text == "█" }?.style == .green)
        #expect(screen[imports].first { $0.text == "▁" }?.style == .blue)
    }

    @Test("A thousand changes and those that befell the whole are kept of any number; the newest is the first")
    func manyChanges() {
        var state = state()
        let gone = ContainerChange(time: Self.start, kind: .gone, level: .container, text: "the container is gone", container: Self.container)
        _ = state.input(.changes(0, [gone]), at: Self.start)
        for batch in 0..<20 { _ = state.input(.changes(0, (1...500).map { log(Int64(batch * 500 + $0), isOwn: false) }), at: Self.start) }
        #expect((1_000...2_500).contains(state.view.changes.count))
        #expect(state.view.changes.first?.change == gone)
        _ = press("6", &state)
        #expect(rows(&state).first { $0.contains("Notes: log") }?.hasSuffix("Notes: log 10000") == true)
        #expect(state.view.transfers.hour.files(\.down) == 10_000)
    }

    @Test(
        "A container that is gone, wiped or replaced is told of in the title",
        arguments: [(WatchFacts.Presence.gone, "gone"), (.unmarked, "wiped"), (.replaced, "replaced")])
    func presence(_ presence: WatchFacts.Presence, _ word: String) {
        var facts = Self.facts()
        (facts.presence, facts.device.peer, facts.reasons) = (presence, Self.peers[0], ["why it is so"])
        var state = state(facts: facts)
        let shown = rows(&state)
        #expect(shown[0].hasSuffix(" \(word)") && shown[1] == "why it is so")
    }

    @Test(
        "S-127: the title tells what the account is doing",
        arguments: [
            (AccountState.signedOut, "signed out"), (.settingUp, "setting up"), (.suspended, "suspended"), (.stuck, "stuck"),
            (.waitingForNetwork, "waiting for the network"), (.idle, "idle"), (.uploading, "uploading"), (.downloading, "downloading"),
        ])
    func accountState(_ account: AccountState, _ words: String) {
        var facts = Self.facts()
        facts.state = account
        var state = state(facts: facts)
        #expect(rows(&state)[0].hasSuffix(" \(words)"))
    }

    @Test("The help fits a terminal of 80 by 24: every line is shown, and none is cut")
    func help() {
        var facts = Self.facts()
        (facts.reasons, facts.remedies) = (["why it is so"], ["ubcontrol doctor"])
        var state = state(facts: facts)
        _ = press("?", &state)
        let shown = rows(&state)
        for line in ViewHelp.lines where !line.text.isEmpty {
            #expect(shown.contains { $0.contains(line.text) }, "\(line.text)")
        }
    }

    @Test("Below the reason are the commands that look into it or remove it; without a reason there is no such line")
    func remedies() {
        var facts = Self.facts()
        var calm = state(facts: facts)
        #expect(!rows(&calm).contains { $0.hasPrefix("see: ") })
        (facts.state, facts.reasons) = (.suspended, ["the store Notes: paused"])
        facts.remedies = ["ubcontrol store resume /h/Notes.sqlite"]
        var state = state(facts: facts)
        let shown = rows(&state)
        #expect(shown[1] == "the store Notes: paused" && shown[2] == "see: ubcontrol store resume /h/Notes.sqlite", "\(shown)")
    }

    @Test("The transport's devices are shown with the part and the bytes of the container that each has and lacks")
    func transportDevices() {
        var facts = Self.facts()
        var phone = TransportDevice(identifier: "P", name: "phone", isConnected: true)
        (phone.missingBytes, phone.missingItems, phone.completion) = (50_000_000, 3, 0.75)
        facts.transport = .init(.syncthing, devices: [phone, TransportDevice(identifier: "T", name: "tablet", isConnected: false)])
        var state = state(facts: facts)
        #expect(rows(&state).contains("Syncthing  phone connected, has 75%, lacks 50 MB  tablet not connected"), "\(rows(&state))")
    }

    @Test("An item that is on its way is shown with its part and its size; each trouble with the command that shows it")
    func bytes() {
        var facts = Self.facts(items: ["Film.mov"])
        facts.items.listed[0].status = .uploading
        facts.items.listed[0].size = 200_000_000
        facts.items.listed[0].progress = TransferProgress(done: 50_000_000, total: 200_000_000)
        facts.troubles.add(
            .init(kind: .held, subject: "note/t:1", reason: "its folder is hidden", store: "Notes", remedy: "ubcontrol store held /h/N"), limit: 9)
        var state = state(facts: facts)
        _ = press("3", &state)
        #expect(
            rows(&state).contains { $0.hasPrefix("uploading ") && $0.contains(" 25% ") && $0.contains("200 MB  Documents/Film.mov") },
            "\(rows(&state))")
        _ = press("4", &state)
        #expect(rows(&state).contains { $0.contains("ubcontrol store held /h/N") }, "\(rows(&state))")
        _ = press("\r", &state)
        #expect(rows(&state).contains { $0.hasPrefix("see ") && $0.hasSuffix("ubcontrol store held /h/N") }, "\(rows(&state))")
    }

    @Test(
        "Every size has a screen: nothing is drawn outside, whatever is open",
        arguments: [(1, 1), (2, 5), (4, 20), (12, 40), (24, 80), (40, 139), (40, 200)])
    func sizes(_ rows: Int, _ columns: Int) {
        var state = state(rows: rows, columns: columns)
        for keys in ["", "2", "3", "4", "5", "6", "1\r", "\u{1B}", "?", "\u{1B}", "/abc", "\u{1B}p"] {
            _ = press(keys, &state)
            let screen = ViewLayout.screen(of: &state)
            #expect(screen.size == .init(rows: rows, columns: columns))
            if rows >= 12 { #expect(screen.text(ofRow: 0).hasPrefix("org.example.notes"), "\(keys.debugDescription)") }
        }
    }

    @Test("Names that hold what a terminal would obey are shown, and obeyed by none")
    func hostileNames() {
        var state = state(facts: Self.facts(items: ["\u{1B}[2J\u{1B}]0;x\u{7}.txt", "line\nfeed", "\u{202E}txt.exe"]))
        _ = press("3", &state)
        let screen = ViewLayout.screen(of: &state)
        let bytes = ScreenDiff.bytes(from: nil, to: screen, hasColours: true)
        var terminal = TerminalEmulator(screen.size)
        terminal.take(bytes)
        #expect(terminal.unknown.isEmpty && terminal.shows(screen))
        #expect(!bytes.contains(0x07) && !bytes.contains(0x0A))
        let shown = rows(&state)
        #expect(
            shown.contains { $0.contains("\\u{1b}[2J") } && shown.contains { $0.contains("line\\u{a}feed") }
                && shown.contains { $0.contains("\\u{202e}txt.exe") })
    }
}
