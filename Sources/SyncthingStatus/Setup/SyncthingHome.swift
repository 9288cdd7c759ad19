internal import Foundation
package import SystemPackage
package import UbiquityContainers

/// The directory in which a Syncthing stores its configuration and its keys.
package struct SyncthingHome: Hashable, Sendable {
    package let path: FilePath
    /// Whether the user named it; otherwise Syncthing finds it by itself.
    package let isNamed: Bool

    package init(_ path: FilePath, isNamed: Bool) {
        self.path = PathFacts.absolute(path)
        self.isNamed = isNamed
    }

    package var configuration: FilePath { path.appending("config.xml") }
    /// The certificate of the web interface, which Syncthing makes for itself.
    package var certificate: FilePath { path.appending("https-cert.pem") }

    /// Returns the user's Syncthing, as Syncthing itself looks for it: `unixConfigDir` in its `lib/locations`.
    ///
    /// - Parameters:
    ///   - named: the directory that the user names; nil for none.
    ///   - environment: the environment.
    ///   - isThere: whether a file exists.
    /// - Returns: the first directory with a `config.xml`; if there is none, nil, unless the user names one.
    package static func find(
        named: FilePath?, environment: [String: String] = ProcessInfo.processInfo.environment,
        isThere: (FilePath) -> Bool = { FileManager.default.fileExists(atPath: $0.string) }
    ) -> SyncthingHome? {
        if let named { return SyncthingHome(named, isNamed: true) }
        if let path = ["STHOMEDIR", "STCONFDIR"].lazy.compactMap({ environment[$0] }).first(where: { $0.hasPrefix("/") }) {
            return SyncthingHome(FilePath(path), isNamed: true)
        }
        var places: [FilePath] = []
        func add(_ base: String?, _ name: String) {
            if let base, base.hasPrefix("/") { places.append(FilePath(base).pushing(FilePath(name))) }
        }
        add(environment["XDG_CONFIG_HOME"], "syncthing")
        add(environment["HOME"], ".config/syncthing")
        add(environment["XDG_STATE_HOME"], "syncthing")
        add(environment["HOME"], ".local/state/syncthing")
        return places.map { SyncthingHome($0, isNamed: false) }.first { isThere($0.configuration) }
    }

    /// Reads where this Syncthing answers.
    ///
    /// - Returns: the address, the key and the certificate; nil if there is no `config.xml` yet.
    /// - Throws: ``SetupError``.
    package func interface() throws(SetupError) -> SyncthingConfiguration? {
        let bytes: [UInt8]
        do {
            // A configuration of a thousand folders has a megabyte.
            bytes = try LinuxFileLayer().read(configuration, limit: 16 << 20)
        } catch .noSuchFileOrDirectory {
            return nil
        } catch {
            throw SetupError("\(configuration) cannot be read (\(error)); run as the user of this Syncthing, or name another with --syncthing-home.")
        }
        do throws(SetupError) {
            let interface = try SyncthingInterface(configuration: bytes)
            let url = try interface.url
            guard !interface.key.isEmpty else { throw SetupError("holds no API key; make one in Syncthing (Actions, Settings, General)") }
            return SyncthingConfiguration(address: url, key: interface.key, certificate: interface.usesTLS ? certificate.string : nil)
        } catch {
            throw SetupError("\(configuration) \(error.description).")
        }
    }
}
