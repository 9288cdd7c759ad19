public import Foundation

// Cocoa's names of the attributes of items, the scopes and the notifications of queries, with Cocoa's values.

/// The name of the item: a string.
public let NSMetadataItemFSNameKey = "kMDItemFSName"
/// The name of the item for people: a string.
public let NSMetadataItemDisplayNameKey = "kMDItemDisplayName"
/// The item's URL.
public let NSMetadataItemURLKey = "kMDItemURL"
/// The item's path: a string.
public let NSMetadataItemPathKey = "kMDItemPath"
/// The size in bytes: a number; none for a directory that is no file package.
public let NSMetadataItemFSSizeKey = "kMDItemFSSize"
/// The time of the last change of the content: a date; none if it is not known.
public let NSMetadataItemFSContentChangeDateKey = "kMDItemFSContentChangeDate"
/// Whether the item is in a container: true.
public let NSMetadataItemIsUbiquitousKey = "NSMetadataItemIsUbiquitousKey"
/// Whether the item has unresolved conflict versions: a Boolean number.
public let NSMetadataUbiquitousItemHasUnresolvedConflictsKey = "NSMetadataUbiquitousItemHasUnresolvedConflictsKey"
/// How much of the item is on this device: a string.
public let NSMetadataUbiquitousItemDownloadingStatusKey = "NSMetadataUbiquitousItemDownloadingStatusKey"
/// The status of an item whose bytes are elsewhere.
public let NSMetadataUbiquitousItemDownloadingStatusNotDownloaded = "NSURLUbiquitousItemDownloadingStatusNotDownloaded"
/// The status of an item of which a version is here, and a newer one is known.
public let NSMetadataUbiquitousItemDownloadingStatusDownloaded = "NSURLUbiquitousItemDownloadingStatusDownloaded"
/// The status of an item that is here, and of which no newer version is known.
public let NSMetadataUbiquitousItemDownloadingStatusCurrent = "NSURLUbiquitousItemDownloadingStatusCurrent"
/// Whether the item is being fetched: a Boolean number.
public let NSMetadataUbiquitousItemIsDownloadingKey = "NSMetadataUbiquitousItemIsDownloadingKey"
/// Whether the newest version is in the cloud, or on another device: a Boolean number; none if it is not known.
public let NSMetadataUbiquitousItemIsUploadedKey = "NSMetadataUbiquitousItemIsUploadedKey"
/// Whether the item is being sent: a Boolean number.
public let NSMetadataUbiquitousItemIsUploadingKey = "NSMetadataUbiquitousItemIsUploadingKey"
/// How much of the item is fetched, from 0 to 100: a number; none if it is not known.
public let NSMetadataUbiquitousItemPercentDownloadedKey = "NSMetadataUbiquitousItemPercentDownloadedKey"
/// How much of the item is sent, from 0 to 100: a number; none if it is not known.
public let NSMetadataUbiquitousItemPercentUploadedKey = "NSMetadataUbiquitousItemPercentUploadedKey"
/// The reason why the item cannot be fetched: an `NSError`; none without a problem.
public let NSMetadataUbiquitousItemDownloadingErrorKey = "NSMetadataUbiquitousItemDownloadingErrorKey"
/// The reason why the item cannot be sent: an `NSError`; none without a problem.
public let NSMetadataUbiquitousItemUploadingErrorKey = "NSMetadataUbiquitousItemUploadingErrorKey"

/// The scope of everything in the `Documents` directories of containers.
public let NSMetadataQueryUbiquitousDocumentsScope = "NSMetadataQueryUbiquitousDocumentsScope"
/// The scope of everything in containers outside `Documents`.
public let NSMetadataQueryUbiquitousDataScope = "NSMetadataQueryUbiquitousDataScope"

/// The new items in the `userInfo` of a query's notification: an array of ``NSMetadataItem``.
public let NSMetadataQueryUpdateAddedItemsKey = "kMDQueryUpdateAddedItems"
/// The changed items in the `userInfo` of a query's notification: an array of ``NSMetadataItem``.
public let NSMetadataQueryUpdateChangedItemsKey = "kMDQueryUpdateChangedItems"
/// The items that left the results, in the `userInfo` of a query's notification: an array of ``NSMetadataItem``.
public let NSMetadataQueryUpdateRemovedItemsKey = "kMDQueryUpdateRemovedItems"

extension Notification.Name {
    /// A query has started, or restarted, and has found nothing yet.
    public static let NSMetadataQueryDidStartGathering = Notification.Name("NSMetadataQueryDidStartGatheringNotification")
    /// A query has found more items.
    public static let NSMetadataQueryGatheringProgress = Notification.Name("NSMetadataQueryGatheringProgressNotification")
    /// A query has found all existing items.
    public static let NSMetadataQueryDidFinishGathering = Notification.Name("NSMetadataQueryDidFinishGatheringNotification")
    /// The results of a query have changed.
    public static let NSMetadataQueryDidUpdate = Notification.Name("NSMetadataQueryDidUpdateNotification")
}
