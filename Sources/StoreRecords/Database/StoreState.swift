internal import Foundation
package import GRDB
package import StoreFormat
package import UbiquityContainers

/// Who and where a store is in the exchange of logs: the one row of `ubiquity_state`.
package struct StoreState {
    /// The form of our tables in a store file.
    ///
    /// A newer one is refused untouched.
    static let format = 1

    package var account: String
    package var container: String
    package var content: String
    package var peer: PeerIdentifier
    package var epoch: Int64
    /// The last log sealed.
    package var sequence: Int64
    package var predecessor: ContentHash?
    /// The highest stamp written or seen.
    package var clock: HybridTime
    /// Whether this store's directory in the content has been made; from then on a missing one is never made again.
    package var attached: Bool
    /// The last receipt written.
    package var receipt: Int64
    /// The identifier that is to follow `peer`, from when it is chosen until it has its place.
    package var successor: PeerIdentifier?
    /// What the file is for; it never changes.
    package var place = StoreFilePlace.store
    /// Whether nothing is to go out or in.
    package var paused = false
    /// What another program has asked for, and has not been done.
    package var request: StoreRequest?

    package init(
        account: String, container: String, content: String, peer: PeerIdentifier, epoch: Int64, sequence: Int64, predecessor: ContentHash? = nil,
        clock: HybridTime, attached: Bool, receipt: Int64, successor: PeerIdentifier? = nil, place: StoreFilePlace = StoreFilePlace.store,
        paused: Bool = false, request: StoreRequest? = nil
    ) {
        self.account = account
        self.container = container
        self.content = content
        self.peer = peer
        self.epoch = epoch
        self.sequence = sequence
        self.predecessor = predecessor
        self.clock = clock
        self.attached = attached
        self.receipt = receipt
        self.successor = successor
        self.place = place
        self.paused = paused
        self.request = request
    }

    package static func read(_ db: Database) throws -> StoreState {
        // By hand: every save reads it.
        let row = try RawStatement(
            "SELECT peer, epoch, sequence, predecessor, clock, attached, receipt, successor, account, container, content, place, paused, request FROM ubiquity_state",
            db)
        defer { row.reset() }
        guard try row.step(), let peer = row.text(0).flatMap({ PeerIdentifier($0) }), let account = row.text(8), let container = row.text(9),
            let content = row.text(10), let place = row.text(11).flatMap(StoreFilePlace.init)
        else {
            throw UbiquitousStoreError(
                .malformed, "The store's own state is damaged; move the file aside, and it is filled again from the container.")
        }
        return StoreState(
            account: account, container: container, content: content, peer: peer, epoch: row.integer(1), sequence: row.integer(2),
            predecessor: ContentHash(bytes: row.bytes(3)), clock: HybridTime(rawValue: row.integer(4)), attached: row.integer(5) != 0,
            receipt: row.integer(6), successor: row.text(7).flatMap { PeerIdentifier($0) }, place: place,
            paused: row.integer(12) != 0, request: row.text(13).flatMap(StoreRequest.init))
    }

    func insert(_ db: Database) throws {
        try db.execute(
            sql: "INSERT INTO ubiquity_state VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,0,NULL,0,NULL)",
            arguments: [
                Self.format, account, container, content, peer.description, epoch, sequence, predecessor.map { Data($0.bytes) },
                clock.rawValue,
                attached, receipt, successor?.description, place.rawValue,
            ])
    }

    /// Saves what an exchange changes; what others set stays as it is there.
    package func update(_ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: "UPDATE ubiquity_state SET peer = ?, epoch = ?, sequence = ?, predecessor = ?, clock = ?, attached = ?, receipt = ?, successor = ?")
        try statement.execute(arguments: [
            peer.description, epoch, sequence, predecessor.map { Data($0.bytes) }, clock.rawValue, attached, receipt, successor?.description,
        ])
    }
}
