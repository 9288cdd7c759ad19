public import Foundation

extension Notification.Name {
    /// Another account has been signed in, or none: the token is already the new one.
    ///
    /// It is posted to `NotificationCenter.default` in every process that has looked up a container in the device home, or iterates over
    /// ``DeviceHome/identityChanges``, on no thread in particular; `userInfo` has the home's path under `home`. Unlike the sequence, it says nothing to who observes
    /// late.
    public static let ubiquityIdentityDidChange = Notification.Name("UbiquityIdentityDidChange")
}

/// The token of the signed-in account, as it changes; nil while signed out.
///
/// An iteration begins with the present token, ends with its task, and misses nothing in between that lasted, or that a read of the account in this process has
/// found: if ``DeviceHome/ubiquityIdentityToken`` was nil once, the sequence has said so too.
public struct IdentityChanges: AsyncSequence, Sendable {
    /// A token, or nil.
    public typealias Element = UbiquityIdentityToken?

    let monitor: IdentityMonitor

    /// Begins to observe.
    ///
    /// - Returns: the iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(monitor: monitor, base: monitor.states.subscribe().makeAsyncIterator()) }

    /// Iterates over the tokens.
    public struct Iterator: AsyncIteratorProtocol {
        /// Watches for as long as somebody iterates.
        let monitor: IdentityMonitor
        var base: AsyncStream<UbiquityIdentityToken?>.Iterator

        /// The next token.
        ///
        /// - Parameter actor: whose isolation it keeps to.
        /// - Returns: nil at the end; a token, or nil in it while signed out.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> UbiquityIdentityToken?? {
            await base.next(isolation: actor)
        }

        /// The same.
        public mutating func next() async -> UbiquityIdentityToken?? { await base.next() }
    }
}

extension DeviceHome {
    /// The token of the signed-in account, as it changes: first as it is now, then at each sign-in, sign-out and switch, by whichever process.
    ///
    /// It is watched, not asked for. The home's directory is made where it is not there.
    ///
    /// - Throws: `ContainerError` where the home cannot be made, read or watched.
    public var identityChanges: IdentityChanges {
        get throws(ContainerError) { IdentityChanges(monitor: try IdentityMonitor.shared(for: self)) }
    }

    /// Looks whether the account is another than was told last, such as after the app has resumed; tells everybody, as if it had been noticed.
    ///
    /// - Returns: whether this call has found another.
    /// - Throws: `ContainerError` where the home cannot be read.
    @discardableResult
    public func recheckIdentity() throws(ContainerError) -> Bool { try IdentityMonitor.shared(for: self).check() }
}
