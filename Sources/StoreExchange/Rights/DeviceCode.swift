internal import Foundation
package import StoreFormat
package import UbiquityContainers

/// What a new device tells another device of its account, which then enrols it: its name and its public key.
///
/// It holds no secret. As text it is `<account>~<uuid>.<key>`.
package struct DeviceCode: Hashable, Sendable, LosslessStringConvertible {
    package let device: PeerIdentifier
    package let key: PublicKey

    package init(device: PeerIdentifier, key: PublicKey) { (self.device, self.key) = (device, key) }

    /// Reads a code.
    ///
    /// Returns nil for anything else.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let device = PeerIdentifier(parts[0]), AccountIdentifier(device.account) != nil, let key = PublicKey(parts[1]) else {
            return nil
        }
        self.init(device: device, key: key)
    }

    package var description: String { "\(device).\(key)" }
}
