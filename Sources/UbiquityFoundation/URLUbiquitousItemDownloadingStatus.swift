import UbiquityContainers

/// How much of an item is on this device.
public struct URLUbiquitousItemDownloadingStatus: RawRepresentable, Hashable, Sendable {
    /// Cocoa's name.
    public let rawValue: String

    /// Makes a status from its name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The item is here, and no newer version of it is known.
    public static let current = URLUbiquitousItemDownloadingStatus(rawValue: "NSURLUbiquitousItemDownloadingStatusCurrent")
    /// A version is here, and a newer one is known.
    public static let downloaded = URLUbiquitousItemDownloadingStatus(rawValue: "NSURLUbiquitousItemDownloadingStatusDownloaded")
    /// The bytes are elsewhere.
    public static let notDownloaded = URLUbiquitousItemDownloadingStatus(rawValue: "NSURLUbiquitousItemDownloadingStatusNotDownloaded")

    /// Makes the status of an item.
    ///
    /// Without an answer of a transport, an item that is here is current, as a local item is in Cocoa.
    init(_ status: ItemStatus?, isHere: Bool) {
        if let name = status?.downloadingStatus(isHere: isHere) { self.init(rawValue: name) } else { self = isHere ? .current : .notDownloaded }
    }
}
