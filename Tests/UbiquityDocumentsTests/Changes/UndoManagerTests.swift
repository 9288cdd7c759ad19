import Testing
import UbiquityDocuments

@MainActor
struct UndoManagerTests {
    @MainActor private final class Page {
        let manager = UndoManager()
        var text = ""

        func set(_ new: String) {
            let old = text
            manager.registerUndo(withTarget: self) { $0.set(old) }
            text = new
        }
    }

    @Test("D-05: an explicit group is undone and made again as one, with its name")
    func explicit() {
        let page = Page()
        page.manager.beginUndoGrouping()
        page.set("a")
        page.manager.beginUndoGrouping()
        page.set("ab")
        page.manager.endUndoGrouping()
        page.set("abc")
        page.manager.setActionName("Typing")
        page.manager.endUndoGrouping()
        #expect(page.manager.canUndo && !page.manager.canRedo && page.manager.undoActionName == "Typing")
        page.manager.undo()
        #expect(page.text == "" && page.manager.canRedo && !page.manager.canUndo && page.manager.redoActionName == "Typing")
        page.manager.redo()
        #expect(page.text == "abc" && page.manager.canUndo && !page.manager.canRedo)
        page.manager.undo()
        #expect(page.text == "")
    }

    @Test("D-05: what is registered in one turn of the main actor is one group; the next turn has its own")
    func automatic() async {
        let page = Page()
        page.set("a")
        page.set("ab")
        #expect(page.manager.groupingLevel == 1)
        // The turn ends.
        await Task { @MainActor in }.value
        await Task { @MainActor in }.value
        #expect(page.manager.groupingLevel == 0)
        page.set("abc")
        page.manager.undo()
        #expect(page.text == "ab")
        page.manager.undo()
        #expect(page.text == "" && !page.manager.canUndo)
    }

    @Test("Without grouping by turns each change is a group; only so many are remembered; a new change leaves nothing to redo")
    func single() {
        let page = Page()
        page.manager.groupsByEvent = false
        page.manager.levelsOfUndo = 2
        for text in ["a", "b", "c"] { page.set(text) }
        page.manager.undo()
        page.manager.undo()
        #expect(page.text == "a" && !page.manager.canUndo && page.manager.canRedo)
        page.set("d")
        #expect(!page.manager.canRedo)
        page.manager.disableUndoRegistration()
        page.set("e")
        page.manager.enableUndoRegistration()
        page.manager.undo()
        #expect(page.text == "a")
    }

    @Test("An explicit group that begins in the turn of another change is its own, and is not ended by the end of the turn, nor by a reload")
    func explicitAfterAutomatic() async {
        let page = Page()
        page.set("a")
        page.manager.beginUndoGrouping()
        page.set("ab")
        for _ in 0..<10 { await Task.yield() }
        await Task { @MainActor in }.value
        #expect(page.manager.groupingLevel == 1)
        page.set("abc")
        page.manager.endUndoGrouping()
        page.manager.undo()
        #expect(page.text == "a")
        page.manager.beginUndoGrouping()
        page.set("x")
        page.manager.removeAllActions()
        page.manager.endUndoGrouping()
        #expect(!page.manager.canUndo && !page.manager.canRedo)
    }

    @Test("A target that is gone is not changed, and is not kept alive")
    func gone() {
        let manager = UndoManager()
        weak var held: Page?
        do {
            let page = Page()
            held = page
            manager.registerUndo(withTarget: page) { $0.text = "undone" }
        }
        #expect(held == nil)
        manager.undo()
        #expect(manager.canUndo == false)
    }
}
