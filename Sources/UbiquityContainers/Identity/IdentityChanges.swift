public import Foundation

extension Notification.Name {
    /// The signed-in account has changed, or the user has signed out; the token is already the new one.
    ///
    /// It is posted to `NotificationCenter.default` on any thread, in every process that has opened a container of the
    /// device home or iterates over ``DeviceHome/identityChanges``; `userInfo` contains the home's path under `home`.
    /// Unlike the sequence, it tells nothing to an observer that starts late.
    public static let ubiquityIdentityDidChange = Notification.Name("UbiquityIdentityDidChange")
}

/// The token of the signed-in account whenever it changes; nil while signed out.
///
/// An iteration begins with the current token and ends with its task. It reports every token that lasted, and every
/// token that a read of the account in this process has found: if ``DeviceHome/ubiquityIdentityToken`` was nil once,
/// the sequence has reported nil.
public struct IdentityChanges: AsyncSequence, Sendable {
    /// A token, or nil.
    public typealias Element = UbiquityIdentityToken?

    let monitor: IdentityMonitor

    /// Starts an observation.
    ///
    /// - Returns: the iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(monitor: monitor, base: monitor.states.subscribe().makeAsyncIterator()) }

    /// Iterates over the tokens.
    public struct Iterator: AsyncIteratorProtocol {
        /// Watches the home while the iterator exists.
        let monitor: IdentityMonitor
        var base: AsyncStream<UbiquityIdentityToken?>.Iterator

        /// Returns the next token.
        ///
        /// - Parameter actor: the actor whose isolation the call keeps.
        /// - Returns: nil at the end; otherwise a token, or an inner nil while signed out.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> UbiquityIdentityToken?? {
            await base.next(isolation: actor)
        }

        /// Returns the next token.
        public mutating func next() async -> UbiquityIdentityToken?? { await base.next() }
    }
}

extension DeviceHome {
    /// The token of the signed-in account as it changes: first the current one, then one at each sign-in, sign-out and
    /// switch, by any process.
    ///
    /// The home is watched, not polled. Its directory is created if it does not exist.
    ///
    /// - Throws: `ContainerError` when the home cannot be created, read or watched.
    public var identityChanges: IdentityChanges {
        get throws(ContainerError) { IdentityChanges(monitor: try IdentityMonitor.shared(for: self)) }
    }

    /// Checks whether the account differs from the last reported one, for example after the app has resumed, and tells
    /// all observers if it does.
    ///
    /// - Returns: whether this call has found a change.
    /// - Throws: `ContainerError` when the home cannot be read.
    @discardableResult
    public func recheckIdentity() throws(ContainerError) -> Bool { try IdentityMonitor.shared(for: self).check() }
}
