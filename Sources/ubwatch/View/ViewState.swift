import Foundation

/// The complete state of the view: a state machine over keys, facts and time, without side effects.
struct ViewState: Sendable {
    /// The meaning of the keys.
    enum Mode: Sendable, Equatable {
        case browsing
        /// Keys edit a pane's filter; escape restores the previous filter.
        case filtering(before: String)
        case help
    }

    /// The inputs.
    enum Input: Sendable {
        case key(Key)
        case resized(Screen.Size)
        /// New facts of a container, by its index.
        case facts(Int, WatchFacts)
        /// The reason why the facts cannot be read.
        case failed(Int, String)
        case changes(Int, [ContainerChange])
        /// Time has passed.
        case tick
        /// The requested log has been read.
        case opened(Detail)
    }

    /// The actions for the caller.
    enum Action: Sendable, Equatable {
        case quit
        /// Read a log and return it as ``Input/opened(_:)``.
        case open(log: String)
        /// Read everything again.
        case refresh
        /// Evict an item of the visible container, or fetch it.
        case evict(String, container: Int)
        case fetch(String, container: Int)
    }

    private(set) var size: Screen.Size
    private(set) var now: Date
    private(set) var mode = Mode.browsing
    private(set) var pane = Pane.peers
    /// The index of the visible container.
    private(set) var current = 0
    /// The open details, the last one on top.
    private(set) var details: [Detail] = []
    private(set) var helpLine = 0
    /// The current state of all containers.
    private var live: [ContainerView]
    /// The state at the time of the pause; nil while not paused.
    private var frozen: [ContainerView]?
    /// The number of changes since the pause.
    private(set) var missed = 0
    private let files: ViewFiles

    init(containers: [String], size: Screen.Size, now: Date, files: ViewFiles = .real) {
        self.files = files
        live = containers.map { ContainerView(path: $0) }
        (self.size, self.now) = (size, now)
    }

    var isPaused: Bool { frozen != nil }
    /// The visible state of the containers.
    var shown: [ContainerView] { frozen ?? live }
    var view: ContainerView { shown[current] }

    /// Handles an input.
    ///
    /// - Parameters:
    ///   - input: the input.
    ///   - now: the time of the input.
    /// - Returns: an action, if one is needed.
    mutating func input(_ input: Input, at now: Date) -> Action? {
        // While paused, only keys change the screen.
        if !isPaused { self.now = now }
        switch input {
        case .key(let key):
            prepare()
            return press(key)
        case .resized(let size): self.size = size
        case .facts(let index, let facts):
            live[index].take(facts)
            renewDetails()
        case .failed(let index, let reason): live[index].fail(reason)
        case .changes(let index, let changes):
            live[index].take(changes, at: now)
            if isPaused { missed += changes.count { $0.level <= view.level } }
        case .tick:
            for index in live.indices { live[index].age(to: now) }
            renewDetails()
        case .opened(let detail): details.append(detail)
        }
        return nil
    }

    /// Prepares the visible state for drawing.
    mutating func prepare() { with { $0.prepare(at: $1) } }

    /// Scrolls so that the selection is visible in this number of rows.
    mutating func show(rows: Int) {
        if details.isEmpty {
            let pane = pane
            with { view, _ in view.look(at: pane) { state, _ in state.show(rows: rows) } }
        } else {
            details[details.count - 1].show(rows: rows)
        }
    }

    /// Changes the visible container.
    private mutating func with(_ change: (inout ContainerView, Date) -> Void) {
        if frozen != nil { change(&frozen![current], now) } else { change(&live[current], now) }
    }

    private mutating func look(_ change: (inout TableState, Table) -> Void) {
        let pane = pane
        with { view, _ in view.look(at: pane, change) }
    }

    private mutating func renewDetails() {
        guard !isPaused else { return }
        for index in details.indices {
            // Details of an entry that is gone keep their last state.
            guard let target = details[index].target, let new = DetailMaker(view: view, now: now, files: files).detail(of: target) else { continue }
            details[index] = details[index].renewed(new)
        }
    }

    // MARK: Keys

    private mutating func press(_ key: Key) -> Action? {
        switch mode {
        case .filtering(let before):
            type(key, before)
            return nil
        case .help:
            switch key {
            case .down, .character("j"): helpLine += 1
            case .up, .character("k"): helpLine = max(0, helpLine - 1)
            case .character("q"), .character("?"), .escape, .enter: (mode, helpLine) = (.browsing, 0)
            default: break
            }
            return nil
        case .browsing: return details.isEmpty ? browse(key) : read(key)
        }
    }

