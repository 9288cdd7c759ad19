package import StoreExchange
internal import StoreFormat
internal import StoreRecords
package import SystemPackage
package import UbiquityContainers

extension StoreSummary {
    /// Returns how far the changes of an account's file have got.
    ///
    /// - Parameters:
    ///   - container: the container's directory.
    ///   - transport: what carries the container.
    ///   - condition: the transport's condition; nil asks for it.
    /// - Returns: nil if the file exchanges with no container, or the container or the transport cannot be read.
    package func delivery(in container: FilePath, by transport: any Transport, _ condition: TransportCondition?) async -> StoreDelivery? {
        guard place == "account", let own = PeerIdentifier(peer) else { return nil }
        let reader = DeliveryReader(layout: ContentLayout(container: container, content: content), own: own, epoch: epoch)
        return try? await reader.delivery(by: transport, in: condition, unpublished: unpublished)
    }
}
