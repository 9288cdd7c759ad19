internal import Foundation
internal import SystemPackage

/// `suspended/<account>/<container>.json` in the device home: that the guard against mass deletion has acted.
///
/// While the file is there no store of this device exchanges in the container. It is outside of the container, which may be on its way out.
struct ContainerSuspension: Codable, Sendable, HomeFormat {
    var format = HomeFormatVersion.current
    var since: Date
    var removed: Int
    var of: Int
}

extension HomeFiles {
    /// Below it lies what is suspended.
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
    /// Whether a peer may exchange in a container: it is attached, and nobody has suspended that.
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
    /// Whether the guard against mass deletion keeps stores from exchanging in the container.
    ///
    /// Blocks for a system call.
    public var isSuspended: Bool { (try? files.kind(of: suspensionFile)) == .file }

    /// Says that what was deleted was meant to be, or has been put back: stores exchange again, in all processes of this device.
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

    /// Tells at each change that somebody suspends or resumes a container of this device; nil where nobody watches the home.
    package var suspensions: AsyncStream<Void>? { identity?.suspensions.subscribe() }
}
