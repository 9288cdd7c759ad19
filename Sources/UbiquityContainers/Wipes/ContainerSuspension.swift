internal import Foundation
internal import SystemPackage

/// `suspended/<account>/<container>.json` in the device home: records that the guard against mass deletion has acted.
///
/// While the file exists, no store of this device exchanges in the container. The file is outside of the container,
/// because the container may be in the process of disappearing.
struct ContainerSuspension: Codable, Sendable, HomeFormat {
    var format = HomeFormatVersion.current
    var since: Date
    var removed: Int
    var of: Int
}

extension HomeFiles {
    /// The directory of the suspensions.
    static let suspendedDirectoryName = "suspended"

    func suspensionFile(of container: ContainerIdentifier, _ account: AccountName) -> FilePath {
        home.path.appending(Self.suspendedDirectoryName).appending(account.description).appending("\(container).json")
    }

    func suspend(_ container: ContainerIdentifier, _ account: AccountName, _ suspension: ContainerSuspension) throws(ContainerError) {
        let file = suspensionFile(of: container, account)
        do {
            for directory in [file.removingLastComponent().removingLastComponent(), file.removingLastComponent()] {
                try files.makeDirectory(directory)
            }
        } catch {
            throw ContainerError(
                .fileSystem, "\(file) cannot be written; check its directory's owner, mode and free space.", path: file, cause: error)
        }
        try write(suspension, to: file)
    }
}

extension DeviceHome {
    /// Returns whether a peer may exchange in a container: it is attached, and the container is not suspended.
    func attachment(
        of peer: PeerIdentifier, in container: ContainerIdentifier, _ account: AccountName, at path: FilePath, _ files: any FileLayer
    ) -> ContainerAttachment {
        let found = UbiquityContainer.attachment(of: peer, at: path, files)
        guard found == .attached else { return found }
        let suspension = HomeFiles(home: self).suspensionFile(of: container, account)
        return (try? files.kind(of: suspension)) == .file ? .detached(.massDeletion) : .attached
    }
}

extension UbiquityContainer {
    /// Whether the guard against mass deletion stops stores from exchanging in the container.
    ///
    /// Blocks for one system call.
    public var isSuspended: Bool { (try? files.kind(of: suspensionFile)) == .file }

    /// Confirms that the deletion was meant, or that the items are back: stores exchange again, in all processes of
    /// this device.
    ///
    /// - Throws: `ContainerError` with `fileSystem`.
    public func resume() throws(ContainerError) {
        do {
            try files.remove(suspensionFile)
        } catch {
            throw ContainerError(.fileSystem, "\(suspensionFile) cannot be removed; check its owner and mode.", path: suspensionFile, cause: error)
        }
    }

    private var suspensionFile: FilePath { HomeFiles(home: home).suspensionFile(of: identifier, account) }

    /// Reports each suspension or resumption of a container of this device; nil if the home is not watched.
    package var suspensions: AsyncStream<Void>? { identity?.suspensions.subscribe() }
}
