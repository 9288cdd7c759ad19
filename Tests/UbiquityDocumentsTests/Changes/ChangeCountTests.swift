import Testing
import UbiquityDocuments

struct ChangeCountTests {
    /// One step, and whether there is something to save after it.
    private enum Step {
        case change(ChangeCount.Change, Bool)
        /// The content of the present state was taken, and has been saved.
        case save(Bool)
    }

    @Test("D-05: what is undone leaves nothing to save, and what is done after an undo always does")
    func table() {
        let rows: [(String, [Step])] = [
            ("a change is saved", [.change(.done, true), .save(false), .change(.done, true)]),
            ("a change is undone", [.change(.done, true), .change(.undone, false), .change(.redone, true)]),
            ("back to the saved state by undo", [.change(.done, true), .save(false), .change(.done, true), .change(.undone, false)]),
            ("back to the saved state by redo", [.change(.done, true), .save(false), .change(.undone, true), .change(.redone, false)]),
            (
                "another change in the place of the saved one",
                [.change(.done, true), .save(false), .change(.undone, true), .change(.done, true), .change(.undone, true), .change(.redone, true)]
            ),
            ("more is undone than was done", [.change(.undone, true), .save(false), .change(.redone, true), .change(.undone, false)]),
            ("cleared", [.change(.done, true), .change(.cleared, false), .change(.undone, true)]),
        ]
        for (name, steps) in rows {
            var count = ChangeCount()
            for (index, step) in steps.enumerated() {
                switch step {
                case .change(let change, let isUnsaved):
                    count.update(change)
                    #expect(count.hasUnsavedChanges == isUnsaved, "\(name), step \(index)")
                case .save(let isUnsaved):
                    count.saved(count.token)
                    #expect(count.hasUnsavedChanges == isUnsaved, "\(name), step \(index)")
                }
            }
        }
    }

    @Test("D-05: what changes while a content is being saved stays to be saved")
    func meanwhile() {
        var count = ChangeCount()
        count.update(.done)
        let token = count.token
        count.update(.done)
        count.saved(token)
        #expect(count.hasUnsavedChanges)
        count.update(.undone)
        #expect(!count.hasUnsavedChanges)
        // Undone while it was saved, and changed otherwise: the saved state cannot be reached any more.
        var other = ChangeCount()
        other.update(.done)
        let taken = other.token
        other.update(.undone)
        other.update(.done)
        other.saved(taken)
        #expect(other.hasUnsavedChanges)
    }

    @Test("Tens of thousands of changes are counted in bounded memory, and the saved state is found while it can be reached")
    func many() {
        var count = ChangeCount()
        for _ in 0..<20_000 { count.update(.done) }
        count.saved(count.token)
        for _ in 0..<1000 { count.update(.undone) }
        #expect(count.hasUnsavedChanges)
        for _ in 0..<1000 { count.update(.redone) }
        #expect(!count.hasUnsavedChanges)
    }
}
