/// That somebody means to remove a store's content on all devices of the account.
///
/// ```swift
/// try await store.removeUbiquitousContent(.removeEverythingOnAllDevices(contentName: "Notes"))
/// ```
public struct RemovalConfirmation: Sendable, Hashable {
    /// The name of the content that is meant.
    public let contentName: String

    /// Every record of the content goes, on every device, those that are off now included.
    ///
    /// - Parameter contentName: the content's name, as the store was opened with.
    /// - Returns: the confirmation.
    public static func removeEverythingOnAllDevices(contentName: String) -> RemovalConfirmation { RemovalConfirmation(contentName: contentName) }
}

/// That a store's content has been removed, by this device or another, and the store is empty.
public struct ContentRemoval: Sendable, Hashable {
    /// The epoch that has begun.
    public var epoch: Int64
    /// What was set aside, which `ubcontrol kept` lists; nil where all had been sent.
    public var kept: KeptEntry?
    /// How many logs of this device nobody had read, and had gone from the container before they could be set aside.
    public var missing: Int

    package init(epoch: Int64, kept: KeptEntry?, missing: Int) {
        self.epoch = epoch
        self.kept = kept
        self.missing = missing
    }
}

extension UbiquitousStore {
    /// Removes the store's content on all devices of the account, and begins the next epoch.
    ///
    /// The epoch's mark is written first, durably: it decides, on this device at once, and on each other as soon as the mark is there. What this
    /// device had not sent is set aside, as is on each other device what had not reached this one; `ubcontrol kept` lists it. Then the store and
    /// its content are empty, and at once of use. After a crash on the way the next exchange completes it.
    ///
    /// - Parameter confirmation: names the content.
    /// - Returns: what was done on this device.
    /// - Throws: `UbiquitousStoreError`: `unsupported` where the confirmation names another content, `suspended` where the container is gone, and
    ///   nothing has been removed; else `fileSystem`, after which the next exchange goes on with it if the mark is written.
    @discardableResult
    public func removeUbiquitousContent(_ confirmation: RemovalConfirmation) async throws -> ContentRemoval {
        let name = engine.contentName
        guard confirmation.contentName == name else {
            throw UbiquitousStoreError(
                .unsupported, "The removal of “\(confirmation.contentName)” was confirmed, and this store's content is “\(name)”: nothing is removed."
            )
        }
        let removal = try await engine.removeContent()
        current.runner?.wake()
        return removal
    }
}
