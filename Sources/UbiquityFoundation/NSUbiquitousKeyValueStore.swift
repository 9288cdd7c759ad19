import Dispatch
public import Foundation
import Logging
import TreeWatching
package import UbiquityContainers
import UbiquityKeyValues

/// The key in `userInfo` of the reason of an external change: an `Int`.
public let NSUbiquitousKeyValueStoreChangeReasonKey = "NSUbiquitousKeyValueStoreChangeReasonKey"
/// The key in `userInfo` of the changed keys: an array of strings.
public let NSUbiquitousKeyValueStoreChangedKeysKey = "NSUbiquitousKeyValueStoreChangedKeysKey"
/// Another device or process has changed values.
public let NSUbiquitousKeyValueStoreServerChange = 0
/// The values of other devices have been read for the first time.
public let NSUbiquitousKeyValueStoreInitialSyncChange = 1
/// A value does not fit.
public let NSUbiquitousKeyValueStoreQuotaViolationChange = 2
/// Another account is signed in, or none.
public let NSUbiquitousKeyValueStoreAccountChange = 3

/// Small values that an account's devices share; Cocoa's class over `UbiquitousKeyValueStore`.
///
/// A value that does not fit, or is no property list, is not set, and the reason is logged. For one that does not fit,
/// ``didChangeExternallyNotification`` is posted with ``NSUbiquitousKeyValueStoreQuotaViolationChange`` and the key.
public final class NSUbiquitousKeyValueStore: NSObject, @unchecked Sendable {
    // The base store guards itself; the token is set once, in the initialiser.
    private let base: UbiquitousKeyValueStore
    private var token: (any NSObjectProtocol)?

    /// The values of this app.
    public static let `default` = NSUbiquitousKeyValueStore(UbiquitousKeyValueStore(home: try? UbiquityFoundationHome.current))

    /// Another device, process or account has changed values; the object is the ``NSUbiquitousKeyValueStore``.
    ///
    /// It is posted on a queue of the store's own.
    public static let didChangeExternallyNotification = Notification.Name("NSUbiquitousKeyValueStoreDidChangeExternallyNotification")

    init(_ base: UbiquitousKeyValueStore) {
        self.base = base
        super.init()
        token = NotificationCenter.default.addObserver(forName: UbiquitousKeyValueStore.didChangeExternally, object: base, queue: nil) {
            [weak self] notification in
            guard let self else { return }
            NotificationCenter.default.post(name: Self.didChangeExternallyNotification, object: self, userInfo: notification.userInfo)
        }
    }

    /// Makes a store of a container in a device home.
    package convenience init(container: String, home: DeviceHome) { self.init(UbiquitousKeyValueStore(container: container, home: home)) }

    deinit { if let token { NotificationCenter.default.removeObserver(token) } }

    // MARK: Reading

    /// Returns a value.
    ///
    /// - Parameter aKey: the key.
    /// - Returns: a property list value; nil if there is none.
    public func object(forKey aKey: String) -> Any? { base.object(forKey: aKey) }
    /// Returns a text.
    ///
    /// - Parameter aKey: the key.
    /// - Returns: nil if there is none, or the value has another type.
    public func string(forKey aKey: String) -> String? { base.string(forKey: aKey) }
    /// Returns an array.
    ///
    /// - Parameter aKey: the key.
    /// - Returns: nil if there is none, or the value has another type.
    public func array(forKey aKey: String) -> [Any]? { base.array(forKey: aKey) }
    /// Returns a dictionary.
    ///
    /// - Parameter aKey: the key.
    /// - Returns: nil if there is none, or the value has another type.
    public func dictionary(forKey aKey: String) -> [String: Any]? { base.dictionary(forKey: aKey) }
    /// Returns data.
    ///
    /// - Parameter aKey: the key.
    /// - Returns: nil if there is none, or the value has another type.
    public func data(forKey aKey: String) -> Data? { base.data(forKey: aKey) }
    /// Returns an integer.
    ///
    /// - Parameter aKey: the key.
    /// - Returns: 0 if there is none.
    public func longLong(forKey aKey: String) -> Int64 { base.longLong(forKey: aKey) }
    /// Returns a number.
    ///
    /// - Parameter aKey: the key.
    /// - Returns: 0 if there is none.
    public func double(forKey aKey: String) -> Double { base.double(forKey: aKey) }
    /// Returns a Boolean.
    ///
    /// - Parameter aKey: the key.
    /// - Returns: false if there is none.
    public func bool(forKey aKey: String) -> Bool { base.bool(forKey: aKey) }
    /// All values.
    public var dictionaryRepresentation: [String: Any] { base.dictionaryRepresentation }

