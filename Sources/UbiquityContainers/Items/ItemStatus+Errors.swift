public import Foundation
public import SystemPackage

extension ItemStatus {
    /// Cocoa's error for an item that stands like this, as `NSURLUbiquitousItemDownloadingErrorKey` and `…UploadingErrorKey` have it; nil where there is none.
    ///
    /// It is `ubiquitousFileUnavailable` (4353) for an item that is not here, which no device has brought yet, and `ubiquitousFileUbiquityServerNotAvailable` (4355)
    /// for one that no other device is there to take.
    public var ubiquityError: CocoaError? {
        switch self {
        case .notDownloaded: CocoaError(.ubiquitousFileUnavailable)
        case .waitingToUpload: CocoaError(.ubiquitousFileUbiquityServerNotAvailable)
        case .current, .downloaded, .downloading, .uploading, .excluded, .conflicted, .unknown: nil
        }
    }

    /// Cocoa's error for what kept a synchroniser from storing an item: `ubiquitousFileNotUploadedDueToQuota` (4354) where there is no room for it.
    ///
    /// A folder that is synchronised has no quota but that of its disks.
    ///
    /// - Parameter error: the system's error.
    /// - Returns: nil for any other error.
    public static func ubiquityError(for error: Errno) -> CocoaError? {
        error == .noSpace || error == .diskQuotaExceeded ? CocoaError(.ubiquitousFileNotUploadedDueToQuota) : nil
    }
}
