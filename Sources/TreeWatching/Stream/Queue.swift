/// A queue: elements are taken in the order in which they were added.
///
/// Both take constant time on average, and an element that was taken is released at once.
struct Queue<Element> {
    /// The elements, and nil in the places of those that were taken, which come first.
    private var places: [Element?] = []
    /// The number of places whose element was taken.
    private var taken = 0

    /// The elements that wait, the oldest first.
    var elements: some Sequence<Element> { places[taken...].lazy.map { $0! } }

    mutating func append(_ element: Element) { places.append(element) }

    /// Takes the oldest element; nil if there is none.
    mutating func popFirst() -> Element? {
        guard taken < places.count else { return nil }
        let element = places[taken].take()
        taken += 1
        // At most half of the places are empty, so each removal here moves no more elements than were taken since the last one.
        if taken * 2 >= places.count {
            places.removeFirst(taken)
            taken = 0
        }
        return element
    }

    mutating func removeAll() { self = Queue() }
}
