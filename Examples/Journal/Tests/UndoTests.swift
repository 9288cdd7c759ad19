import Foundation
import JournalModel
import Testing
import Ubiquity
import UbiquityTesting

/// Undo and redo, also after another device has changed the post.
@Suite(.timeLimit(.minutes(40)))
struct UndoTests {
    @Test("The stack undoes the last edit first, redoes what was undone, and forgets that after a new edit")
    func stack() {
        let edits = ["a", "b", "c"].map { PostEdit(creating: PostContents(title: $0)) }
        var stack = UndoStack()
        #expect(stack.edit(for: .undo) == nil && stack.edit(for: .redo) == nil)
        stack.record(edits[0])
        stack.record(edits[1])
        #expect(stack.edit(for: .undo) == edits[1].inverse)
        stack.finish(.undo, .done)
        #expect(stack.edit(for: .undo) == edits[0].inverse && stack.edit(for: .redo) == edits[1])
        stack.finish(.redo, .done)
        #expect(stack.edit(for: .undo) == edits[1].inverse && stack.edit(for: .redo) == nil)
        stack.finish(.undo, .done)
        stack.record(edits[2])
        #expect(stack.edit(for: .redo) == nil && stack.edit(for: .undo) == edits[2].inverse)
    }

    @Test("A step that is refused leaves the stack, so that the step before can be undone")
    func refused() {
        let edits = ["a", "b"].map { PostEdit(creating: PostContents(title: $0)) }
        var stack = UndoStack()
        for edit in edits { stack.record(edit) }
        stack.finish(.undo, .changed([.title]))
        #expect(stack.edit(for: .undo) == edits[0].inverse && stack.edit(for: .redo) == nil)
        stack.finish(.undo, .done)
        stack.finish(.redo, .exists)
        #expect(stack.edit(for: .redo) == nil && stack.edit(for: .undo) == nil)
    }

    @Test("An undo restores the values, if no other device has changed them; changes of other fields do not matter, and stay")
    func values() async throws {
        try await withJournals { devices, desk, pocket in
            let id = try await desk.add("Hike", body: "Up.")
            let edit = try await desk.change(id) { $0.title = "Long hike" }
            try await devices.settle(desk.store, pocket.store)
            try await pocket.change(id) { $0.body = "Up and down." }
            try await devices.settle(desk.store, pocket.store)
            #expect(try await desk.apply(edit.inverse) == .done)
            #expect(try await desk.contents(id)?.title == "Hike")
            #expect(try await desk.contents(id)?.body == "Up and down.")
            #expect(try await desk.apply(edit) == .done, "it is redone")
            try await devices.settle(desk.store, pocket.store)
            try await pocket.change(id) { $0.title = "Longest hike" }
            try await devices.settle(desk.store, pocket.store)
            #expect(try await desk.apply(edit.inverse) == .changed([.title]))
            #expect(try await desk.contents(id)?.title == "Longest hike")
            _ = try await pocket.remove(id)
            try await devices.settle(desk.store, pocket.store)
            #expect(try await desk.apply(edit.inverse) == .removed)
        }
    }

    @Test("A removal that is undone brings the post back on all devices, with tags, place and attachments")
    func removal() async throws {
        try await withJournals { devices, desk, pocket in
            let id = try await desk.add("Hike", tags: ["summer"])
            _ = try await desk.setPinned(true, id)
            let data = Data("a text\nof two lines".utf8)
            _ = try await desk.attach(data, named: "a.txt", to: id)
            let before = try await desk.posts()
            let edit = try #require(try await desk.remove(id))
            try await devices.settle(desk.store, pocket.store)
            #expect(try await pocket.posts() == [])
            #expect(try await desk.remove(id) == nil)
            #expect(try await desk.apply(edit.inverse) == .done)
            #expect(try await desk.apply(edit.inverse) == .exists)
            try await devices.settle(desk.store, pocket.store)
            for journal in [desk, pocket] { #expect(try await journal.posts() == before) }
            #expect(try await pocket.attachment("a.txt", of: id)?.data == data)
        }
    }

    @Test("A new post is not undone once another device has changed it, or given it an attachment")
    func creation() async throws {
        try await withJournals { devices, desk, pocket in
            let edit = PostEdit(creating: PostContents(title: "Hike"))
            #expect(try await desk.apply(edit) == .done)
            try await devices.settle(desk.store, pocket.store)
            _ = try await pocket.attach(Data([1]), named: "one", to: edit.post)
            try await devices.settle(desk.store, pocket.store)
            #expect(try await desk.apply(edit.inverse) == .attached)
            try await pocket.change(edit.post) { $0.tags = ["summer"] }
            try await devices.settle(desk.store, pocket.store)
            #expect(try await desk.apply(edit.inverse) == .changed([.tags]))
            #expect(try await desk.titles() == ["Hike"])
        }
    }

    @Test("A move is undone by the place from before")
    func move() async throws {
        try await withJournals { _, desk, _ in
            var ids: [String] = []
            for title in ["a", "b", "c"] {
                ids.append(try await desk.add(title))
                _ = try await desk.setPinned(true, ids[ids.count - 1])
            }
            let edit = try #require(try await desk.move(ids[2], by: -2))
            #expect(try await desk.pinned() == ["c", "a", "b"])
            #expect(try await desk.apply(edit.inverse) == .done)
            #expect(try await desk.pinned() == ["a", "b", "c"])
            let unpinning = try #require(try await desk.setPinned(false, ids[1]))
            #expect(try await desk.pinned() == ["a", "c"])
            #expect(try await desk.apply(unpinning.inverse) == .done)
            #expect(try await desk.pinned() == ["a", "b", "c"])
        }
    }
}
