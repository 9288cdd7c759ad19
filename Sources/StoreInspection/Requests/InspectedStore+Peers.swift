internal import Foundation
package import StoreExchange
internal import StoreFormat
internal import StoreRecords
package import SystemPackage
package import UbiquityContainers

extension InspectedStore {
    /// Returns the other peers of a store's content, from their directories in the container.
    ///
    /// - Parameter container: the container's directory.
    /// - Returns: the peers, by identifier.
    /// - Throws: `UbiquitousStoreError` if the content is missing, `Errno`, or GRDB's errors.
    package func peers(in container: FilePath) throws -> [StorePeer] {
        try read { db in
            let state = try StoreState.read(db)
            let facts = try Retirements.all(db)
            let layout = ContentLayout(container: container, content: state.content)
            return try receipts(state, container).sorted { $0.key < $1.key }.map { identifier, receipt in
                var peer = try StorePeer(identifier, receipt, facts[identifier], db)
                if peer.device == nil { peer.device = layout.device(of: identifier, files: LinuxFileLayer()) }
                return peer
            }
        }
    }

    /// Retires a peer; the app's next exchange publishes that.
    ///
    /// - Parameters:
    ///   - name: its identifier, the name of its device, or the beginning of its UUID; a name of several peers is refused.
    ///   - sequence: the last of its logs that nobody waits for any more; 0 for none.
    ///   - container: the container's directory.
    ///   - isRehearsal: whether nothing is written.
    /// - Returns: the peer.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if that is not possible, `Errno`, or GRDB's errors.
    package func retire(_ name: String, at sequence: Int64, in container: FilePath, isRehearsal: Bool = false) throws -> PeerIdentifier {
        try write(isRehearsal: isRehearsal) { db in
            let state = try StoreState.read(db)
            let receipts = try receipts(state, container)
            let own = ContentLayout(container: container, content: state.content).receipts(of: state.peer, epoch: state.epoch)
            let files = LinuxFileLayer()
            let newest = try files.namesIfThere(in: own).compactMap(Receipt.number(ofFile:)).max()
            let awaits =
                newest.flatMap { try? files.read(own.appending(String($0)), limit: 16 << 20) }.flatMap { Receipt(decoding: $0)?.awaits } ?? []
            let layout = ContentLayout(container: container, content: state.content)
            func device(_ peer: PeerIdentifier) -> String? { receipts[peer]?.receipt?.device ?? layout.device(of: peer, files: LinuxFileLayer()) }
            let named = receipts.keys.filter { device($0) == name }
            let found = named.isEmpty ? receipts.keys.filter { $0.uuid.uuidString.lowercased().hasPrefix(name.lowercased()) } : named
            guard let peer = PeerIdentifier(name) ?? (found.count == 1 && !name.isEmpty ? found[0] : nil) else {
                let list = (found.isEmpty ? Array(receipts.keys) : found).sorted().map { peer in
                    "\n  \(peer)\(device(peer).map { " (\($0))" } ?? "")"
                }.joined()
                throw UbiquitousStoreError(
                    .unsupported,
                    "“\(name)” names \(found.isEmpty ? "no peer" : "\(found.count) peers"); name one of these:\(list.isEmpty ? " none" : list)")
            }
            try Retirements.retire(peer, at: sequence, state, receipts: receipts, awaits: awaits, db)
            return peer
        }
    }

    private func receipts(_ state: StoreState, _ container: FilePath) throws -> [PeerIdentifier: PeerReceipt] {
        let layout = ContentLayout(container: container, content: state.content)
        let files = LinuxFileLayer()
        guard try files.kind(of: layout.directory) == .directory else {
            throw UbiquitousStoreError(
                .suspended, "\(layout.directory) is missing: give the store's container with --container.", path: layout.directory)
        }
        return try layout.receipts(besides: state.peer, epoch: state.epoch, files: files)
    }
}
