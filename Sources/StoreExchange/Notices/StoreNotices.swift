package import UbiquityContainers

/// The notices of a store, for any number of observers.
///
/// A late observer first receives the last change of file, if there was one, and the suspension of the store, if it is
/// suspended.
public struct StoreNotices: AsyncSequence, Sendable {
    /// The element of the sequence.
    public typealias Element = StoreNotice
    /// The sequence ends when the store closes, and never fails.
    public typealias Failure = Never

    package let broadcast: Broadcast<StoreNotice>

    package init(broadcast: Broadcast<StoreNotice>) { self.broadcast = broadcast }

    /// Begins to observe, from now on.
    public func makeAsyncIterator() -> AsyncStream<StoreNotice>.Iterator { broadcast.subscribe().makeAsyncIterator() }
}

extension Broadcast<StoreNotice> {
    /// Sends a notice to every observer.
    package func post(_ notice: StoreNotice) {
        post { present in
            func isSuspension(_ notice: StoreNotice) -> Bool { if case .didSuspend = notice { true } else { false } }
            switch notice {
            case .didSuspend: present = present.filter { !isSuspension($0) } + [notice]
            case .didSetAside: present.append(notice)
            case .didResume: present.removeAll(where: isSuspension)
            // Suspension belongs to a file: the new one reports its own after this notice.
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
