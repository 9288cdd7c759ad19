import SystemPackage
import Testing
import UbiquityTesting

@testable import TreeWatching

/// Many changes folded to few: who applies the few to what was there before has what is there now.
@Suite("Net changes")
struct NetChangesTests {
    /// A tree as a reader keeps it: which entry stands at which path.
    ///
    /// Two entries never have one number; 0 is one that the reader looks at anew.
    struct Model {
        var entries: [String: (number: Int, isDirectory: Bool)] = [:]

        /// Whether a reader takes no entry for another.
        func agrees(with model: Model) -> Bool {
            paths == model.paths && entries.allSatisfy { $0.value.number == 0 || $0.value.number == model.entries[$0.key]?.number }
        }
        var paths: Set<String> { Set(entries.map { $0.value.isDirectory ? $0.key + "/" : $0.key }) }
        func below(_ path: String) -> [String] { entries.keys.filter { $0.hasPrefix(path + "/") }.sorted() }

        mutating func take(_ path: String) -> [(String, (number: Int, isDirectory: Bool))] {
            (below(path) + [path]).compactMap { key in entries.removeValue(forKey: key).map { (String(key.dropFirst(path.count)), $0) } }
        }

        mutating func put(_ moving: [(String, (number: Int, isDirectory: Bool))], at path: String) {
            for (rest, entry) in moving { entries[path + rest] = entry }
        }

        /// Applies changes as a reader does.
        mutating func apply(_ batch: TreeChangeBatch) {
            var position = 0
            while position < batch.count {
                let change = batch[position]
                position += 1
                let path = String(change.path.string.dropFirst(3))
                let source = change.from.map { String($0.string.dropFirst(3)) }
                switch change.kind {
                case .created: entries[path] = (0, change.isDirectory)
                case .removed: _ = take(path)
                case .modified, .moved:
                    guard let source else {
                        entries[path]?.number = 0
                        break
                    }
                    if change.isExchange {
                        position += 1
                        let (first, second) = (take(source), take(path))
                        put(first, at: path)
                        put(second, at: source)
                    } else {
                        #expect(change.kind == .modified || entries[path] == nil, "\(source) is moved to \(path), where something stands")
                        put(take(source), at: path)
                    }
                default: break
                }
            }
        }
    }

    /// Changes a model at random, and tells of it as a watcher does.
    struct Mutator {
        var model = Model()
        var generator: SeededRandom
        var buffer = TreeChangeBuffer(root: Array("/t".utf8))
        var tick: UInt64 = 1
        var numbers = 0

        mutating func tell(_ code: TreeChangeRecord.Code, _ path: String, _ isDirectory: Bool, from source: String? = nil, exchange: Bool = false) {
            var record = TreeChangeRecord(tick: tick, time: 0, code: code)
            record.isDirectory = isDirectory
            record.isExchange = exchange
            buffer.append(record, path: Array(path.utf8), source: source.map { Array($0.utf8) })
            tick += 1
        }

        mutating func path() -> String {
            let depth = Int(generator.next() % 3) + 1
            return (0..<depth).map { _ in ["a", "b", "c"][Int(generator.next() % 3)] }.joined(separator: "/")
        }

        func isPossible(_ path: String) -> Bool {
            guard let slash = path.lastIndex(of: "/") else { return true }
            return model.entries[String(path[..<slash])]?.isDirectory == true
        }

        mutating func step() {
            let (path, other, choice) = (path(), path(), generator.next() % 10)
            guard isPossible(path) else { return }
            let entry = model.entries[path]
            switch choice {
            case 0...2 where entry == nil: add(path, isDirectory: choice == 0)
            case 3...4:
                if let entry { remove(path, entry.isDirectory) }
            case 5 where entry != nil && !entry!.isDirectory: tell(.modified, path, false)
            case 6...8: move(path, other)
            case 9: exchange(path, other)
            default: break
            }
        }

        private mutating func add(_ path: String, isDirectory: Bool) {
            numbers += 1
            model.entries[path] = (numbers, isDirectory)
            tell(.created, path, isDirectory)
        }

        private mutating func remove(_ path: String, _ isDirectory: Bool) {
            for path in model.below(path).reversed() { tell(.removed, path, model.entries[path]!.isDirectory) }
            tell(.removed, path, isDirectory)
            _ = model.take(path)
        }

        private func areApart(_ a: String, _ b: String) -> Bool { a != b && !a.hasPrefix(b + "/") && !b.hasPrefix(a + "/") }

        private mutating func move(_ source: String, _ target: String) {
            guard let entry = model.entries[source], areApart(source, target), isPossible(target) else { return }
            if let replaced = model.entries[target] {
                guard replaced.isDirectory == entry.isDirectory, model.below(target).isEmpty else { return }
                if replaced.isDirectory { remove(target, true) }
            }
            let isReplacing = model.entries[target] != nil
            let moving = model.take(source)
            model.entries[target] = nil
            model.put(moving, at: target)
            tell(isReplacing ? .modified : .moved, target, entry.isDirectory, from: source)
        }

        private mutating func exchange(_ a: String, _ b: String) {
            guard let first = model.entries[a], let second = model.entries[b], areApart(a, b) else { return }
            let (one, two) = (model.take(a), model.take(b))
            model.put(one, at: b)
            model.put(two, at: a)
            tell(.moved, b, first.isDirectory, from: a, exchange: true)
            tell(.moved, a, second.isDirectory, from: b, exchange: true)
        }
    }

    @Test("W-18: the net changes lead from what a reader knew to what there is, for random changes", arguments: 0..<40)
    func randomChanges(_ block: Int) {
        for seed in UInt64(block * 50)..<UInt64(block * 50 + 50) {
            var mutator = Mutator(generator: SeededRandom(seed: seed))
            for _ in 0..<20 { mutator.step() }
            var reader = Model()
            reader.apply(mutator.buffer.take())
            #expect(reader.agrees(with: mutator.model), "seed \(seed): applied one by one")
            reader = mutator.model
            var net = NetChanges(root: Array("/t".utf8))
            var told: [String] = []
            for _ in 0..<Int(seed % 20 + 1) {
                mutator.step()
                let batch = mutator.buffer.take()
                told += Self.lines(batch)
                net.take(batch)
            }
            let before = reader.paths.sorted()
            let batch = net.batch()
            reader.apply(batch)
            #expect(reader.agrees(with: mutator.model), "seed \(seed): \(before) \(told) net \(Self.lines(batch))")
        }
    }

    private static func lines(_ batch: TreeChangeBatch) -> [String] {
        batch.map { "\($0.kind) \($0.from?.string ?? "") \($0.path)\($0.isExchange ? " exchange" : "")" }
    }
}
