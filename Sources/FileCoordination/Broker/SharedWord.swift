import CLinux
import Glibc
import SystemPackage

/// A number in memory that a client and the broker share, so that the broker can take back an idle delegation without
/// asking.
///
/// The number contains the delegation's number and a state: idle, busy or revoked. Only the client switches between
/// idle and busy; only the broker sets revoked.
final class SharedWord: @unchecked Sendable {
    // The memory lives as long as this object, and only atomic operations access it.
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

    /// Creates a word's memory for both sides to map; the other side cannot shrink it.
    static func memory() -> CInt { clinux_sealed_memory("ubiquity-delegation", size) }

    // MARK: The client's side

    /// Accepts a delegation.
    func accept(_ number: UInt64, isBusy: Bool) { clinux_store_word(word, Self.value(number, isBusy ? .busy : .idle)) }

    /// Starts an operation.
    ///
    /// - Returns: false if the broker has taken the delegation back.
    func enter(_ number: UInt64) -> Bool { clinux_exchange_word(word, Self.value(number, .idle), Self.value(number, .busy)) != 0 }

    /// Ends the last operation.
    func leave(_ number: UInt64) { clinux_store_word(word, Self.value(number, .idle)) }

    // MARK: The broker's side

    /// Takes back a delegation if it is idle.
    func revoke(_ number: UInt64) -> Bool { clinux_exchange_word(word, Self.value(number, .idle), Self.value(number, .revoked)) != 0 }
}
