/// The member `cloud` of `config.json`: the cloud that carries the containers, where `transport` is `cloud`.
///
/// It holds no credential: those of a remote are in rclone's own configuration.
package struct CloudConfiguration: Codable, Sendable, Hashable {
    /// A remote of rclone with a directory, such as `nextcloud:Ubiquity`, or the absolute path of a directory.
    package var remote: String
    /// The bytes a second that transfers may use; nil for no limit.
    package var bytesPerSecond: Int64?
    /// Whether the connection is metered, so that the remote is asked every five minutes only.
    package var metered: Bool?
    /// Whether a person has paused the transfers.
    package var paused: Bool?
    /// The program; nil to look for it on the PATH.
    package var rclone: String?
    /// rclone's configuration file; nil for its usual one.
    package var rcloneConfig: String?

    package init(remote: String) { self.remote = remote }

    /// The file, reduced to this part.
    struct File: Decodable, HomeFormat {
        var format: Int
        var cloud: CloudConfiguration?

        static var remedy: String { #"it takes "cloud": {"remote": "nextcloud:Ubiquity"}; correct it, or remove the member"# }
    }
}

extension DeviceHome {
    /// The cloud of this device; nil if the user has set none.
    ///
    /// - Throws: `ContainerError` when the file cannot be read, or this part cannot be understood.
    package var cloud: CloudConfiguration? {
        get throws(ContainerError) {
            let files = HomeFiles(home: self)
            return try files.read(CloudConfiguration.File.self, from: files.configurationFile)?.cloud
        }
    }

    /// Whether a cloud carries the containers: `"transport": "cloud"`.
    package var usesCloud: Bool { (try? HomeSettings(self).transport) == TransportKind.cloud.rawValue }
}
