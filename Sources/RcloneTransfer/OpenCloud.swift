package import ObjectTransfer
internal import SystemPackage
package import UbiquityContainers

/// Opens the store of an account in a cloud: a directory, if an absolute path is named, or else a remote of rclone.
///
/// - Parameters:
///   - cloud: the cloud.
///   - account: the account, which has a directory of its own there.
/// - Returns: the store.
/// - Throws: `ObjectStoreError` if it cannot be opened now.
package func openCloud(_ cloud: CloudConfiguration, _ account: AccountName) async throws -> any ObjectStore {
    if cloud.remote.hasPrefix("/") {
        let directory = FilePath(cloud.remote)
        guard try await blocking({ try LinuxFileLayer().kind(of: directory) == .directory }) else {
            throw ObjectStoreError(.unreachable, "\(directory) is not there; mount its file system, or make the directory.")
        }
        let own = directory.appending(account.description)
        try await blocking { try LinuxFileLayer().makeDirectory(own) }
        return DirectoryObjectStore(own)
    }
    #if HTTP
        let program = try RcloneProgram(cloud.rclone.map { FilePath($0) }, configuration: cloud.rcloneConfig.map { FilePath($0) })
        return try await RcloneStore(cloud.remote, directory: account.description, program: program)
    #else
        throw ObjectStoreError(.unusable, "This program was built without HTTP, so it reaches directories only; build it with --traits HTTP.")
    #endif
}
