/// `accounts/<account>.json`: what this device knows of an account.
package struct AccountRecord: Codable, Sendable, HomeFormat {
    package var format = HomeFormatVersion.current
    package var token: UbiquityIdentityToken
    /// Nil: `containers` in the device home.
    package var containersRoot: String?
    /// By container identifier.
    package var peers: [String: Peer] = [:]

    init(token: UbiquityIdentityToken) { self.token = token }

    /// This device's peer in one container.
    package struct Peer: Codable, Sendable {
        package var identifier: String
        /// Whether its mark has been written; from then on a missing mark means a wipe, or lateness.
        package var attached: Bool
        /// The containers root in which it was written.
        package var root: String?
    }
}

/// The version that every JSON file of the device home carries.
protocol HomeFormat {
    var format: Int { get }
}

enum HomeFormatVersion {
    static let current = 1
}