    private mutating func type(_ key: Key, _ before: String) {
        let filter = view.states[pane]?.filter ?? ""
        switch key {
        case .enter, .tab: mode = .browsing
        case .escape:
            look { $0.setFilter(before, $1) }
            mode = .browsing
        case .backspace: look { $0.setFilter(String(filter.dropLast()), $1) }
        case .control("u"): look { $0.setFilter("", $1) }
        case .up: look { $0.move(by: -1, $1) }
        case .down: look { $0.move(by: 1, $1) }
        case .character(let scalar): look { $0.setFilter(filter + String(scalar), $1) }
        default: break
        }
    }

    /// Handles the keys that have one meaning everywhere.
    private mutating func pressAnywhere(_ key: Key) -> Action? {
        switch key {
        case .character("q"): return .quit
        case .character("?"): mode = .help
        case .character("p"), .character(" "): pause()
        case .character("r"): return .refresh
        default: break
        }
        return nil
    }

    private mutating func browse(_ key: Key) -> Action? {
        switch key {
        case .up, .character("k"): look { $0.move(by: -1, $1) }
        case .down, .character("j"): look { $0.move(by: 1, $1) }
        case .pageUp: look { [page] in $0.move(by: -page, $1) }
        case .pageDown: look { [page] in $0.move(by: page, $1) }
        case .home, .character("g"): look { $0.move(by: -.max / 2, $1) }
        case .end, .character("G"): look { $0.move(by: .max / 2, $1) }
        case .left: look { $0.moveAside(by: -1, $1) }
        case .right: look { $0.moveAside(by: 1, $1) }
        case .tab: pane = pane.next()
        case .backTab: pane = pane.next(-1)
        case .character(let scalar) where ("1"..."6").contains(scalar): pane = Pane(rawValue: Int(scalar.value - 0x31))!
        case .character("/"): mode = .filtering(before: view.states[pane]?.filter ?? "")
        case .escape: look { $0.setFilter("", $1) }
        case .character("s"): look { $0.sortByNext($1) }
        case .character("S"): look { $0.reverse($1) }
        case .character("l"): with { view, _ in view.level = .init(rawValue: view.level.rawValue % 3 + 1)! }
        case .character("]"): choose(container: current + 1)
        case .character("["): choose(container: current - 1)
        case .enter: return view.chosen(in: pane)?.target.flatMap { open($0) }
        case .character("e"), .character("f"): return view.chosen(in: pane)?.target.flatMap { move(key, $0) }
        default: return pressAnywhere(key)
        }
        return nil
    }

    private mutating func read(_ key: Key) -> Action? {
        let top = details.count - 1
        switch key {
        case .up, .character("k"): details[top].move(by: -1)
        case .down, .character("j"): details[top].move(by: 1)
        case .pageUp: details[top].move(by: -page)
        case .pageDown: details[top].move(by: page)
        case .home, .character("g"): details[top].move(by: -.max / 2)
        case .end, .character("G"): details[top].move(by: .max / 2)
        case .left: details[top].moveAside(by: -8)
        case .right: details[top].moveAside(by: 8)
        case .escape, .backspace: details.removeLast()
        case .tab, .backTab: details = []
        case .enter:
            let detail = details[top]
            return detail.lines.indices.contains(detail.place) ? detail.lines[detail.place].target.flatMap { open($0) } : nil
        case .character("e"), .character("f"): return details[top].target.flatMap { move(key, $0) }
        default: return pressAnywhere(key)
        }
        return nil
    }

    /// The action of a key that evicts or fetches; only items have one.
    private func move(_ key: Key, _ target: Target) -> Action? {
        guard case .item(let path) = target else { return nil }
        return key == .character("e") ? .evict(path, container: current) : .fetch(path, container: current)
    }

    /// The distance of a page; slightly less than a screen, so that some context stays visible.
    private var page: Int { max(1, size.rows - 12) }

    private mutating func open(_ target: Target) -> Action? {
        if case .log(let path) = target { return .open(log: path) }
        if let detail = DetailMaker(view: view, now: now, files: files).detail(of: target) { details.append(detail) }
        return nil
    }

    private mutating func choose(container: Int) {
        let count = live.count
        (current, details) = ((container + count) % count, [])
        prepare()
    }

    private mutating func pause() {
        if let frozen {
            // The user's selections stay, and the facts are new.
            for index in live.indices { live[index].adopt(frozen[index]) }
            self.frozen = nil
        } else {
            frozen = live
        }
        missed = 0
    }
}
