import Testing

@testable import TreeWatching

/// The climb above a root, by table.
@Suite("The climb above a root")
struct RootClimbTests {
    /// Answers a climb from what stands at each depth, and lists the steps.
    private func steps(
        depth: Int, isLost: Bool = true, _ watched: (Int) -> RootClimb.Watched, found: (Int) -> RootClimb.Found = { _ in .nothing },
        after: (String) -> Void = { _ in }
    ) -> [String] {
        var climb = RootClimb(depth: depth, isLost: isLost)
        var steps: [String] = []
        while true {
            switch climb.step {
            case .watch(let depth, let forEntries):
                steps.append("watch \(depth)\(forEntries ? " for entries" : "")")
                climb.watched(watched(depth))
            case .look(let depth):
                steps.append("look \(depth)")
                climb.looked(found(depth))
            case .done(let isHeard):
                return steps + [isHeard ? "heard" : "not heard"]
            }
            after(steps.last!)
        }
    }

    @Test("W-07: only the lowest directory that exists is watched for entries, and the place below it is looked at after that")
    func lowest() {
        #expect(
            steps(depth: 4) { $0 > 1 ? .missing : .directory }
                == ["watch 3 for entries", "watch 2 for entries", "watch 1 for entries", "look 2", "watch 0", "heard"])
        #expect(steps(depth: 2) { _ in .directory } == ["watch 1 for entries", "watch 0", "heard"])
        #expect(steps(depth: 2, isLost: false) { _ in .directory } == ["watch 1", "watch 0", "heard"])
        #expect(steps(depth: 0) { _ in .directory } == ["not heard"])
    }

    @Test("W-07: a directory that came behind the climb's back is found by the look, and one that went by its missing parent")
    func cameAndWent() {
        var lowest = 0
        // Depth 1 is made between the attempt to watch it and the watch above it.
        #expect(
            steps(depth: 3, { $0 > lowest ? .missing : .directory }, found: { $0 <= lowest ? .directory : .nothing }) { step in
                if step == "watch 0 for entries", lowest == 0 { lowest = 1 }
            }
                == [
                    "watch 2 for entries", "watch 1 for entries", "watch 0 for entries", "look 1", "watch 2 for entries", "watch 1 for entries",
                    "look 2", "watch 0", "heard",
                ])
        var isThere = true
        // Depths 1 and 2 go when depth 2 is watched.
        #expect(
            steps(depth: 3) { depth in
                defer { if depth == 2 { isThere = false } }
                return depth == 0 || isThere ? .directory : .missing
            } == ["watch 2 for entries", "watch 1", "watch 2 for entries", "watch 1 for entries", "watch 0 for entries", "look 1", "heard"])
    }

    @Test("W-07: what cannot be watched, leads through a link or hides what lies below is not heard")
    func unheard() {
        #expect(steps(depth: 2) { $0 == 1 ? .refused : .directory }.last == "not heard")
        #expect(steps(depth: 2) { $0 == 1 ? .linked : .directory }.last == "not heard")
        #expect(steps(depth: 2, isLost: false) { $0 == 1 ? .linked : .directory }.last == "heard")
        for (found, outcome) in [(RootClimb.Found.link, "not heard"), (.hidden, "not heard"), (.file, "heard"), (.nothing, "heard")] {
            #expect(steps(depth: 2, { $0 == 1 ? .missing : .directory }, found: { _ in found }).last == outcome)
        }
        #expect(steps(depth: 2) { _ in .refused }.last == "not heard")
    }

    @Test("W-07: a climb that finds something new every time ends")
    func restless() {
        let steps = steps(depth: 2, { $0 == 1 ? .missing : .directory }, found: { _ in .directory })
        #expect(steps.count == RootClimb.most * 3 + 1 && steps.last == "not heard")
    }
}
