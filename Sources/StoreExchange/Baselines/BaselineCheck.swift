internal import Dispatch
internal import StoreFormat
internal import Synchronization

/// A check of a whole baseline, which runs while the bytes of the file are used for something else.
final class BaselineCheck: Sendable {
    private let expected: ContentHash
    private let found = Mutex<(any Error)?>(nil)
    private let running = DispatchGroup()

    /// Begins the check of everything but the bytes.
    ///
    /// - Parameters:
    ///   - expected: the hash that the bytes must have.
    ///   - body: reads the file; throws `LogFault` if it is not sound.
    init(expecting expected: ContentHash, _ body: @escaping @Sendable () throws -> Void) {
        self.expected = expected
        DispatchQueue.global().async(group: running) { [self] in
            do { try body() } catch { found.withLock { if $0 == nil { $0 = error } } }
        }
    }

    /// Waits for the end of the check, and throws what is wrong with the baseline.
    ///
    /// - Parameter hash: the hash of the file's bytes.
    /// - Throws: `LogFault` or `Errno`.
    func finish(_ hash: ContentHash) throws {
        // For a damaged file, this says more than the other part.
        if hash != expected { found.withLock { $0 = LogFault.damaged("its bytes do not have the hash in its name") } }
        running.wait()
        if let error = found.withLock({ $0 }) { throw error }
    }

    /// Waits for the end of the check, and returns what is wrong with the baseline.
    var fault: LogFault? {
        running.wait()
        return found.withLock { $0 as? LogFault }
    }
}
