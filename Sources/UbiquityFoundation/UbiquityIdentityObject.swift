import Foundation
import UbiquityContainers

/// The token of the signed-in account as an object, for code that compares, copies and archives it.
final class UbiquityIdentityObject: NSObject, NSSecureCoding, NSCopying {
    private let token: UbiquityIdentityToken
    private static let key = "token"

    init(_ token: UbiquityIdentityToken) { self.token = token }

    // MARK: Archiving

    static var supportsSecureCoding: Bool { true }

    init?(coder: NSCoder) {
        guard let text = coder.decodeObject(of: NSString.self, forKey: Self.key),
            let token = try? JSONDecoder().decode([UbiquityIdentityToken].self, from: Data("\(text)".utf8)).first
        else { return nil }
        self.token = token
    }

    func encode(with coder: NSCoder) {
        // An array of one, because not every version of the encoder takes a plain value.
        guard let data = try? JSONEncoder().encode([token]) else { return }
        coder.encode(NSString(string: String(decoding: data, as: UTF8.self)), forKey: Self.key)
    }

    func copy(with zone: NSZone? = nil) -> Any { self }

    // MARK: Equality

    override func isEqual(_ object: Any?) -> Bool { (object as? UbiquityIdentityObject)?.token == token }
    override var hash: Int { token.hashValue }
}
