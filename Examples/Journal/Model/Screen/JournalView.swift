internal import Foundation

/// Draws a ``JournalScreen``: a function from a state to lines.
public enum JournalView {
    /// The keys and their meanings, for `?` and for `--help`.
    public static let keys: [(keys: String, meaning: String)] = [
        ("↑ ↓, k j", "select a post, or scroll in one"),
        ("Enter, Esc", "show a post; back to the list, or to all posts"),
        ("n, e, d", "write a new post; edit one; remove one"),
        ("p, K, J", "pin or unpin a post; move a pinned post up or down"),
        ("/", "search titles and texts"),
        ("u, r", "undo, redo"),
        ("Tab, Ctrl-S, Esc", "in a form: the next field, save, close without saving"),
        ("o", "go offline, or online again"),
        ("S, A", "sign out, or in; change to another account"),
        ("W, R", "delete the container, as rm -r does; write it again"),
        ("?, q", "show the keys; quit"),
    ]

    /// Returns the lines of the screen: at most as many, and as wide, as its size allows.
    public static func lines(_ screen: JournalScreen) -> [String] {
        let columns = max(1, screen.size.columns)
        let body = body(screen, columns).prefix(room(screen))
        let padding = Array(repeating: "", count: room(screen) - body.count)
        let lines = [title(screen), String(repeating: "─", count: columns)] + body + padding + [foot(screen), hint(screen)]
        return lines.prefix(max(1, screen.size.rows)).map { TerminalText.clipped($0, to: columns) }
    }

    /// The number of lines between the title and the foot.
    private static func room(_ screen: JournalScreen) -> Int { max(1, screen.size.rows - 4) }

    private static func title(_ screen: JournalScreen) -> String {
        let count = screen.contents.listed.count
        let posts = count == 1 ? "1 post" : "\(count) posts"
        let search = screen.search.isEmpty ? "" : " · “\(screen.search)”"
        return "Journal of \(screen.status?.line ?? "…") · \(posts)\(search)"
    }

    private static func foot(_ screen: JournalScreen) -> String {
        switch screen.state {
        case .search(let field): "Search: \(text(field))"
        case .account(let field): "Sign in as: \(text(field))"
        case .question(let question): "\(question.text) y/n"
        default: screen.message
        }
    }

    private static func hint(_ screen: JournalScreen) -> String {
        switch screen.state {
        case .form: "Tab next field · Ctrl-S save · Esc cancel"
        case .search, .account: "Enter accept · Esc cancel"
        case .post: "Esc list · e edit · d remove · p pin"
        case .question: "y yes · any other key no"
        case .help: "any key closes"
        case .list: "Enter show · n new · e edit · / search · u undo · ? help · q quit"
        }
    }

    private static func body(_ screen: JournalScreen, _ columns: Int) -> [String] {
        switch screen.state {
        case .help: keys.map { "  \($0.keys.padding(toLength: 18, withPad: " ", startingAt: 0))\($0.meaning)" }
        case .form(let form): FormView.lines(form, size: ScreenSize(rows: room(screen), columns: columns))
        case .post(let firstLine):
            screen.selected.map { Array(post($0, columns).dropFirst(min(firstLine, lastFirstLine(screen)))) } ?? []
        default: list(screen)
        }
    }

    private static func list(_ screen: JournalScreen) -> [String] {
        let listed = screen.contents.listed
        if listed.isEmpty { return [screen.search.isEmpty ? "No posts yet: n writes one." : "No post has these words."] }
        let room = room(screen)
        let index = listed.firstIndex { $0.id == screen.selection } ?? 0
        let first = max(0, min(index - room / 2, listed.count - room))
        return listed[first..<min(listed.count, first + room)].map { "\($0.id == screen.selection ? ">" : " ") \(line($0))" }
    }

    /// Returns text that a terminal only shows: the numbers of control characters replace them.
    public static func printable(_ text: String) -> String { TerminalText.printable(text) }

    /// Returns a post as a line of a list.
    public static func line(_ post: PostEntry) -> String {
        var words = [post.isPinned ? "◆" : " ", date(post), post.contents.title.isEmpty ? "(no title)" : post.contents.title]
        words += post.contents.tags.map { "#\($0)" }
        if !post.attachments.isEmpty { words.append("[\(post.attachments.map(\.name).joined(separator: ", "))]") }
        return TerminalText.printable(words.joined(separator: " "))
    }

    /// Returns a whole post: title, tags, text, and the thumbnails of its attachments.
    public static func post(_ post: PostEntry, _ columns: Int) -> [String] {
        let contents = post.contents
        var text = "\(contents.title)\n\(date(post)) \(contents.tags.map { "#\($0)" }.joined(separator: " "))\n\n\(contents.body)"
        for attachment in post.attachments { text += "\n\n[\(attachment.name), \(attachment.size) bytes]\n\(attachment.thumbnail)" }
        return TerminalText.wrapped(text, to: columns)
    }

    /// Returns the last line of a post at which the screen can begin.
    static func lastFirstLine(_ screen: JournalScreen) -> Int {
        guard let selected = screen.selected else { return 0 }
        return max(0, post(selected, max(1, screen.size.columns)).count - room(screen))
    }

    private static func date(_ post: PostEntry) -> String { post.contents.created.formatted(.iso8601.year().month().day()) }

    /// A field as text, with a bar where the cursor is.
    static func text(_ field: TextField) -> String { "\(field.parts.before)▏\(field.parts.after)" }
}
