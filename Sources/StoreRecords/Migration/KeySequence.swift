package import Foundation
internal import Synchronization

/// UUIDs of version 7 that sort by their number in the sequence (RFC 9562, sections 5.7 and 6.2, method 1).
///
/// 48 bits are milliseconds, 32 bits a counter that begins at a random number, and 42 bits random.
package struct KeySequence: Sendable {
    private let milliseconds: UInt64
    private let first: UInt64
    private let random: @Sendable () -> UInt64

    /// Begins a sequence.
    ///
    /// - Parameters:
    ///   - time: the time that the keys contain.
    ///   - generator: makes the random bits.
    package init(at time: Date, using generator: some RandomNumberGenerator & Sendable) {
        let state = GeneratorState(generator)
        milliseconds = UInt64(max(0, time.timeIntervalSince1970 * 1000)) & 0xFFFF_FFFF_FFFF
        // Half of the counter's range is left to count in.
        first = state.next() >> 33
        random = { state.next() }
    }

    /// Returns a key.
    ///
    /// - Parameter number: the number of the key in the sequence; at most 2,147,483,648 keys have a place.
    /// - Returns: the UUID.
    package func key(_ number: Int64) -> String {
        let counter = (first + UInt64(number)) & 0xFFFF_FFFF
        let high = milliseconds << 16 | 0x7000 | counter >> 20
        let low = 0x8000_0000_0000_0000 | (counter & 0xF_FFFF) << 42 | random() >> 22
        return Self.text(high, low)
    }

    /// Returns a UUID's text, in upper case as Foundation writes it.
    static func text(_ high: UInt64, _ low: UInt64) -> String {
        func digits(_ value: UInt64) -> String {
            let text = String(value, radix: 16, uppercase: true)
            return String(repeating: "0", count: 16 - text.count) + text
        }
        let (first, last) = (digits(high), digits(low))
        return "\(first.prefix(8))-\(first.dropFirst(8).prefix(4))-\(first.dropFirst(12))-\(last.prefix(4))-\(last.dropFirst(4))"
    }

    /// Shares a generator between the calls of a closure.
    private final class GeneratorState: Sendable {
        private let generator: Mutex<any RandomNumberGenerator & Sendable>

        init(_ generator: any RandomNumberGenerator & Sendable) { self.generator = Mutex(generator) }

        func next() -> UInt64 { generator.withLock { $0.next() } }
    }
}
