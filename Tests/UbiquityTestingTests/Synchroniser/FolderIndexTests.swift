import Testing
import UbiquityStores

@testable import UbiquityTesting

/// The synchroniser's decisions, without files.
struct FolderIndexTests {
    private static func file(_ text: String, at time: Int64 = 1) -> FolderIndex.Finding {
        .init(content: .file(ContentHash(of: Array(text.utf8))), modified: time)
    }

    /// Two devices that both had `old`, after each has found something else, or the same.
    private static func apart(_ first: FolderIndex.Finding, _ second: FolderIndex.Finding) -> (FolderIndex, FolderIndex) {
        var (one, other) = (FolderIndex(of: 1), FolderIndex(of: 2))
        one.note(["a": file("old")])
        other.set("a", to: one.entries["a"]!)
        one.note(first.content == .deleted ? [:] : ["a": first])
        other.note(second.content == .deleted ? [:] : ["a": second])
        return (one, other)
    }

    private static let gone = FolderIndex.Finding(content: .deleted)
    private static let directory = FolderIndex.Finding(content: .directory)

    @Test(
        "What one device has changed goes to the other, a deletion too",
        arguments: [file("new", at: 2), file("new", at: 0), gone, directory])
    func newer(_ change: FolderIndex.Finding) {
        let (one, other) = Self.apart(change, Self.file("old"))
        #expect(other.step("a", offered: one.entries["a"]!) == .take(one.entries["a"]!, keepsCopy: false))
        #expect(one.step("a", offered: other.entries["a"]!) == .nothing)
    }

    @Test(
        "Of two changes that know nothing of each other one stays: the later edit, an edit before a deletion, a directory before a file",
        arguments: [
            (file("x", at: 3), file("y", at: 2), true), (file("x", at: 2), gone, false), (directory, file("y", at: 9), true),
            (directory, gone, false),
        ])
    func concurrent(_ stronger: FolderIndex.Finding, _ weaker: FolderIndex.Finding, keepsCopy: Bool) throws {
        let (one, other) = Self.apart(stronger, weaker)
        #expect(one.step("a", offered: other.entries["a"]!) == .nothing)
        guard case .take(let taken, keepsCopy) = other.step("a", offered: one.entries["a"]!) else {
            Issue.record("it is not taken, or what is there is not kept as it should be")
            return
        }
        #expect(taken.finding == stronger)
        // The one that stayed learns that it did.
        #expect(one.step("a", offered: taken) == .agree(taken))
    }

    @Test("Two edits of one time and other bytes: both devices choose the same")
    func tie() {
        let (one, other) = Self.apart(Self.file("x", at: 2), Self.file("y", at: 2))
        let steps = [one.step("a", offered: other.entries["a"]!), other.step("a", offered: one.entries["a"]!)]
        #expect(steps.count { $0 == .nothing } == 1)
    }

    @Test("Two devices that have come to the same content agree, without a copy")
    func same() {
        for content in [Self.file("x", at: 2), Self.gone] {
            let (one, other) = Self.apart(content, content)
            guard case .agree(let entry) = one.step("a", offered: other.entries["a"]!) else {
                Issue.record("\(content) is not agreed upon")
                return
            }
            #expect(entry.version.order(to: one.entries["a"]!.version) == .newer)
        }
    }

    @Test("What was never here and is gone elsewhere is no work; what has not changed is no change")
    func nothing() {
        let (one, _) = Self.apart(Self.gone, Self.gone)
        #expect(FolderIndex(of: 3).step("a", offered: one.entries["a"]!) == .agree(one.entries["a"]!))
        var again = one
        again.note([:])
        #expect(again.entries == one.entries)
    }
}
