import Foundation
import JournalModel
import Testing
import Ubiquity

/// The screen as a machine: keys and posts in, effects out.
struct ScreenTests {
    private let posts = [
        PostEntry(id: "1", contents: PostContents(title: "Hike", body: "Up.", tags: ["summer"])),
        PostEntry(id: "2", contents: PostContents(title: "Sail")),
        PostEntry(id: "3", contents: PostContents(title: "Swim")),
    ]

    /// Makes a screen that shows the posts.
    private func screen(_ posts: [PostEntry]? = nil, of account: String? = "alice") -> JournalScreen {
        var screen = JournalScreen(size: ScreenSize(rows: 24, columns: 60))
        screen.show(JournalContents(posts: posts ?? self.posts))
        screen.show(JournalStatus(account: account))
        return screen
    }

    @Test("In the list and in a post, keys have their effects")
    func keys() {
        let table: [(Character, ScreenEffect)] = [("q", .quit), ("p", .setPinned(true, "1")), ("o", .setOffline(true)), ("S", .signOut)]
        for (key, effect) in table {
            for before in [nil, Key.enter] {
                var screen = screen()
                if let before { _ = screen.press(before) }
                #expect(screen.press(.character(key)) == effect)
            }
        }
    }

    @Test("Up and down select, and stop at the ends")
    func selecting() {
        var screen = screen()
        let table: [(Key, String)] = [(.down, "2"), (.character("j"), "3"), (.down, "3"), (.up, "2"), (.character("k"), "1"), (.up, "1")]
        for (key, selection) in table {
            #expect(screen.press(key) == nil)
            #expect(screen.selection == selection, "\(key)")
        }
    }

    @Test("A selected post that another device removes leaves the selection at its place, and closes its view")
    func removedSelection() {
        var screen = screen()
        _ = screen.press(.down)
        _ = screen.press(.enter)
        #expect(screen.state == .post(firstLine: 0))
        screen.show(JournalContents(posts: [posts[0], posts[2]]))
        #expect(screen.selection == "3" && screen.state == .list)
        screen.show(JournalContents(posts: []))
        #expect(screen.selection == nil)
        for key in "edpKJ" { #expect(screen.press(.character(key)) == nil && screen.state == .list) }
    }

    @Test("A question is affirmed by y alone")
    func questions() {
        let table: [(Character, ScreenState.Question, ScreenEffect)] = [("d", .remove("1"), .remove("1")), ("W", .wipe, .wipe)]
        for (key, question, effect) in table {
            var screen = screen()
            #expect(screen.press(.character(key)) == nil)
            #expect(screen.state == .question(question))
            #expect(screen.press(.character("n")) == nil && screen.state == .list)
            _ = screen.press(.character(key))
            #expect(screen.press(.character("y")) == effect && screen.state == .list)
        }
    }

    @Test("A container is written again only if it is gone")
    func republishing() {
        var screen = screen()
        #expect(screen.press(.character("R")) == nil && screen.state == .list)
        screen.show(JournalStatus(account: "alice", suspension: "the container's directory is gone"))
        _ = screen.press(.character("R"))
        #expect(screen.press(.character("y")) == .republish)
    }

    @Test("While nobody is signed in, the keys of the account say how to sign in, and S asks for a name")
    func signedOut() {
        for key in "oAWR" {
            var screen = screen(of: nil)
            #expect(screen.press(.character(key)) == nil)
            #expect(screen.state == .list && screen.message == "Nobody is signed in: S signs in.", "\(key)")
        }
        var screen = screen(of: nil)
        #expect(screen.press(.character("S")) == nil)
        for character in "bob" { _ = screen.press(.character(character)) }
        #expect(screen.press(.enter) == .signIn("bob"))
        _ = screen.press(.character("S"))
        #expect(screen.press(.enter) == nil && screen.state == .list, "no name, no sign-in")
    }

    @Test("A search follows each key, is kept by Enter, and ends with Esc")
    func searching() {
        var screen = screen()
        _ = screen.press(.character("/"))
        #expect(screen.press(.character("s")) == .search("s"))
        #expect(screen.press(.character("a")) == .search("sa"))
        #expect(screen.press(.left) == nil)
        screen.show(JournalContents(posts: posts, found: ["2"]))
        #expect(screen.contents.listed.map(\.id) == ["2"] && screen.selection == "2")
        #expect(screen.press(.enter) == nil && screen.state == .list)
        #expect(screen.press(.escape) == .search("") && screen.search.isEmpty)
    }

    @Test("Only pinned posts move")
    func moving() {
        var screen = screen()
        #expect(screen.press(.character("K")) == nil && !screen.message.isEmpty)
        var pinned = posts
        pinned[0].contents.position = FractionalPosition("0V0000")
        screen.show(JournalContents(posts: pinned))
        #expect(screen.press(.character("K")) == .move("1", by: -1))
        #expect(screen.press(.character("J")) == .move("1", by: 1))
        #expect(screen.press(.character("p")) == .setPinned(false, "1"))
    }

    @Test("A saved edit can be undone and redone, until another account is there")
    func undo() {
        var screen = screen()
        #expect(screen.press(.character("u")) == nil && screen.message == "Nothing to undo.")
        let edit = PostEdit(creating: PostContents(title: "New"))
        screen.saved(edit, .done)
        #expect(screen.press(.character("u")) == .step(.undo, edit.inverse))
        screen.stepped(.undo, edit.inverse, .done)
        #expect(screen.press(.character("r")) == .step(.redo, edit))
        screen.stepped(.redo, edit, .changed([.title]))
        #expect(screen.message.contains("Another device has changed the title"))
        screen.saved(edit, .done)
        screen.show(JournalStatus(account: "alice", isOffline: true))
        #expect(screen.press(.character("u")) == .step(.undo, edit.inverse))
        screen.show(JournalStatus(account: "bob"))
        #expect(screen.press(.character("u")) == nil)
    }

    @Test("A post that an undo restores is selected once it is in the list")
    func restored() {
        var screen = screen([])
        let edit = PostEdit(post: "2", before: nil, after: posts[1].contents)
        screen.stepped(.undo, edit, .done)
        screen.show(JournalContents(posts: posts))
        #expect(screen.selection == "2")
    }

    @Test("A form whose save is refused stays open, and one that is saved closes")
    func form() throws {
        var screen = screen()
        _ = screen.press(.character("e"))
        _ = screen.press(.character("!"))
        guard case .apply(let edit)? = screen.press(.control("s")) else { throw Failure() }
        #expect(edit.post == "1" && edit.after?.title == "Hike!")
        screen.saved(edit, .changed([.title]))
        guard case .form = screen.state else { throw Failure() }
        screen.saved(edit, .done)
        #expect(screen.state == .list)
        #expect(screen.press(.character("u")) == .step(.undo, edit.inverse), "the refused save is not undone")
    }

    @Test("Esc leaves a form, and an unchanged form has nothing to save")
    func unchangedForm() {
        var screen = screen()
        for key in [Key.escape, .control("s")] {
            _ = screen.press(.character("e"))
            #expect(screen.press(key) == nil && screen.state == .list)
        }
    }

    private struct Failure: Error {}
}
