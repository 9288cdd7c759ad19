internal import Foundation
package import GRDB
package import StoreFormat
package import UbiquityContainers

/// The identity and position of a store in the exchange of logs: the one row of `ubiquity_state`.
package struct StoreState {
    /// The version of the store's own tables in a store file.
    ///
    /// A file with a newer version is refused and stays untouched.
    static let format = 1

    package var account: String
    package var container: String
    package var content: String
    package var peer: PeerIdentifier
    package var epoch: Int64
    /// The sequence of the last sealed log.
    package var sequence: Int64
    package var predecessor: ContentHash?
    /// The greatest stamp written or seen.
    package var clock: HybridTime
    /// Whether this store's directory in the content has been created; after that, a missing one is never created
    /// again.
    package var attached: Bool
    /// The number of the last receipt written.
    package var receipt: Int64
    /// The identifier that replaces `peer`, from the moment it is chosen until its directory exists.
    package var successor: PeerIdentifier?
    /// The purpose of the file; it never changes.
    package var place = StoreFilePlace.store
    /// Whether the exchange is paused.
    package var paused = false
    /// The unfinished request of another program.
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
        // A raw statement, because every save reads the row.
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
        try db.cachedStatement(sql: "INSERT INTO ubiquity_state VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,0,NULL,0,NULL)").execute(arguments: [
            Self.format, account, container, content, peer.description, epoch, sequence, predecessor.map { Data($0.bytes) },
            clock.rawValue,
            attached, receipt, successor?.description, place.rawValue,
        ])
    }

    /// Saves the values that an exchange changes; the others stay as they are in the file.
    package func update(_ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: "UPDATE ubiquity_state SET peer = ?, epoch = ?, sequence = ?, predecessor = ?, clock = ?, attached = ?, receipt = ?, successor = ?")
        try statement.execute(arguments: [
            peer.description, epoch, sequence, predecessor.map { Data($0.bytes) }, clock.rawValue, attached, receipt, successor?.description,
        ])
    }
}
