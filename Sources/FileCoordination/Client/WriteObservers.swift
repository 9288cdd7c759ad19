import Synchronization
package import SystemPackage

/// Those in this process who hear of what its coordinated writes have written, before the watched tree tells (U-78).
final class WriteObservers: Sendable {
    typealias Body = @Sendable ([FilePath]) -> Void

    private let bodies = Mutex<[UInt64: Body]>([:])
    private let last = Atomic<UInt64>(0)
    /// Read at the end of every write, so without the lock.
    private let count = Atomic(0)

    func add(_ body: @escaping Body) -> UInt64 {
        let number = last.add(1, ordering: .relaxed).newValue
        bodies.withLock { $0[number] = body }
        count.add(1, ordering: .relaxed)
        return number
    }

    func remove(_ number: UInt64) {
        guard bodies.withLock({ $0.removeValue(forKey: number) }) != nil else { return }
        count.subtract(1, ordering: .relaxed)
    }

    /// Tells where something may be different now; makes the list only where somebody listens.
    func tell(_ paths: () -> [FilePath]) {
        guard count.load(ordering: .relaxed) > 0 else { return }
        let paths = paths()
        guard !paths.isEmpty else { return }
        for body in bodies.withLock({ Array($0.values) }) { body(paths) }
    }
}

/// An observation of writes, until it is released.
package final class WriteObservation: Sendable {
    private let observers: WriteObservers
    private let number: UInt64

    init(_ observers: WriteObservers, _ body: @escaping @Sendable ([FilePath]) -> Void) {
        self.observers = observers
        number = observers.add(body)
    }

    deinit { observers.remove(number) }
}

extension FileCoordinator {
    /// Calls back when a coordinated write of this process has ended, or has reported a move, with the places that may be different now.
    ///
    /// - Parameter body: is called on the writer's thread with canonical paths; it must be quick, and must not coordinate.
    /// - Returns: the observation, to be kept.
    package static func observeWrites(_ body: @escaping @Sendable ([FilePath]) -> Void) -> WriteObservation {
        WriteObservation(CoordinationClient.shared.writes, body)
    }
}
