/// `accounts/<account>.json`: this device's record of an account.
package struct AccountRecord: Codable, Sendable, HomeFormat {
    package var format = HomeFormatVersion.current
    package var token: UbiquityIdentityToken
    /// The containers root; nil means `containers` in the device home.
    package var containersRoot: String?
    /// The peers by container identifier.
    package var peers: [String: Peer] = [:]

    init(token: UbiquityIdentityToken) { self.token = token }

    /// This device's peer in one container.
    package struct Peer: Codable, Sendable {
        package var identifier: String
        /// Whether its mark has been written; from then on a missing mark means a wipe or a late arrival.
        package var attached: Bool
        /// The containers root below which the mark was written.
        package var root: String?

        package init(identifier: String, attached: Bool, root: String? = nil) {
            self.identifier = identifier
            self.attached = attached
            self.root = root
        }
    }
}

/// A JSON file of the device home, which carries the version of its format.
protocol HomeFormat {
    var format: Int { get }
    /// The remedy for invalid content.
    static var remedy: String { get }
}

extension HomeFormat {
    static var remedy: String { "restore it, or remove it and sign in again" }
}

/// The fault of a JSON file; it never shows the invalid value, which may be a key.
struct MemberFault: Error, CustomStringConvertible {
    let description: String

    /// Makes a fault from a decoding error; nil for any other error.
    init?(_ error: any Error) {
        guard let error = error as? DecodingError else { return nil }
        func name(_ path: [any CodingKey]) -> String {
            path.isEmpty ? "the whole" : path.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }.joined(separator: ".")
        }
        description =
            switch error {
            case .keyNotFound(let key, let context): "\(name(context.codingPath + [key])) is missing"
            case .typeMismatch(_, let context), .valueNotFound(_, let context): "\(name(context.codingPath)) has another type"
            case .dataCorrupted(let context):
                context.codingPath.isEmpty ? "it is not JSON" : "\(name(context.codingPath)): \(context.debugDescription)"
            @unknown default: "it cannot be read"
            }
    }
}

enum HomeFormatVersion {
    static let current = 1
}
