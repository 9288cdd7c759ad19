import Foundation
import JournalModel
import Testing

/// The form, which merges what another device writes while it is open.
struct FormTests {
    private let post = PostEntry(id: "1", contents: PostContents(title: "Hike", body: "Up.", tags: ["summer"]))

    /// Opens a form on a screen, types, and lets the post change.
    private func form(_ keys: [Key], then change: ((inout PostContents) -> Void)? = nil, isNew: Bool = false) throws -> PostForm {
        var screen = JournalScreen(size: ScreenSize(rows: 24, columns: 60))
        screen.show(JournalContents(posts: [post]))
        _ = screen.press(.character(isNew ? "n" : "e"))
        for key in keys { _ = screen.press(key) }
        if let change {
            var changed = post
            change(&changed.contents)
            screen.show(JournalContents(posts: [changed]))
        }
        guard case .form(let form) = screen.state else { throw CancellationError() }
        return form
    }

    private func keys(_ text: String) -> [Key] { text.map { $0 == "\n" ? .enter : .character($0) } }

    @Test("Tab goes through title, text and tags, and back-tab returns; Enter goes on in a field of one line and breaks a line in the text")
    func fields() throws {
        #expect(try form([.tab]).focus == .body)
        #expect(try form([.tab, .tab]).focus == .tags)
        #expect(try form([.tab, .tab, .tab]).focus == .title)
        #expect(try form([.backTab]).focus == .tags)
        #expect(try form([.enter]).focus == .body)
        let new = try form(keys("Swim") + [.tab] + keys("One\nTwo") + [.tab] + keys("Lake, summer,, lake"), isNew: true)
        let edit = try #require(new.edit())
        #expect(edit.before == nil)
        #expect(edit.after?.title == "Swim" && edit.after?.body == "One\nTwo" && edit.after?.tags == ["lake", "summer"])
        #expect(try form([], isNew: true).edit() == nil, "an empty form saves nothing")
    }

    @Test("The keys of the cursor move in a text of several lines, and text is typed and deleted where the cursor is")
    func cursor() throws {
        let table: [([Key], String)] = [
            ([.home] + keys("> "), "> Up."), ([.left, .backspace], "U."), ([.home, .delete], "p."),
            (keys("\nB") + [.up] + keys("!"), "U!p.\nB"), (keys("\nLong") + [.up, .end, .down] + keys("!"), "Up.\nLon!g"),
            (keys("\n\n") + [.up, .up] + keys("!"), "!Up.\n\n"), ([.up, .down, .right] + keys("!"), "Up.!"), ([.home, .left, .backspace], "Up."),
        ]
        for (pressed, text) in table { #expect(try form([.tab] + pressed)[.body].text == text, "\(pressed)") }
    }

    @Test("A field that the person has not touched shows what another device writes")
    func untouched() throws {
        let form = try form([.tab] + keys("!")) { $0.title = "Long hike" }
        #expect(form[.title].text == "Long hike" && form[.body].text == "Up.!")
        #expect(form.changedElsewhere.isEmpty)
        let edit = try #require(form.edit())
        let before = try #require(edit.before)
        #expect(edit.after?.differences(from: before) == [.body], "the save leaves the other device's title")
    }

    @Test("A field that both have changed keeps what the person types, and says so; a save replaces the newer value")
    func both() throws {
        let form = try form(keys("!")) { $0.title = "Long hike" }
        #expect(form[.title].text == "Hike!" && form.changedElsewhere == [.title] && form.base.title == "Long hike")
        let edit = try #require(form.edit())
        #expect(edit.before?.title == "Long hike" && edit.after?.title == "Hike!")
        #expect(try self.form(keys("!")) { $0.title = "Hike!" }.changedElsewhere.isEmpty, "both wrote one value")
    }

    @Test("A post that another device removes meanwhile is written again by a save, as a new one")
    func removed() throws {
        var screen = JournalScreen(size: ScreenSize(rows: 24, columns: 60))
        screen.show(JournalContents(posts: [post]))
        _ = screen.press(.character("e"))
        screen.show(JournalContents(posts: []))
        guard case .form(let form) = screen.state else { throw CancellationError() }
        #expect(form.isRemoved)
        let edit = try #require(form.edit())
        #expect(edit.before == nil && edit.post != "1" && edit.after?.tags == ["summer"])
    }

    @Test("A form of a post that a search does not find goes on")
    func hidden() throws {
        var screen = JournalScreen(size: ScreenSize(rows: 24, columns: 60))
        screen.show(JournalContents(posts: [post], found: ["1"]))
        _ = screen.press(.character("e"))
        screen.show(JournalContents(posts: [post], found: []))
        guard case .form(let form) = screen.state else { throw CancellationError() }
        #expect(!form.isRemoved)
    }
}
