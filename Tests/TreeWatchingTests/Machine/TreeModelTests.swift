import SystemPackage
import Testing
import UbiquityTesting

@testable import TreeWatching

/// The machine over a tree that changes at random between any two of its looks.
@Suite("The state machine, at random")
struct TreeModelTests {
    /// A tree of few names, so that they come again and again.
    private struct Mutator {
        let tree: ScriptedTreeSource
        var random: SeededRandom

        mutating func step() {
            let (path, other) = (anywhere(), anywhere())
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<3: if status(path) == nil { tree.createDirectory(path) }
            case 3..<5: if status(path) != true { tree.write(path) }
            case 5..<8: if status(path) != nil { tree.remove(path) }
            case 8: if status(path) != nil, status(other) == nil, areApart(path, other) { tree.move(path, to: other) }
            default: if status(path) != nil, status(other) != nil, areApart(path, other) { tree.exchange(path, other) }
            }
        }

        private mutating func anywhere() -> FilePath {
            var path = FilePath()
            for _ in 0..<Int.random(in: 1...3, using: &random) { path.append(["a", "b", "c"].randomElement(using: &random)!) }
            return path
        }

        private func areApart(_ a: FilePath, _ b: FilePath) -> Bool { !a.starts(with: b) && !b.starts(with: a) }

        /// Whether a directory is there; nil where nothing is, or where a file is in the way.
        private func status(_ path: FilePath) -> Bool? { (try? tree.status(of: "/t/\(path.string)", followingLinks: false))?.isDirectory }
    }

    /// What is there, with a slash behind directories.
    private func present(_ tree: ScriptedTreeSource, below path: String = "") -> Set<String> {
        var listing = DirectoryListing()
        try? tree.list("/t/\(path)", into: &listing) {}
        var found: Set<String> = []
        for entry in listing.entries {
            let name = path + listing.withName(of: entry) { String(decoding: $0, as: UTF8.self) }
            found.insert(entry.isDirectory ? name + "/" : name)
            if entry.isDirectory { found.formUnion(present(tree, below: name + "/")) }
        }
        return found
    }

    @Test("W-08: whatever happens between two looks, the tree ends up known, and no directory deaf", arguments: 0..<20)
    func randomChanges(_ block: Int) {
        for seed in UInt64(block * 5)..<UInt64(block * 5 + 5) {
            let fixture = MachineFixture()
            var mutator = Mutator(tree: fixture.tree, random: SeededRandom(seed: seed))
            for round in 0..<4 {
                var left = 12
                fixture.between = {
                    guard left > 0, Bool.random(using: &mutator.random) else { return }
                    left -= 1
                    mutator.step()
                }
                for _ in 0..<6 {
                    for _ in 0..<Int.random(in: 0...4, using: &mutator.random) { mutator.step() }
                    fixture.take(bytes: Int.random(in: 64...400, using: &mutator.random))
                }
                fixture.between = nil
                fixture.settle()
                #expect(fixture.known.symmetricDifference(present(fixture.tree)) == [], "seed \(seed), round \(round)")
                for directory in present(fixture.tree) where directory.hasSuffix("/") { fixture.tree.write(FilePath("\(directory)probe\(round)")) }
                fixture.settle()
                #expect(fixture.known.symmetricDifference(present(fixture.tree)) == [], "seed \(seed), round \(round): deaf")
            }
        }
    }
}
