internal import COpenSSL
internal import Foundation

/// The proof of a device that it was given a code.
///
/// A device proves to another one, over TLS, that it is the device of its identifier. The proof binds the code's secret
/// to the identifiers of both devices, so a proof that somebody else has seen is of no use to any other device, and does
/// not show the secret. The device carries the proof in its own name, and in the label of its folder, until the other
/// one has accepted it: before that, Syncthing tells nothing else of it.
package struct PairingProof: Hashable, Sendable {
    private let text: String

    /// Makes the proof of a device.
    ///
    /// - Parameters:
    ///   - code: the code.
    ///   - device: the device that was given the code.
    package init(of code: PairingCode, by device: DeviceIdentifier) {
        let data = Array("ubiquity pairing 1".utf8) + code.device.bytes + device.bytes
        var (value, length) = ([UInt8](repeating: 0, count: 32), 0)
        // EVP_MAC(7): one call that makes an HMAC.
        guard EVP_Q_mac(nil, "HMAC", nil, "SHA256", nil, code.secret, code.secret.count, data, data.count, &value, value.count, &length) != nil,
            length == value.count
        else { fatalError("OpenSSL has no HMAC, or no memory for it") }
        text = Base32.text(of: value.prefix(PairingCode.secretLength))
    }

    private static let opening = " [join "

    /// Returns a name that carries the proof.
    package func tagged(_ name: String) -> String { Self.untagged(name) + Self.opening + text + "]" }

    /// Returns whether a name carries this proof.
    package func isCarried(by name: String) -> Bool { name.hasSuffix(Self.opening + text + "]") }

    /// Returns a name without the proof that it may carry.
    package static func untagged(_ name: String) -> String {
        guard name.hasSuffix("]"), let range = name.range(of: opening, options: .backwards) else { return name }
        return String(name[..<range.lowerBound])
    }
}
