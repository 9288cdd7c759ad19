/// The status of a container's item with respect to the user's other devices.
///
/// The raw values are stable names, for JSON and scripts.
public enum ItemStatus: String, Sendable, Hashable, Codable, CaseIterable, CustomStringConvertible {
    /// The newest known version is here, and another device has or made that version.
    case current
    /// A version is here, but a newer version, or the item's removal, is known elsewhere.
    case downloaded
    /// Another device has the item, but this device has not.
    case notDownloaded
    /// Its newest version is being fetched.
    case downloading
    /// Only this device has the newest version, and another device that shares the item is connected.
    case uploading
    /// Only this device has the newest version, and no other device is connected, or the synchroniser has not seen it
    /// yet.
    case waitingToUpload
    /// The item never leaves this device: it is in or below a `*.nosync`, or the synchroniser ignores it.
    case excluded
    /// The item has unresolved conflict copies beside it.
    case conflicted
    /// Its newest version could not be fetched.
    case failed
    /// The status is unknown: there is no transport, the transport does not answer, or there is no such item.
    case unknown

    /// The stable name.
    public var description: String { rawValue }

    /// Returns the name of Cocoa's constant for this status, `NSURLUbiquitousItemDownloadingStatus…`, or nil if the
    /// status is unknown.
    ///
    /// Cocoa only tells how much is on this device: an item that never leaves the device is current.
    ///
    /// - Parameter isHere: whether any version of the item is on this device; it matters only for `downloading`.
    /// - Returns: one of three names.
    public func downloadingStatus(isHere: Bool) -> String? {
        let name: String? =
            switch self {
            case .notDownloaded: "NotDownloaded"
            case .downloading, .failed: isHere ? "Downloaded" : "NotDownloaded"
            case .downloaded: "Downloaded"
            case .current, .uploading, .waitingToUpload, .excluded, .conflicted: "Current"
            case .unknown: nil
            }
        return name.map { "NSURLUbiquitousItemDownloadingStatus\($0)" }
    }
}