    // MARK: Writing

    /// Sets a value; nil removes it.
    ///
    /// - Parameters:
    ///   - anObject: a property list value.
    ///   - aKey: the key.
    public func set(_ anObject: Any?, forKey aKey: String) { attempt(aKey) { try base.set(anObject, forKey: aKey) } }
    /// Sets a text; nil removes it.
    ///
    /// - Parameters:
    ///   - aString: the text.
    ///   - aKey: the key.
    public func set(_ aString: String?, forKey aKey: String) { attempt(aKey) { try base.set(aString, forKey: aKey) } }
    /// Sets data; nil removes it.
    ///
    /// - Parameters:
    ///   - aData: the data.
    ///   - aKey: the key.
    public func set(_ aData: Data?, forKey aKey: String) { attempt(aKey) { try base.set(aData, forKey: aKey) } }
    /// Sets an array; nil removes it.
    ///
    /// - Parameters:
    ///   - anArray: property list values.
    ///   - aKey: the key.
    public func set(_ anArray: [Any]?, forKey aKey: String) { attempt(aKey) { try base.set(anArray, forKey: aKey) } }
    /// Sets a dictionary; nil removes it.
    ///
    /// - Parameters:
    ///   - aDictionary: property list values.
    ///   - aKey: the key.
    public func set(_ aDictionary: [String: Any]?, forKey aKey: String) { attempt(aKey) { try base.set(aDictionary, forKey: aKey) } }
    /// Sets an integer.
    ///
    /// - Parameters:
    ///   - value: the integer.
    ///   - aKey: the key.
    public func set(_ value: Int64, forKey aKey: String) { attempt(aKey) { try base.set(value, forKey: aKey) } }
    /// Sets a number.
    ///
    /// - Parameters:
    ///   - value: the number.
    ///   - aKey: the key.
    public func set(_ value: Double, forKey aKey: String) { attempt(aKey) { try base.set(value, forKey: aKey) } }
    /// Sets a Boolean.
    ///
    /// - Parameters:
    ///   - value: the Boolean.
    ///   - aKey: the key.
    public func set(_ value: Bool, forKey aKey: String) { attempt(aKey) { try base.set(value, forKey: aKey) } }
    /// Removes a value.
    ///
    /// - Parameter aKey: the key.
    public func removeObject(forKey aKey: String) { base.removeObject(forKey: aKey) }

    /// Makes the values durable; blocks its thread.
    ///
    /// - Returns: whether it succeeded; a failure is logged.
    @discardableResult
    public func synchronize() -> Bool {
        do {
            try blockingCaller { try await base.save() }
            return true
        } catch {
            Logger.ubiquity.error("The key-value store cannot be saved: \(error)")
            return false
        }
    }

    /// Posts what a set has led to; an observer may set again.
    private static let poster = DispatchQueue(label: "ubiquity.keyvalues.quota")

    private func attempt(_ key: String, _ body: () throws -> Void) {
        do {
            try body()
        } catch {
            Logger.ubiquity.error("The value of \(key.debugDescription) is not set: \(error)")
            guard let code = (error as? KeyValueError)?.code, [.tooLarge, .tooManyKeys].contains(code) else { return }
            Self.poster.async { [weak self] in
                guard let self else { return }
                NotificationCenter.default.post(
                    name: Self.didChangeExternallyNotification, object: self,
                    userInfo: [
                        NSUbiquitousKeyValueStoreChangeReasonKey: NSUbiquitousKeyValueStoreQuotaViolationChange,
                        NSUbiquitousKeyValueStoreChangedKeysKey: [key],
                    ])
            }
        }
    }
}
