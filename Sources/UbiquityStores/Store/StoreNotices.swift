internal import UbiquityContainers

/// The notices of a store, for any number of observers.
///
/// A late one first hears that the store is suspended, if it is.
public struct StoreNotices: AsyncSequence, Sendable {
    /// What the sequence gives.
    public typealias Element = StoreNotice
    /// It ends when the store closes, and never fails.
    public typealias Failure = Never

    let broadcast: Broadcast<StoreNotice>

    /// Begins to observe, from now on.
    public func makeAsyncIterator() -> AsyncStream<StoreNotice>.Iterator { broadcast.subscribe().makeAsyncIterator() }
}

extension Broadcast<StoreNotice> {
    /// Tells every observer.
    func post(_ notice: StoreNotice) {
        post { suspended in
            switch notice {
            case .didSuspend: suspended = notice
            case .didResume: suspended = nil
            default: break
            }
            return notice
        }
    }
}
