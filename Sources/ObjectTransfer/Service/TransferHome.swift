internal import Foundation
package import SystemPackage
package import UbiquityContainers

/// What a transfer keeps in a device home: `transfer/`, which only its user can enter.
package struct TransferHome: Sendable {
    package let home: DeviceHome

    package init(_ home: DeviceHome) { self.home = home }

    package var directory: FilePath { home.path.appending("transfer") }
    /// Where the agent listens.
    package var socket: FilePath { home.agentSocket }
    private var lockFile: FilePath { directory.appending("lock") }

    /// The index of an account.
    package func index(of account: AccountName) -> FilePath { directory.appending("\(account).sqlite") }

    /// Makes the directory, for this user alone.
    ///
    /// - Throws: `Errno`; `EACCES` if another user could enter it.
    package func prepare() throws {
        try FileManager.default.createDirectory(atPath: home.path.string, withIntermediateDirectories: true)
        try FileManager.default.createDirectory(
            atPath: directory.string, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: directory.string)
    }

    /// Takes the lock by which one agent serves a home; nil if another one does.
    ///
    /// - Throws: `Errno`.
    package func lock() throws -> FileLock? { try FileLock.ifFree(lockFile) }
}
