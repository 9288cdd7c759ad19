public import Foundation

/// Where a Syncthing answers, and the key that it asks for.
public struct SyncthingEndpoint: Sendable, Hashable, CustomStringConvertible {
    /// Such as `http://127.0.0.1:8384`.
    public let address: URL
    /// Syncthing's API key; it appears in no message.
    let key: String

    /// Takes an address and a key.
    ///
    /// - Parameters:
    ///   - address: that of Syncthing's web interface, on this device: what it says of paths is compared with paths here.
    ///   - key: the API key that the interface's settings show.
    /// - Throws: `SyncthingError` with `invalidAddress`.
    public init(_ address: String, key: String) throws(SyncthingError) {
        guard let url = URL(string: address), let scheme = url.scheme, ["http", "https"].contains(scheme), url.host() != nil, url.user() == nil
        else {
            throw SyncthingError(.invalidAddress, "\(address.debugDescription) is no address of Syncthing's; give one like http://127.0.0.1:8384.")
        }
        guard !key.isEmpty, key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw SyncthingError(.wrongKey, "The API key for \(address) is empty or holds spaces; copy it from Syncthing's settings.")
        }
        self.address = url
        self.key = key
    }

    /// The address alone.
    public var description: String { address.absoluteString }
}
