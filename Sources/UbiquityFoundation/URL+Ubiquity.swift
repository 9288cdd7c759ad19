public import Foundation
import UbiquityContainers

extension URLResourceKey {
    /// Whether an item never leaves this device.
    public static let ubiquitousItemIsExcludedFromSyncKey = URLResourceKey(rawValue: "NSURLUbiquitousItemIsExcludedFromSyncKey")

    /// The keys that ``UbiquitousURLResourceValues`` answers.
    static let ubiquitous: Set<URLResourceKey> = [
        .isUbiquitousItemKey, .ubiquitousItemHasUnresolvedConflictsKey, .ubiquitousItemIsDownloadingKey, .ubiquitousItemIsUploadedKey,
        .ubiquitousItemIsUploadingKey, .ubiquitousItemDownloadingStatusKey, .ubiquitousItemDownloadingErrorKey,
        .ubiquitousItemUploadingErrorKey, .ubiquitousItemDownloadRequestedKey, .ubiquitousItemContainerDisplayNameKey,
        .ubiquitousItemIsExcludedFromSyncKey,
    ]
}

extension URL {
    /// Returns values of an item, with those of an item in a container.
    ///
    /// Swift chooses this method for an array literal. For a `Set`, it chooses Foundation's own method, which knows nothing of containers. The
    /// call blocks its thread; it fetches and coordinates nothing.
    ///
    /// - Parameter keys: the keys; values for other keys are nil.
    /// - Returns: the values.
    /// - Throws: an error in Cocoa's domains if the item is neither here nor elsewhere, or cannot be looked up.
    public func resourceValues(forKeys keys: [URLResourceKey]) throws -> UbiquitousURLResourceValues {
        try ubiquitousValues(Set(keys), isPromised: false)
    }

    private func ubiquitousValues(_ keys: Set<URLResourceKey>, isPromised: Bool) throws -> UbiquitousURLResourceValues {
        var item: UbiquitousURLResourceValues.Item?
        if isPromised || !keys.isDisjoint(with: URLResourceKey.ubiquitous), let home = try? UbiquityFoundationHome.current {
            item = try cocoaCall(.reading) {
                guard let container = try await UbiquityContainer.containing(self, home: home),
                    let values = try await container.resourceValues(of: self)
                else { return nil }
                return UbiquitousURLResourceValues.Item(values: values, container: container.identifier.description)
            }
        }
        var ordinary = URLResourceValues()
        do {
            ordinary = try resourceValues(forKeys: keys.subtracting(URLResourceKey.ubiquitous))
        } catch {
            // There is no file for an item that is elsewhere.
            guard let item, !item.values.isHere else { throw error }
        }
        return UbiquitousURLResourceValues(ordinary: ordinary, item: item, keys: keys)
    }

    /// Returns values of an item that may be elsewhere; then it has the size and the time that are known of it.
    ///
    /// - Parameter keys: the keys.
    /// - Returns: the values.
    /// - Throws: an error in Cocoa's domains.
    public func promisedItemResourceValues(forKeys keys: Set<URLResourceKey>) throws -> UbiquitousURLResourceValues {
        try ubiquitousValues(keys, isPromised: true)
    }
}

/// The values of an item in a container, and its ordinary values; it stands for Cocoa's `URLResourceValues`.
///
/// Every member of Foundation's `URLResourceValues` can be read as a member of this type.
@dynamicMemberLookup
public struct UbiquitousURLResourceValues {
    struct Item: Sendable {
        let values: ItemResourceValues
        let container: String
    }

    /// The values that Foundation knows.
    public let ordinary: URLResourceValues
    private let item: Item?
    private let keys: Set<URLResourceKey>

    init(ordinary: URLResourceValues, item: Item?, keys: Set<URLResourceKey>) {
        (self.ordinary, self.item, self.keys) = (ordinary, item, keys)
    }

    /// Returns an ordinary value.
    ///
    /// - Parameter member: a member of `URLResourceValues`.
    public subscript<Value>(dynamicMember member: KeyPath<URLResourceValues, Value>) -> Value { ordinary[keyPath: member] }

    /// The size in bytes, also of an item that is elsewhere.
    public var fileSize: Int? { elsewhere(.fileSizeKey) { $0.fileSize.map(Int.init) } ?? ordinary.fileSize }
    /// The time of the last change of the content, also of an item that is elsewhere.
    public var contentModificationDate: Date? {
        elsewhere(.contentModificationDateKey) { $0.contentModificationDate } ?? ordinary.contentModificationDate
    }
    /// The name, also of an item that is elsewhere.
    public var name: String? { elsewhere(.nameKey) { $0.name } ?? ordinary.name }

    private func elsewhere<Value>(_ key: URLResourceKey, _ read: (ItemResourceValues) -> Value?) -> Value? {
        item?.values.isHere == false ? value(key, read) : nil
    }

    /// Whether the item is meant for the user's other devices.
    public var isUbiquitousItem: Bool? { keys.contains(.isUbiquitousItemKey) ? item?.values.isUbiquitousItem ?? false : nil }
    /// How much of the item is on this device.
    public var ubiquitousItemDownloadingStatus: URLUbiquitousItemDownloadingStatus? {
        value(.ubiquitousItemDownloadingStatusKey) { URLUbiquitousItemDownloadingStatus($0.state.status, isHere: $0.isHere) }
    }
    /// Whether it is being fetched.
    public var ubiquitousItemIsDownloading: Bool? { value(.ubiquitousItemIsDownloadingKey) { $0.ubiquitousItemIsDownloading } }
    /// Whether it has been asked for, and is being fetched.
    public var ubiquitousItemDownloadRequested: Bool? { value(.ubiquitousItemDownloadRequestedKey) { $0.ubiquitousItemIsDownloading } }
    /// Whether its newest version is in the cloud, or on another device.
    public var ubiquitousItemIsUploaded: Bool? { value(.ubiquitousItemIsUploadedKey) { $0.ubiquitousItemIsUploaded } }
    /// Whether it is being sent.
    public var ubiquitousItemIsUploading: Bool? { value(.ubiquitousItemIsUploadingKey) { $0.ubiquitousItemIsUploading } }
    /// Whether it has versions in conflict that are not resolved.
    public var ubiquitousItemHasUnresolvedConflicts: Bool? {
        value(.ubiquitousItemHasUnresolvedConflictsKey) { $0.ubiquitousItemHasUnresolvedConflicts }
    }
    /// Whether it never leaves this device.
    public var ubiquitousItemIsExcludedFromSync: Bool? {
        value(.ubiquitousItemIsExcludedFromSyncKey) { $0.ubiquitousItemIsExcludedFromSync }
    }
    /// The reason why it cannot be fetched.
    public var ubiquitousItemDownloadingError: NSError? {
        value(.ubiquitousItemDownloadingErrorKey) { $0.ubiquitousItemDownloadingError.map { $0 as NSError } }
    }
    /// The reason why it cannot be sent.
    public var ubiquitousItemUploadingError: NSError? {
        value(.ubiquitousItemUploadingErrorKey) { $0.ubiquitousItemUploadingError.map { $0 as NSError } }
    }
    /// The identifier of its container.
    public var ubiquitousItemContainerDisplayName: String? {
        keys.contains(.ubiquitousItemContainerDisplayNameKey) ? item?.container : nil
    }

    private func value<Value>(_ key: URLResourceKey, _ read: (ItemResourceValues) -> Value?) -> Value? {
        guard keys.contains(key), let item else { return nil }
        return read(item.values)
    }
}
