internal import Foundation
internal import HTTPPlaces
internal import StoreExchange
internal import StoreFormat
internal import SystemPackage
internal import UbiquityContainers

/// Finds what a public place is read from, by its address.
enum PlaceSources {
    /// Returns the source of an address.
    ///
    /// - Parameter address: the address, as ``StoreScope/public(_:at:contributingTo:)`` takes it.
    /// - Returns: the source.
    /// - Throws: `UbiquitousStoreError` with `unsupported` for any other address.
    static func source(_ address: String) throws(UbiquitousStoreError) -> any PlaceSource {
        guard let url = URL(string: address), let scheme = url.scheme?.lowercased() else { throw refusal(address, "is no address") }
        switch scheme {
        case "file":
            guard url.host() ?? "" == "", !url.path(percentEncoded: false).isEmpty else {
                throw refusal(address, "names no directory of this device")
            }
            return DirectorySource(PathFacts.absolute(FilePath(url.path(percentEncoded: false))))
        case "http", "https":
            guard HTTPPlaces.areIncluded else {
                throw UbiquitousStoreError(
                    .unsupported,
                    "This program was built without a client for HTTP, so it cannot read \(address); build it with `swift build --traits HTTP`, or depend on the package with traits: [\"HTTP\"]."
                )
            }
            guard let source = HTTPPlaces.source(address) else { throw refusal(address, "names no server, or has a query") }
            return source
        default: throw refusal(address, "is of a kind that cannot be read")
        }
    }

    private static func refusal(_ address: String, _ reason: String) -> UbiquitousStoreError {
        UbiquitousStoreError(
            .unsupported,
            "The scope's address \(address.debugDescription) \(reason); write one like https://game.example/public or file:///srv/public."
        )
    }
}
