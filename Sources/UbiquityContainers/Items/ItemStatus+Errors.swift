public import Foundation
public import SystemPackage

extension ItemStatus {
    /// Cocoa's error for an item with this status, as in `NSURLUbiquitousItemDownloadingErrorKey` and
    /// `…UploadingErrorKey`; nil if there is none.
    ///
    /// It is `ubiquitousFileUnavailable` (4353) for an item that has not come here yet, and
    /// `ubiquitousFileUbiquityServerNotAvailable` (4355) for an item that no connected device can take.
    public var ubiquityError: CocoaError? {
        switch self {
        case .notDownloaded, .failed: CocoaError(.ubiquitousFileUnavailable)
        case .waitingToUpload: CocoaError(.ubiquitousFileUbiquityServerNotAvailable)
        case .current, .downloaded, .downloading, .uploading, .excluded, .conflicted, .unknown: nil
        }
    }

    /// Returns Cocoa's error for a failure to store an item: `ubiquitousFileNotUploadedDueToQuota` (4354) if there is
    /// no space.
    ///
    /// A synchronised folder has no quota except that of its disks.
    ///
    /// - Parameter error: the system's error.
    /// - Returns: nil for any other error.
    public static func ubiquityError(for error: Errno) -> CocoaError? {
        error == .noSpace || error == .diskQuotaExceeded ? CocoaError(.ubiquitousFileNotUploadedDueToQuota) : nil
    }
}
