public import Foundation
internal import UbiquityContainers

/// A change of a key-value store that this process has not made.
public struct KeyValueChange: Sendable, Hashable {
    /// Why values have changed; the numbers are Cocoa's.
    public enum Reason: Int, Sendable, Hashable {
        /// Another device, or another process or handle on this one, has set or removed values:
        /// `NSUbiquitousKeyValueStoreServerChange`.
        case serverChange = 0
        /// The content of the account's other devices has been read for the first time, or a store that worked before
        /// its file was open has read it: `NSUbiquitousKeyValueStoreInitialSyncChange`.
        case initialSync = 1
        /// The values of several devices together exceed ``KeyValueLimits``; the keys are those that do not fit:
        /// `NSUbiquitousKeyValueStoreQuotaViolationChange`.
        ///
        /// Nothing is dropped. Until values are removed, the store refuses sets that make it larger.
        case quotaViolation = 2
        /// Another account is signed in, or nobody is any more: `NSUbiquitousKeyValueStoreAccountChange`.
        ///
        /// The keys are those whose values differ; there may be none.
        case accountChange = 3
    }

    /// Why the values have changed.
    public let reason: Reason
    /// The keys, in the order of their bytes in UTF-8.
    public let keys: [String]

    init(_ reason: Reason, _ keys: [String]) {
        self.reason = reason
        self.keys = keys
    }
}

/// The changes of a key-value store that this process has not made, for any number of observers.
public struct KeyValueChanges: AsyncSequence, Sendable {
    /// The element of the sequence.
    public typealias Element = KeyValueChange
    /// The sequence ends when the store closes, and never fails.
    public typealias Failure = Never

    let broadcast: Broadcast<KeyValueChange>

    /// Begins to observe, from now on.
    public func makeAsyncIterator() -> AsyncStream<KeyValueChange>.Iterator { broadcast.subscribe().makeAsyncIterator() }
}

extension UbiquitousKeyValueStore {
    /// Posted after values have been changed by others, with the object of the store, on a queue of the store's own.
    ///
    /// The user info has the number of the ``KeyValueChange/Reason`` as an `Int` under ``changeReasonKey``, and the keys
    /// as `[String]` under ``changedKeysKey``.
    public static let didChangeExternally = Notification.Name("UbiquitousKeyValueStoreDidChangeExternally")
    /// The key of the reason in the user info of ``didChangeExternally``.
    public static let changeReasonKey = "NSUbiquitousKeyValueStoreChangeReasonKey"
    /// The key of the changed keys in the user info of ``didChangeExternally``.
    public static let changedKeysKey = "NSUbiquitousKeyValueStoreChangedKeysKey"
}
