package import UbiquityContainers

/// The notices of a store, for any number of observers.
///
/// A late one first hears of the last change of file, where there was one, and that the store is suspended, if it is.
public struct StoreNotices: AsyncSequence, Sendable {
    /// What the sequence gives.
    public typealias Element = StoreNotice
    /// It ends when the store closes, and never fails.
    public typealias Failure = Never

    package let broadcast: Broadcast<StoreNotice>

    package init(broadcast: Broadcast<StoreNotice>) { self.broadcast = broadcast }

    /// Begins to observe, from now on.
    public func makeAsyncIterator() -> AsyncStream<StoreNotice>.Iterator { broadcast.subscribe().makeAsyncIterator() }
}

extension Broadcast<StoreNotice> {
    /// Tells every observer.
    package func post(_ notice: StoreNotice) {
        post { present in
            func isSuspension(_ notice: StoreNotice) -> Bool { if case .didSuspend = notice { true } else { false } }
            switch notice {
            case .didSuspend: present = present.filter { !isSuspension($0) } + [notice]
            case .didSetAside: present.append(notice)
            case .didResume: present.removeAll(where: isSuspension)
            // Another file is suspended or not by itself, and says so behind this.
            case .didChange:
                present.removeAll { earlier in
                    if case .didChange = earlier { true } else { isSuspension(earlier) }
                }
                present.append(notice)
            default: break
            }
            return notice
        }
    }
}
