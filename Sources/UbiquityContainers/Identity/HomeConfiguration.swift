package import SystemPackage

/// `config.json`: the user's settings for this device; all of them are optional.
///
/// Unknown members belong to another version and are ignored. Each part is read separately by the code that needs it,
/// so an error in one part does not affect another.
package struct HomeConfiguration: Codable, Sendable, HomeFormat {
    package var format = HomeFormatVersion.current
    /// The containers that programs may open without a name, in order.
    package var containers: [String]?

    /// The number of bytes above which the containers of an account take too much space; nil for no mark.
    package var storageMark: Int64?

    /// The limit above which deletions look like an accident.
    package var massDeletion: MassDeletionLimit?

    package init(containers: [String]? = nil) { self.containers = containers }

    static var remedy: String { "correct it, or remove it" }
}

/// The member `syncthing` of `config.json`: the address of this device's Syncthing, and its key.
///
/// There is one, because a device runs one Syncthing for all its accounts and folders.
package struct SyncthingConfiguration: Codable, Sendable, Hashable {
    /// The address, such as `https://127.0.0.1:8384`.
    package var address: String
    /// The API key; no message may contain it.
    package var key: String
    /// The file of the only trusted certificate, Syncthing's `https-cert.pem`; nil trusts the system's certificates.
    package var certificate: String?

    package init(address: String, key: String, certificate: String? = nil) {
        self.address = address
        self.key = key
        self.certificate = certificate
    }

    /// The file, reduced to this part.
    struct File: Decodable, HomeFormat {
        var format: Int
        var syncthing: SyncthingConfiguration?

        static var remedy: String {
            #"it takes "syncthing": {"address": "http://127.0.0.1:8384", "key": "…"}, and "certificate" for https; correct it, or remove the member"#
        }
    }
}

extension DeviceHome {
    /// The user's settings.
    ///
    /// - Throws: `ContainerError` when the file cannot be read or understood.
    package var configuration: HomeConfiguration {
        get throws(ContainerError) {
            let files = HomeFiles(home: self)
            return try files.read(HomeConfiguration.self, from: files.configurationFile) ?? HomeConfiguration()
        }
    }

    /// The address and key of this device's Syncthing; nil if the user has not set them.
    ///
    /// - Throws: `ContainerError` when the file cannot be read, or this part cannot be understood.
    package var syncthing: SyncthingConfiguration? {
        get throws(ContainerError) {
            let files = HomeFiles(home: self)
            return try files.read(SyncthingConfiguration.File.self, from: files.configurationFile)?.syncthing
        }
    }

    /// Whether the containers root lies on a disk that all devices share: `"transport": "directory"`.
    ///
    /// A configuration that cannot be read says nothing; `ubcontrol doctor` reports it.
    package var sharesDirectory: Bool { (try? HomeSettings(self).transport) == TransportKind.directory.rawValue }

    /// The file that contains ``configuration`` and ``syncthing``.
    package var configurationFile: FilePath { HomeFiles(home: self).configurationFile }
}
