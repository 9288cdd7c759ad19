import Foundation
import JournalModel
import Testing
import Ubiquity

/// The lines of the screen.
struct ViewTests {
    private func screen(_ posts: [PostEntry], rows: Int = 12, columns: Int = 60) -> JournalScreen {
        var screen = JournalScreen(size: ScreenSize(rows: rows, columns: columns))
        screen.show(JournalStatus(account: "alice"))
        screen.show(JournalContents(posts: posts))
        return screen
    }

    private func posts(_ count: Int) -> [PostEntry] { (0..<count).map { PostEntry(id: "\($0)", contents: PostContents(title: "Post \($0)")) } }

    @Test("Every state fits into every size, with letters of one and of two cells", arguments: [(1, 1), (3, 8), (5, 20), (24, 80), (40, 200)])
    func sizes(rows: Int, columns: Int) {
        var contents = PostContents(title: "日本語の旅 e\u{301}", body: String(repeating: "山に登る。", count: 30), tags: ["夏"])
        contents.position = FractionalPosition("0V0000")
        let attachment = Attachment(post: "1", name: "a.txt", data: Data("one\ntwo".utf8))
        let entry = AttachmentEntry(id: attachment.id, post: "1", name: "a.txt", size: 7, thumbnail: attachment.thumbnail)
        for keys in [[], [Key.enter], [.enter, .down, .down], [.character("e"), .tab], [.character("?")], [.character("/")], [.character("W")]] {
            var screen = screen([PostEntry(id: "1", contents: contents, attachments: [entry])] + posts(30), rows: rows, columns: columns)
            for key in keys { _ = screen.press(key) }
            let lines = JournalView.lines(screen)
            #expect(lines.count <= rows)
            for line in lines {
                let wide = line.unicodeScalars.count { $0.value >= 0x2E80 && $0.value < 0xFFFF }
                #expect(line.count + wide <= columns, "\(keys): \(line)")
            }
        }
    }

    @Test("The list shows the selection wherever it is, pins, tags and attachments")
    func list() {
        var screen = screen(posts(100))
        for _ in 0..<50 { _ = screen.press(.down) }
        let lines = JournalView.lines(screen)
        #expect(lines.count == 12 && lines[0] == "Journal of alice · online · 100 posts")
        #expect(lines.contains { $0.hasPrefix("> ") && $0.hasSuffix("Post 50") })
        var post = PostEntry(id: "1", contents: PostContents(title: "Hike", tags: ["summer", "alps"], created: Date(timeIntervalSince1970: 0)))
        post.contents.position = FractionalPosition("0V0000")
        post.attachments = [AttachmentEntry(id: "2", post: "1", name: "map.ppm", size: 1, thumbnail: "")]
        #expect(JournalView.line(post) == "◆ 1970-01-01 Hike #alps #summer [map.ppm]")
    }

    @Test("A post of another device is only shown: control characters appear as their numbers")
    func control() {
        let post = PostEntry(id: "1", contents: PostContents(title: "a\u{1B}[2Jb", body: "c\u{9B}d\u{7}"))
        let text = JournalView.line(post) + JournalView.post(post, 80).joined()
        #expect(text.contains("a\\u{1b}[2Jb") && text.contains("c\\u{9b}d\\u{7}"))
        #expect(!text.unicodeScalars.contains { $0.properties.generalCategory == .control })
    }

    @Test("A long post scrolls to its last line and no further")
    func scrolling() {
        let body = (1...30).map { "line \($0)" }.joined(separator: "\n")
        var screen = screen([PostEntry(id: "1", contents: PostContents(title: "Long", body: body))])
        _ = screen.press(.enter)
        #expect(JournalView.lines(screen).contains("Long") && !JournalView.lines(screen).contains("line 30"))
        for _ in 0..<100 { _ = screen.press(.down) }
        #expect(JournalView.lines(screen).contains("line 30"))
        _ = screen.press(.up)
        #expect(!JournalView.lines(screen).contains("line 30") && JournalView.lines(screen).contains("line 29"))
    }

    @Test("A form shows the cursor, and the value that another device has written to a changed field")
    func form() {
        var post = PostEntry(id: "1", contents: PostContents(title: "Hike", body: "Up."))
        var screen = screen([post])
        _ = screen.press(.character("e"))
        _ = screen.press(.character("!"))
        post.contents.title = "Long hike"
        screen.show(JournalContents(posts: [post]))
        let lines = JournalView.lines(screen)
        #expect(lines.contains("> title: Hike!▏") && lines.contains("  ! another device wrote: Long hike"), "\(lines)")
    }

    @Test("Every key of the help is a key of the screen, and the screen's keys are in the help")
    func help() {
        let keys = Set(JournalView.keys.flatMap { $0.keys.split { $0 == "," || $0 == " " } }.filter { $0.count == 1 })
        #expect(keys == Set("↑↓kjnedpKJ/uroSAWR?q".map { Substring(String($0)) }))
        var screen = screen(posts(1), rows: 24, columns: 80)
        _ = screen.press(.character("?"))
        let lines = JournalView.lines(screen)
        for (_, meaning) in JournalView.keys { #expect(lines.contains { $0.contains(meaning) }, "\(meaning)") }
    }
}
