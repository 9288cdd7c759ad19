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

        package init(identifier: String, attached: Bool, root: String? = nil) {
            self.identifier = identifier
            self.attached = attached
            self.root = root
        }
    }
}

/// The version that every JSON file of the device home carries.
protocol HomeFormat {
    var format: Int { get }
    /// What to do where the file does not hold what it should.
    static var remedy: String { get }
}

extension HomeFormat {
    static var remedy: String { "restore it, or remove it and sign in again" }
}

/// What in a JSON file is not as it should be; what stands there is not shown, for it may be a key.
struct MemberFault: Error, CustomStringConvertible {
    let description: String

    /// Takes it from a decoder's error; nil for any other.
    init?(_ error: any Error) {
        guard let error = error as? DecodingError else { return nil }
        func name(_ path: [any CodingKey]) -> String {
            path.isEmpty ? "the whole" : path.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }.joined(separator: ".")
        }
        description =
            switch error {
            case .keyNotFound(let key, let context): "\(name(context.codingPath + [key])) is missing"
            case .typeMismatch(_, let context), .valueNotFound(_, let context): "\(name(context.codingPath)) is of another type"
            case .dataCorrupted(let context):
                context.codingPath.isEmpty ? "it is no JSON" : "\(name(context.codingPath)): \(context.debugDescription)"
            @unknown default: "it cannot be read"
            }
    }
}

enum HomeFormatVersion {
    static let current = 1
}
