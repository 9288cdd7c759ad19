public import Foundation
import Synchronization
import SystemPackage
import UbiquityContainers

/// An item that a query has found; Cocoa's class over `MetadataItem`.
///
/// A query keeps one object for each path; its attributes are those of the last notification. Numbers and Booleans are `NSNumber`, so that
/// they can be cast to any number type.
public final class NSMetadataItem: NSObject, @unchecked Sendable {
    // Guards itself.
    private let current: Mutex<MetadataItem>

    init(_ item: MetadataItem) { current = Mutex(item) }

    /// What is known of the item.
    var item: MetadataItem { current.withLock { $0 } }

    func update(_ item: MetadataItem) { current.withLock { $0 = item } }

    /// Returns an attribute.
    ///
    /// - Parameter key: one of the constants `NSMetadataItem…Key` and `NSMetadataUbiquitousItem…Key`.
    /// - Returns: the value; nil if it is not known, or the key is another.
    public func value(forAttribute key: String) -> Any? { item.value(forAttribute: key) }

    /// Returns several attributes.
    ///
    /// - Parameter keys: constants as for ``value(forAttribute:)``.
    /// - Returns: the known values.
    public func values(forAttributes keys: [String]) -> [String: Any]? {
        let item = item
        return Dictionary(keys.compactMap { key in item.value(forAttribute: key).map { (key, $0) } }) { first, _ in first }
    }

    /// The keys of the known attributes.
    public var attributes: [String] {
        let item = item
        return MetadataItem.attributeKeys.filter { item.value(forAttribute: $0) != nil }
    }

    /// The item's name and path.
    public override var description: String { "NSMetadataItem \(item.path)" }

    /// Returns whether another object is for the same path.
    ///
    /// - Parameter object: any object.
    /// - Returns: whether they are equal.
    public override func isEqual(_ object: Any?) -> Bool { (object as? NSMetadataItem)?.item.path == item.path }

    /// A value that is equal for equal paths.
    public override var hash: Int { item.path.hashValue }
}
