public import Foundation
public import SystemPackage
public import UbiquityContainers

/// The address of a Syncthing and its API key.
///
/// ```swift
/// let endpoint = try SyncthingEndpoint("https://127.0.0.1:8384", key: key, certificate: "/home/alice/.config/syncthing/https-cert.pem")
/// ```
public struct SyncthingEndpoint: Sendable, Hashable, CustomStringConvertible {
    /// The address, such as `http://127.0.0.1:8384`.
    public let address: URL
    /// Syncthing's API key; no message contains it.
    let key: String
    /// The only trusted certificate; nil trusts the system's certificates.
    let pin: CertificatePin?

    /// Makes an endpoint from an address and a key.
    ///
    /// - Parameters:
    ///   - address: the address of Syncthing's web interface on this device; its paths are compared with paths on this
    ///     device.
    ///   - key: the API key from the interface's settings.
    ///   - certificate: for an `https` address, the file with Syncthing's own certificate, `https-cert.pem` beside its
    ///     `config.xml`: only this certificate is trusted, under any host name. Nil trusts the system's authorities.
    /// - Throws: `SyncthingError` with `invalidAddress`, `wrongKey` or `unusableCertificate`.
    public init(_ address: String, key: String, certificate: FilePath? = nil) throws(SyncthingError) {
        guard let url = URL(string: address), let scheme = url.scheme, ["http", "https"].contains(scheme), url.host() != nil, url.user() == nil
        else {
            throw SyncthingError(.invalidAddress, "\(address.debugDescription) is not an address of Syncthing; give one like http://127.0.0.1:8384.")
        }
        guard !key.isEmpty, key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw SyncthingError(.wrongKey, "The API key for \(address) is empty or contains spaces; copy it from Syncthing's settings.")
        }
        self.address = url
        self.key = key
        if let certificate {
            guard scheme == "https" else {
                throw SyncthingError(
                    .invalidAddress,
                    "\(address) uses no certificate, but \(certificate) is named for it; use an https address, or name no certificate.")
            }
            pin = try CertificatePin(certificate)
        } else {
            pin = nil
        }
    }

    /// Makes the endpoint that a device home's `config.json` configures; nil if it configures none.
    ///
    /// - Parameter home: a device home.
    /// - Throws: `ContainerError` when the file cannot be read or understood; `SyncthingError` when its values are
    ///   unusable.
    public init?(configuredIn home: DeviceHome) throws {
        guard let configuration = try home.syncthing else { return nil }
        // A relative path starts at the directory of the configuration file.
        let certificate = configuration.certificate.map { home.path.pushing(FilePath(NSString(string: $0).expandingTildeInPath)) }
        do {
            try self.init(configuration.address, key: configuration.key, certificate: certificate)
        } catch {
            throw SyncthingError(error.code, "\(home.configurationFile): \(error.message)", cause: error.cause)
        }
    }

    /// The address without the key.
    public var description: String { address.absoluteString }
}
