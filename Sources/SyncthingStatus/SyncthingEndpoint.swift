public import Foundation
internal import NIOSSL
public import SystemPackage
public import UbiquityContainers

/// Where a Syncthing answers, and the key that it asks for.
///
/// ```swift
/// let endpoint = try SyncthingEndpoint("https://127.0.0.1:8384", key: key, certificate: "/home/alice/.config/syncthing/https-cert.pem")
/// ```
public struct SyncthingEndpoint: Sendable, Hashable, CustomStringConvertible {
    /// Such as `http://127.0.0.1:8384`.
    public let address: URL
    /// Syncthing's API key; it appears in no message.
    let key: String
    /// The one certificate that is trusted; nil trusts what the system trusts.
    let pin: CertificatePin?

    /// Takes an address and a key.
    ///
    /// - Parameters:
    ///   - address: that of Syncthing's web interface, on this device: what it says of paths is compared with paths here.
    ///   - key: the API key that the interface's settings show.
    ///   - certificate: of an address with `https`, the file with the certificate that Syncthing has made for itself, `https-cert.pem` beside its
    ///     `config.xml`: exactly this one is trusted, under whatever host name. Nil trusts the authorities that the system trusts.
    /// - Throws: `SyncthingError` with `invalidAddress`, `wrongKey` or `unusableCertificate`.
    public init(_ address: String, key: String, certificate: FilePath? = nil) throws(SyncthingError) {
        guard let url = URL(string: address), let scheme = url.scheme, ["http", "https"].contains(scheme), url.host() != nil, url.user() == nil
        else {
            throw SyncthingError(.invalidAddress, "\(address.debugDescription) is no address of Syncthing's; give one like http://127.0.0.1:8384.")
        }
        guard !key.isEmpty, key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw SyncthingError(.wrongKey, "The API key for \(address) is empty or holds spaces; copy it from Syncthing's settings.")
        }
        self.address = url
        self.key = key
        if let certificate {
            guard scheme == "https" else {
                throw SyncthingError(
                    .invalidAddress, "\(address) shows no certificate, yet \(certificate) is named for it; let it begin with https, or name none.")
            }
            pin = CertificatePin(certificate: try Self.certificate(in: certificate))
        } else {
            pin = nil
        }
    }

    /// The Syncthing that a device home's `config.json` names; nil where it names none.
    ///
    /// - Parameter home: a device home.
    /// - Throws: `ContainerError` where the file cannot be read or understood; `SyncthingError` where what it says cannot be used.
    public init?(configuredIn home: DeviceHome) throws {
        guard let configuration = try home.syncthing else { return nil }
        // A relative path is one beside the file that names it.
        let certificate = configuration.certificate.map { home.path.pushing(FilePath(NSString(string: $0).expandingTildeInPath)) }
        do {
            try self.init(configuration.address, key: configuration.key, certificate: certificate)
        } catch {
            throw SyncthingError(error.code, "\(home.configurationFile): \(error.message)", cause: error.cause)
        }
    }

    private static func certificate(in file: FilePath) throws(SyncthingError) -> NIOSSLCertificate {
        let found: [NIOSSLCertificate]
        do {
            found = try NIOSSLCertificate.fromPEMBytes(LinuxFileLayer().read(file, limit: 1 << 20))
        } catch {
            throw SyncthingError(
                .unusableCertificate, "\(file) cannot be read as a certificate; name Syncthing's https-cert.pem, and see that you may read it.",
                cause: error)
        }
        // It would not be clear which one is meant.
        guard found.count == 1 else {
            throw SyncthingError(
                .unusableCertificate, "\(file) holds \(found.count) certificates; name a file with Syncthing's own alone, its https-cert.pem.")
        }
        return found[0]
    }

    /// The address alone.
    public var description: String { address.absoluteString }
}
