internal import Synchronization

/// A sequence with a limit for each element; ``within(_:limit:seen:file:line:_:)`` describes how to write waits.
package struct LimitedSequence<Base: AsyncSequence>: AsyncSequence where Base.Element: Sendable {
    package typealias Element = Base.Element

    fileprivate let base: Base
    fileprivate let what: String
    fileprivate let limit: Duration
    fileprivate let place: (file: String, line: Int)

    /// Starts to read.
    package func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(source: Source(base), what: what, limit: limit, place: place)
    }

    /// The iterator, for one reader.
    package struct AsyncIterator: AsyncIteratorProtocol, Sendable {
        fileprivate let source: Source<Element>
        fileprivate let what: String
        fileprivate let limit: Duration
        fileprivate let place: (file: String, line: Int)

        /// Returns the next element.
        ///
        /// - Returns: nil at the end.
        /// - Throws: ``Overdue`` at the limit, now and from then on, and the errors of the sequence.
        package func next() async throws -> Element? {
            if let overdue = source.state.withLock({ $0.overdue }) { throw overdue }
            do {
                return try await within(what, limit: limit, seen: { [source] in source.seen }, file: place.file, line: place.line) { [source] in
                    try await source.next()
                }
            } catch let error as Overdue {
                source.state.withLock { $0.overdue = error }
                throw error
            }
        }
    }
}

/// A sequence's iterator with its last elements.
private final class Source<Element: Sendable>: @unchecked Sendable {
    struct State {
        var count = 0
        var last: [Element] = []
        var overdue: Overdue?
    }
    let state = Mutex(State())
    // One call at a time uses it: the next call starts after the last has returned, and none starts after one that is
    // overdue.
    private let advance: () async throws -> Element?

    init<Base: AsyncSequence>(_ base: Base) where Base.Element == Element {
        var iterator = base.makeAsyncIterator()
        advance = { try await iterator.next() }
    }

    func next() async throws -> Element? {
        let element = try await advance()
        if let element {
            state.withLock { state in
                state.count += 1
                state.last = state.last.suffix(4) + [element]
            }
        }
        return element
    }

    var seen: String {
        let (count, last) = state.withLock { ($0.count, $0.last) }
        if count == 0 { return "" }
        return "\(count) elements, the last of them " + last.map { String(String(describing: $0).prefix(400)) }.joined(separator: " | ")
    }
}

extension AsyncSequence where Element: Sendable {
    /// Returns the sequence with a limit for each element; ``within(_:limit:seen:file:line:_:)`` describes how to write
    /// waits.
    ///
    /// - Parameters:
    ///   - what: the awaited thing, as the object of "has waited for".
    ///   - limit: the limit for one element, in quiet time.
    ///   - file: the file of the wait.
    ///   - line: the line of the wait.
    /// - Returns: the sequence.
    package func limited(
        _ what: String = "the next \(Element.self)", limit: Duration = usualLimit, file: String = #fileID, line: Int = #line
    ) -> LimitedSequence<Self> {
        LimitedSequence(base: self, what: what, limit: limit, place: (file, line))
    }
}
