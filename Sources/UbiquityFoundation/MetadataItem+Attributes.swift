import Foundation
import SystemPackage
import UbiquityContainers

extension MetadataItem {
    /// The keys of all attributes that an item can have.
    static let attributeKeys = [
        NSMetadataItemFSNameKey, NSMetadataItemDisplayNameKey, NSMetadataItemURLKey, NSMetadataItemPathKey, NSMetadataItemFSSizeKey,
        NSMetadataItemFSContentChangeDateKey, NSMetadataItemIsUbiquitousKey, NSMetadataUbiquitousItemHasUnresolvedConflictsKey,
        NSMetadataUbiquitousItemDownloadingStatusKey, NSMetadataUbiquitousItemIsDownloadingKey, NSMetadataUbiquitousItemIsUploadedKey,
        NSMetadataUbiquitousItemIsUploadingKey, NSMetadataUbiquitousItemPercentDownloadedKey, NSMetadataUbiquitousItemPercentUploadedKey,
        NSMetadataUbiquitousItemDownloadingErrorKey, NSMetadataUbiquitousItemUploadingErrorKey,
    ]

    /// Returns an attribute under Cocoa's name.
    func value(forAttribute key: String) -> Any? {
        switch key {
        case NSMetadataItemFSNameKey, NSMetadataItemDisplayNameKey: name
        case NSMetadataItemURLKey: url
        case NSMetadataItemPathKey: path.string
        case NSMetadataItemFSSizeKey: (isDirectory && !isPackage) || isSymbolicLink ? nil : NSNumber(value: size)
        case NSMetadataItemFSContentChangeDateKey: contentModificationDate.timeIntervalSince1970 == 0 ? nil : contentModificationDate
        case NSMetadataItemIsUbiquitousKey: NSNumber(value: true)
        case NSMetadataUbiquitousItemHasUnresolvedConflictsKey: NSNumber(value: hasUnresolvedConflicts)
        case NSMetadataUbiquitousItemDownloadingStatusKey: downloadingStatus.rawValue
        case NSMetadataUbiquitousItemIsDownloadingKey: NSNumber(value: status == .downloading)
        case NSMetadataUbiquitousItemIsUploadedKey: isUploaded.map { NSNumber(value: $0) }
        case NSMetadataUbiquitousItemIsUploadingKey: NSNumber(value: status == .uploading)
        case NSMetadataUbiquitousItemPercentDownloadedKey: percentDownloaded.map { NSNumber(value: $0) }
        case NSMetadataUbiquitousItemPercentUploadedKey: percentUploaded.map { NSNumber(value: $0) }
        case NSMetadataUbiquitousItemDownloadingErrorKey:
            [.notDownloaded, .failed].contains(status) ? status?.ubiquityError.map { $0 as NSError } : nil
        case NSMetadataUbiquitousItemUploadingErrorKey: status == .waitingToUpload ? status?.ubiquityError.map { $0 as NSError } : nil
        default: nil
        }
    }

    private var downloadingStatus: URLUbiquitousItemDownloadingStatus {
        URLUbiquitousItemDownloadingStatus(status, isHere: isHere)
    }

    private var isUploaded: Bool? {
        switch status {
        case .current, .downloaded, .notDownloaded, .downloading, .conflicted: true
        case .uploading, .waitingToUpload, .excluded: false
        case .failed, .unknown, nil: nil
        }
    }

    private var percentDownloaded: Double? {
        if status == .downloading { return state?.progress.map { $0.fraction * 100 } }
        return isHere ? 100 : 0
    }

    private var percentUploaded: Double? {
        if status == .uploading { return state?.progress.map { $0.fraction * 100 } }
        return isUploaded.map { $0 ? 100 : 0 }
    }
}
