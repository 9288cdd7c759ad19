import Foundation
import GRDB
import SystemPackage
import UbiquityContainers
import UbiquityStores
import UbiquityTesting

/// A fault that a run found although no operation failed.
struct SimulationFault: Error, CustomStringConvertible {
    let description: String
}

extension Run {
    /// Returns whether a device without a store can read everything of a peer from that peer's container.
    func isReadable(by peer: Int) async throws -> Bool {
        let device = try newcomer("newcomer-\(UUID().uuidString)", copying: peer)
        let store = try await open(device, version: versions[peer])
        try await store.settled()
        let read = try await Self.logs(of: store)
        try await store.close()
        try FileManager.default.removeItem(atPath: device.directory.string)
        return try await Self.logs(of: stores[peer]).isSubset(of: read)
    }

    /// Returns the logs that a store has joined or published, for people.
    private static func names(of store: UbiquitousStore) async throws -> Set<String> {
        try await store.read { db in
            let sql = "SELECT name || ' ' || sequence || ' ' || substr(hex(hash), 1, 6) FROM ubiquity_log JOIN ubiquity_peer ON number = peer"
            return Set(try String.fetchAll(db, sql: sql))
        }
    }

    /// Returns the logs that a store has joined or published.
    private static func logs(of store: UbiquitousStore) async throws -> Set<ContentHash> {
        try await store.read { db in Set(try Data.fetchAll(db, sql: "SELECT hash FROM ubiquity_log").compactMap { ContentHash(bytes: $0) }) }
    }

    /// Adds a device at the end, and rebuilds each peer's store; all must show the earlier rows.
    ///
    /// - Returns: the fault; nil if there is none.
    mutating func aftermath() async throws -> String? {
        let before = try await stores[living[0]].read { [schema] db in try schema.rows(db) }
        try await join(copying: living[0], version: schema.versions)
        try await deliverAll()
        func differences(_ peer: Int, _ what: String) async throws -> String? {
            let after = try await stores[peer].read { [schema] db in try schema.rows(db) }
            return after == before ? nil : "\(what) shows otherwise: \(Self.difference(before, after)); held \(try await held(peer))"
        }
        if let difference = try await differences(stores.count - 1, "a newcomer") { return difference }
        for peer in living {
            do {
                try await stores[peer].rebuildFromUbiquitousContent()
            } catch let error as UbiquitousStoreError where error.code == .contentIncomplete {
                // If a disk has damaged a log in its own container after it was read, no device brings the log again.
                if hasDamage, try await !isReadable(by: peer) { continue }
                let lacking = try await Self.names(of: stores[peer]).subtracting(Self.names(of: stores[stores.count - 1]))
                return "peer \(peer) cannot rebuild, though all shows: the newcomer lacks \(lacking.sorted()); \(error)"
            }
            if let difference = try await differences(peer, "peer \(peer), rebuilt,") { return difference }
        }
        return nil
    }
}
