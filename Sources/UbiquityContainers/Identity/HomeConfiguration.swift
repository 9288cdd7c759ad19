package import SystemPackage

/// `config.json`: what a user has settled for this device; all of it optional.
///
/// Members that are unknown here are another version's, and ignored. Each part is read by those that need it alone, so that an error in one harms no other.
package struct HomeConfiguration: Codable, Sendable, HomeFormat {
    package var format = HomeFormatVersion.current
    /// The containers that programs may look up without naming them, in order.
    package var containers: [String]?

    /// From when on deletions look like an accident.
    package var massDeletion: MassDeletionLimit?

    package init(containers: [String]? = nil) { self.containers = containers }

    static var remedy: String { "mend it, or remove it" }
}

/// The member `syncthing` of `config.json`: where this device's Syncthing answers, and its key.
///
/// There is one, for a device runs one Syncthing however many accounts and folders it has.
package struct SyncthingConfiguration: Decodable, Sendable, Hashable {
    /// Such as `https://127.0.0.1:8384`.
    package var address: String
    /// The API key; it is to appear in no message.
    package var key: String
    /// The file of the one certificate that is trusted, Syncthing's `https-cert.pem`; nil trusts what the system trusts.
    package var certificate: String?

    package init(address: String, key: String, certificate: String? = nil) {
        self.address = address
        self.key = key
        self.certificate = certificate
    }

    /// The file, as far as this part of it goes.
    struct File: Decodable, HomeFormat {
        var format: Int
        var syncthing: SyncthingConfiguration?

        static var remedy: String {
            #"it takes "syncthing": {"address": "http://127.0.0.1:8384", "key": "…"}, and "certificate" for https; mend it, or remove the member"#
        }
    }
}

extension DeviceHome {
    /// What the user has settled.
    ///
    /// - Throws: `ContainerError` where the file cannot be read or understood.
    package var configuration: HomeConfiguration {
        get throws(ContainerError) {
            let files = HomeFiles(home: self)
            return try files.read(HomeConfiguration.self, from: files.configurationFile) ?? HomeConfiguration()
        }
    }

    /// Where this device's Syncthing answers; nil where the user has not said so.
    ///
    /// - Throws: `ContainerError` where the file cannot be read, or this part of it be understood.
    package var syncthing: SyncthingConfiguration? {
        get throws(ContainerError) {
            let files = HomeFiles(home: self)
            return try files.read(SyncthingConfiguration.File.self, from: files.configurationFile)?.syncthing
        }
    }

    /// Where ``configuration`` and ``syncthing`` stand.
    package var configurationFile: FilePath { HomeFiles(home: self).configurationFile }
}
