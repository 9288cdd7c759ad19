/// How an item of a container stands towards the user's other devices.
///
/// The raw values are stable names, for JSON and scripts.
public enum ItemStatus: String, Sendable, Hashable, Codable, CaseIterable, CustomStringConvertible {
    /// It is here in the newest version that is known, and another device has that version or has made it.
    case current
    /// It is here, but a newer version, or its removal, is known elsewhere.
    case downloaded
    /// Another device has it; here it is not.
    case notDownloaded
    /// Its newest version is being fetched.
    case downloading
    /// This device alone has its newest version, and another device that shares it is connected.
    case uploading
    /// This device alone has its newest version, and no other device is connected, or the synchroniser has not seen it yet.
    case waitingToUpload
    /// It never leaves this device: it lies in or below a `*.nosync`, or the synchroniser is told to ignore it.
    case excluded
    /// Copies of it that lost a conflict lie beside it, unresolved.
    case conflicted
    /// Nobody can tell: there is no transport, it does not answer, or there is no such item.
    case unknown

    /// The stable name.
    public var description: String { rawValue }

    /// The name of Cocoa's constant for this status, `NSURLUbiquitousItemDownloadingStatus…`, or nil where the status is unknown.
    ///
    /// Cocoa tells only how much is here: an item that never leaves the device is current.
    ///
    /// - Parameter isHere: whether the item, in whatever version, is on this device; it matters for `downloading` alone.
    /// - Returns: one of three names.
    public func downloadingStatus(isHere: Bool) -> String? {
        let name: String? =
            switch self {
            case .notDownloaded: "NotDownloaded"
            case .downloading: isHere ? "Downloaded" : "NotDownloaded"
            case .downloaded: "Downloaded"
            case .current, .uploading, .waitingToUpload, .excluded, .conflicted: "Current"
            case .unknown: nil
            }
        return name.map { "NSURLUbiquitousItemDownloadingStatus\($0)" }
    }
}
