internal import ObjectTransfer
internal import SyncthingStatus
package import SystemPackage
package import UbiquityContainers

/// Returns what carries a container, by the configuration of a device home.
///
/// - Parameters:
///   - container: the container's directory.
///   - home: the device home; nil if there is none.
/// - Returns: the cloud, if `config.json` says so; Syncthing, if it names one; otherwise the directory.
/// - Throws: `ContainerError` when the file cannot be read or understood; `SyncthingError` when its values are
///   unusable.
package func configuredTransport(for container: FilePath, home: DeviceHome?) throws -> any Transport {
    guard let home else { return DirectoryTransport(container) }
    if home.usesCloud, try home.cloud != nil { return CloudTransport(container, home: home) }
    if let endpoint = try SyncthingEndpoint(configuredIn: home) { return SyncthingTransport(container, endpoint: endpoint) }
    return DirectoryTransport(container, isShared: home.sharesDirectory)
}
