import Synchronization
package import SystemPackage

/// Observers in this process that learn of coordinated writes before the watched tree reports them.
final class WriteObservers: Sendable {
    typealias Body = @Sendable ([FilePath]) -> Void

    private let bodies = Mutex<[UInt64: Body]>([:])
    private let last = Atomic<UInt64>(0)
    /// Every write reads this at its end, so it needs no lock.
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

    /// Reports places that may have changed; makes the list only if there is an observer.
    func tell(_ paths: () -> [FilePath]) {
        guard count.load(ordering: .relaxed) > 0 else { return }
        let paths = paths()
        guard !paths.isEmpty else { return }
        for body in bodies.withLock({ Array($0.values) }) { body(paths) }
    }
}

/// An observation of writes, which lasts until it is released.
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
    /// Calls back with the places that may have changed after a coordinated write of this process ended or reported a
    /// move.
    ///
    /// - Parameter body: called on the writer's thread with canonical paths; it must be quick, and must not coordinate.
    /// - Returns: the observation; keep it as long as the calls are needed.
    package static func observeWrites(_ body: @escaping @Sendable ([FilePath]) -> Void) -> WriteObservation {
        WriteObservation(CoordinationClient.shared.writes, body)
    }
}
