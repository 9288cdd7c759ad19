internal import Foundation
package import StoreExchange

/// Finds the source of a public place's address.
package enum HTTPPlaces {
    /// Whether this program can read places over HTTP, as one that is built with the trait `HTTP`.
    package static var areIncluded: Bool {
        #if HTTP
            true
        #else
            false
        #endif
    }

    /// Returns a source for the address of a web server.
    ///
    /// - Parameter address: an address that begins with `http://` or `https://`, and names a server.
    /// - Returns: the source; nil for any other address, and without the trait `HTTP`.
    package static func source(_ address: String) -> (any PlaceSource)? {
        guard let url = URL(string: address), ["http", "https"].contains(url.scheme?.lowercased()), url.host()?.isEmpty == false, url.query() == nil,
            url.fragment() == nil
        else { return nil }
        #if HTTP
            return HTTPSource(url)
        #else
            return nil
        #endif
    }
}
