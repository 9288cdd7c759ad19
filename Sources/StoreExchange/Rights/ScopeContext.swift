package import StoreFormat
package import StoreRecords
internal import Synchronization
internal import UbiquityContainers

/// The constant surroundings of a store in a container with a scope.
package struct ScopeContext: Sendable {
    /// The container.
    package let container: ScopeIdentifier
    /// This device's keys in it.
    package let keys: DeviceKeys
    /// The directory of its statements.
    package let directory: ScopeDirectory
    /// The public place that the store reads; nil if it reads all files of the container itself.
    package let place: PlaceContext?
    private let cached = CachedRights()

    package init(_ container: ScopeIdentifier, _ keys: DeviceKeys, _ directory: ScopeDirectory, place: PlaceContext? = nil) {
        (self.container, self.keys, self.directory, self.place) = (container, keys, directory, place)
    }

    /// The rights of the device's account as last read, without a look at a file.
    package var rights: WriteRights { cached.rights.withLock { $0 } }

    /// Remembers the rights, and returns whether they differ from those before.
    package func set(_ rights: WriteRights) -> Bool {
        cached.rights.withLock { before in
            defer { before = rights }
            return before != rights
        }
    }

    /// Returns the bytes of a sealed log with its signature.
    ///
    /// - Throws: `UbiquitousStoreError` with `readOnly` if the device's key is missing.
    func signed(_ log: Outbox.Entry) throws -> [UInt8] {
        guard let key = try keys.deviceKey else {
            throw UbiquitousStoreError(
                .readOnly,
                "The key of this device in the container \(container) is missing, so nothing can be published there; restore the device home, or enrol this device again."
            )
        }
        return LogFile.signed(log.bytes, log.name.hash, with: key, in: container)
    }
}

/// The rights that all copies of a context share.
private final class CachedRights: Sendable {
    let rights = Mutex(WriteRights.reading)
}
