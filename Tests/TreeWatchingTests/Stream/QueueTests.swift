import Testing
import UbiquityTesting

@testable import TreeWatching

struct QueueTests {
    @Test("a queue gives its elements in the order in which they came, and lists those that wait", arguments: 1...20)
    func order(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var queue = Queue<Int>()
        var model: [Int] = []
        for number in 0..<2000 {
            // Long runs of one kind, so that it grows and runs empty.
            if Int.random(in: 0..<100, using: &random) < (number / 200 % 2 == 0 ? 70 : 30) {
                queue.append(number)
                model.append(number)
            } else {
                #expect(queue.popFirst() == (model.isEmpty ? nil : model.removeFirst()))
            }
            if number % 100 == 0 { #expect(Array(queue.elements) == model) }
        }
        queue.removeAll()
        #expect(queue.popFirst() == nil && Array(queue.elements).isEmpty)
    }

    @Test("a queue keeps no element that was taken")
    func releases() {
        final class Item {}
        var queue = Queue<Item>()
        weak var first: Item?
        do {
            let item = Item()
            first = item
            queue.append(item)
        }
        for _ in 0..<10 { queue.append(Item()) }
        #expect(first != nil)
        _ = queue.popFirst()
        #expect(first == nil)
        #expect(Array(queue.elements).count == 10)
    }
}
