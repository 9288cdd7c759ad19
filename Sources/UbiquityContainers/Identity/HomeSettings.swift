internal import Foundation
internal import Glibc
package import SystemPackage

extension DeviceHome {
    /// The name of this device for people: `deviceName` of `config.json`, else the host name.
    ///
    /// - Throws: `ContainerError` when the file cannot be read, or this part cannot be understood.
    package var deviceName: String {
        get throws(ContainerError) { try HomeSettings(self).deviceName ?? HomeSettings.hostName }
    }
}

/// What `ubcontrol setup` reads and changes in a device home.
package struct HomeSettings: Sendable {
    let home: DeviceHome

    package init(_ home: DeviceHome) { self.home = home }

    /// The name that the user has chosen for this device; nil if none.
    package var deviceName: String? {
        get throws(ContainerError) {
            let files = HomeFiles(home: home)
            return try files.read(DeviceNameFile.self, from: files.configurationFile)?.deviceName
        }
    }

    /// The name of this machine without its domain.
    package static var hostName: String { String(ProcessInfo.processInfo.hostName.prefix { $0 != "." }) }

    /// The member `transport` of `config.json`: what carries the containers' files; nil if the user has not said.
    package var transport: String? {
        get throws(ContainerError) {
            let files = HomeFiles(home: home)
            return try files.read(TransportFile.self, from: files.configurationFile)?.transport
        }
    }

    /// Returns the containers root of an account that this device knows; nil if it does not know the account.
    ///
    /// - Throws: `ContainerError` when the home's files cannot be read or understood.
    package func containersRoot(of account: AccountName) throws(ContainerError) -> FilePath? {
        try HomeFiles(home: home).record(of: account).map { home.root(of: $0) }
    }

    /// Changes members of `config.json`, and keeps all others, also unknown ones.
    ///
    /// Afterwards only this user can read the file, because it may hold a key.
    ///
    /// - Parameter members: the new values; nil removes a member.
    /// - Throws: `ContainerError`; nothing has changed then.
    package func configure(_ members: [String: (any Encodable & Sendable)?]) throws(ContainerError) {
        let files = HomeFiles(home: home)
        try files.prepare()
        try files.locked { () throws(ContainerError) in
            // A file that cannot be understood, or is newer, is not touched.
            _ = try home.configuration
            // Whoever keeps the file elsewhere, with a link to it, finds it there afterwards.
            let file = PathFacts.real(files.configurationFile) ?? files.configurationFile
            var all: [String: Any] = [:]
            if let bytes = try? files.files.read(file, limit: 16 << 20) {
                all = (try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any] ?? [:]
            }
            if all["format"] == nil { all["format"] = HomeFormatVersion.current }
            do {
                for (name, value) in members {
                    all[name] = try value.map { try JSONSerialization.jsonObject(with: JSONEncoder().encode($0), options: .fragmentsAllowed) }
                }
                let data = try JSONSerialization.data(withJSONObject: all, options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
                try files.replace(file, [UInt8](data) + [UInt8(ascii: "\n")], mode: [.ownerReadWrite])
            } catch {
                throw ContainerError(
                    .fileSystem, "\(file) cannot be written; check the directory's owner, mode and free space.", path: file, cause: error)
            }
        }
    }

    private struct DeviceNameFile: Decodable, HomeFormat {
        var format: Int
        var deviceName: String?

        static var remedy: String { #"it takes "deviceName": "laptop"; correct it, or remove the member"# }
    }

    private struct TransportFile: Decodable, HomeFormat {
        var format: Int
        var transport: String?

        static var remedy: String { #"it takes "transport": "directory"; correct it, or remove the member"# }
    }
}

extension HomeFiles {
    /// Replaces a file by one with the given mode.
    func replace(_ file: FilePath, _ bytes: [UInt8], mode: FilePermissions) throws {
        let directory = file.removingLastComponent()
        let temporary = directory.appending(".\(file.lastComponent!.string).\(UUID().uuidString)")
        do {
            let descriptor = try FileDescriptor.open(
                temporary, .writeOnly, options: [.create, .exclusiveCreate, .closeOnExec], permissions: mode)
            try descriptor.closeAfter { _ = try descriptor.writeAll(bytes) }
            try files.syncFile(temporary)
            try files.renameOver(temporary, to: file)
            try files.syncDirectory(directory)
        } catch {
            try? files.remove(temporary)
            throw error
        }
    }
}
