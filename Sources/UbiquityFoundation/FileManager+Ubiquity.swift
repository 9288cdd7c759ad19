public import Foundation
import UbiquityContainers

/// Cocoa's calls about containers and their items; each blocks its thread.
extension FileManager {
    /// A value that is equal exactly for one account on this device; nil while signed out.
    ///
    /// Compare it with `isEqual(_:)`, and archive it with `NSKeyedArchiver`.
    public var ubiquityIdentityToken: (any NSCoding & NSCopying & NSObjectProtocol)? {
        guard let home = try? UbiquityFoundationHome.current, let token = try? home.ubiquityIdentityToken else { return nil }
        return UbiquityIdentityObject(token)
    }

    /// Returns the directory of a declared container, and makes it if it is new.
    ///
    /// - Parameter containerIdentifier: a container declared by `UbiquityContainer.declare(_:)` or in `config.json`; nil for the first one.
    /// - Returns: nil if no account is signed in, if the container is not declared, or if the containers root or the container is missing.
    public func url(forUbiquityContainerIdentifier containerIdentifier: String?) -> URL? {
        guard let home = try? UbiquityFoundationHome.current else { return nil }
        return try? blockingCaller { await home.url(forUbiquityContainerIdentifier: containerIdentifier) }
    }

    /// Returns whether an item is meant for the user's other devices; it need not have arrived there.
    ///
    /// - Parameter url: a file URL.
    /// - Returns: whether it is meant for other devices.
    public func isUbiquitousItem(at url: URL) -> Bool {
        let isUbiquitous = try? blockingCaller { try await UbiquityFoundationHome.container(of: url).isUbiquitousItem(at: url) }
        return isUbiquitous ?? false
    }

    /// Moves an item into or out of a container, under coordination.
    ///
    /// - Parameters:
    ///   - flag: whether to move the item into the container.
    ///   - url: the item.
    ///   - destinationURL: the new place, in an existing directory.
    /// - Throws: an error in Cocoa's domains, such as `CocoaError.fileWriteFileExists`; the item has not moved then.
    public func setUbiquitous(_ flag: Bool, itemAt url: URL, destinationURL: URL) throws {
        try cocoaCall(.writing) {
            let container = try await UbiquityFoundationHome.container(of: flag ? destinationURL : url)
            try await container.setUbiquitous(flag, itemAt: url, destinationURL: destinationURL)
        }
    }

    /// Starts to fetch an item's newest version; a coordinated read waits for it.
    ///
    /// - Parameter url: an item in a container.
    /// - Throws: an error in Cocoa's domains; `CocoaError.featureUnsupported` where nothing fetches single items.
    public func startDownloadingUbiquitousItem(at url: URL) throws {
        try cocoaCall(.reading) { try await UbiquityFoundationHome.container(of: url).startDownloading(url) }
    }

    /// Removes an item's bytes from this device; a coordinated read fetches them again.
    ///
    /// - Parameter url: an item in a container.
    /// - Throws: an error in Cocoa's domains, also a presenter's own error; the item is as it was then.
    public func evictUbiquitousItem(at url: URL) throws {
        try cocoaCall(.writing) { try await UbiquityFoundationHome.container(of: url).evict(url) }
    }

    /// Would publish a snapshot of an item on the web; containers here have no such place.
    ///
    /// - Parameters:
    ///   - url: an item.
    ///   - outDate: stays as it is.
    /// - Returns: never.
    /// - Throws: `CocoaError.featureUnsupported`, always.
    public func url(forPublishingUbiquitousItemAt url: URL, expiration outDate: UnsafeMutablePointer<NSDate?>?) throws -> URL {
        throw CocoaError(
            .featureUnsupported,
            userInfo: [
                NSFilePathErrorKey: url.path,
                NSLocalizedDescriptionKey:
                    "\(url.path) cannot be published: containers have no web addresses. Copy the item to a web server instead.",
            ])
    }
}

extension Notification.Name {
    /// The signed-in account has changed, or the user has signed out; `ubiquityIdentityToken` is already the new one.
    ///
    /// It is posted on any thread, in every process that has looked up a container.
    public static let NSUbiquityIdentityDidChange = Notification.Name.ubiquityIdentityDidChange
}
