/// A receiver of a tree's changes, on the hub's thread.
protocol ChangeReader: AnyObject, Sendable {
    func take(_ batch: TreeChangeBatch)
    func finish()
}

/// A callback that receives each batch on the watching thread.
public final class TreeTap: Sendable {
    private let cancellation: @Sendable () -> Void

    init(cancellation: @escaping @Sendable () -> Void) { self.cancellation = cancellation }

    /// Ends the callback, without waiting for a running call on the watching thread.
    public func cancel() { cancellation() }
}

/// A reader that passes each batch to a closure.
final class TapReader: ChangeReader {
    private let body: @Sendable (TreeChangeBatch) -> Void

    init(_ body: @escaping @Sendable (TreeChangeBatch) -> Void) { self.body = body }

    func take(_ batch: TreeChangeBatch) { body(batch) }
    func finish() {}
}
