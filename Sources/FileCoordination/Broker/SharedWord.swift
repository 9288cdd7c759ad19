import CLinux
import Glibc
import SystemPackage

/// A number that a client and the broker share, by which the broker takes back a delegation under which nothing goes on, without asking.
///
/// It holds the delegation's number and a state: nothing goes on, something does, or it was taken back. Only the client goes between the
/// first two, only the broker to the third.
final class SharedWord: @unchecked Sendable {
    // The memory lives as long as this object, and is only touched by atomic operations.
    private let word: UnsafeMutablePointer<UInt64>
    private static let size = 4096

    private enum State: UInt64 {
        case idle, busy, revoked
    }

    private static func value(_ number: UInt64, _ state: State) -> UInt64 { number << 2 | state.rawValue }

    /// Maps a word's memory; see mmap(2).
    init?(_ memory: CInt) {
        guard let address = mmap(nil, Self.size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0), address != MAP_FAILED else { return nil }
        word = address.assumingMemoryBound(to: UInt64.self)
    }

    deinit { munmap(word, Self.size) }

    /// A word's memory, for both sides to map; the other side cannot make it smaller.
    static func memory() -> CInt { clinux_sealed_memory("ubiquity-delegation", size) }

    // MARK: The client's side

    /// Takes a delegation up.
    func accept(_ number: UInt64, isBusy: Bool) { clinux_store_word(word, Self.value(number, isBusy ? .busy : .idle)) }

    /// Begins something.
    ///
    /// - Returns: false when the delegation was taken back.
    func enter(_ number: UInt64) -> Bool { clinux_exchange_word(word, Self.value(number, .idle), Self.value(number, .busy)) != 0 }

    /// Nothing goes on any more.
    func leave(_ number: UInt64) { clinux_store_word(word, Self.value(number, .idle)) }

    // MARK: The broker's side

    /// Takes a delegation back if nothing goes on under it.
    func revoke(_ number: UInt64) -> Bool { clinux_exchange_word(word, Self.value(number, .idle), Self.value(number, .revoked)) != 0 }
}
