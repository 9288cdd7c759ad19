import Foundation
import ObjectTransfer
import Synchronization
import UbiquityTesting

/// What goes wrong in a simulated world: the only source of chance, so that a seed repeats a run.
final class TransferFaults: Sendable {
    private struct State {
        var random: SeededRandom
        /// The share of operations that fail in some way, from 0 to 1.
        var rate = 0.0
        /// The number of operations until a device crashes; nil for none.
        var crash: Int?
    }

    private let state: Mutex<State>

    init(seed: UInt64) { state = Mutex(State(random: SeededRandom(seed: seed))) }

    func set(rate: Double) { state.withLock { $0.rate = rate } }

    /// Lets the device that acts crash after a number of operations; nil for never.
    func crash(after operations: Int?) { state.withLock { $0.crash = operations } }

    /// A random number in a range.
    func number(in range: Range<Int>) -> Int { state.withLock { Int.random(in: range, using: &$0.random) } }

    /// Whether something that is asked for goes wrong.
    func happens() -> Bool {
        state.withLock { state in state.rate > 0 && Double.random(in: 0..<1, using: &state.random) < state.rate }
    }

    /// Counts an operation; throws if the device crashes before it.
    func step() throws {
        let crashes = state.withLock { state -> Bool in
            guard let left = state.crash else { return false }
            state.crash = left - 1
            return left <= 0
        }
        if crashes { throw Crash() }
    }
}

/// The end of a simulated process, between two steps.
struct Crash: Error {}
