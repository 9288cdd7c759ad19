package import Foundation
package import GRDB
package import StoreFormat
package import UbiquityContainers

/// How far a store has read a public place: the one row of `ubiquity_place`.
///
/// The store file alone holds it, so a killed reader goes on from the last range that it has taken in whole.
package struct PlaceState: Hashable, Sendable {
    /// The newest head that has been accepted.
    ///
    /// A reader never goes back from it.
    package var head: Int64
    /// The hash of that head.
    package var id: StatementIdentifier
    /// The key that has signed it.
    ///
    /// The heads of another key have numbers of their own.
    package var signer: PublicKey
    /// The publisher's peer.
    package var publisher: PeerIdentifier
    /// When the newest head that has been taken in whole was made; nil before the first.
    package var fresh: Date?
    /// When the newest head is no news any more.
    package var expires: Date
    /// The last head that has been taken in whole; nil while the tables are filled from snapshots.
    package var read: Int64?
    /// The names of the tables that have been filled.
    package var tables: Set<String>

    package init(
        head: Int64, id: StatementIdentifier, signer: PublicKey, publisher: PeerIdentifier, fresh: Date? = nil, expires: Date, read: Int64? = nil,
        tables: Set<String> = []
    ) {
        (self.head, self.id, self.signer, self.publisher) = (head, id, signer, publisher)
        (self.fresh, self.expires, self.read, self.tables) = (fresh, expires, read, tables)
    }

    /// The tables of a store that reads public places.
    static let statements = [
        """
        CREATE TABLE IF NOT EXISTS ubiquity_place (head INTEGER NOT NULL, id BLOB NOT NULL, signer BLOB NOT NULL, publisher TEXT NOT NULL, \
        fresh REAL, expires REAL NOT NULL, read INTEGER, tables TEXT NOT NULL)
        """,
        // Deaths that snapshots list without keys: see `ForgottenDeaths`.
        """
        CREATE TABLE IF NOT EXISTS ubiquity_forgotten (number INTEGER NOT NULL, mark BLOB NOT NULL, life INTEGER NOT NULL, \
        PRIMARY KEY (number, mark)) WITHOUT ROWID
        """,
    ]

    /// Reads the row.
    ///
    /// - Parameter db: a store in a container with a scope.
    /// - Returns: the state; nil before the first head.
    /// - Throws: GRDB's errors.
    package static func read(_ db: Database) throws -> PlaceState? {
        guard let row = try Row.fetchOne(db, sql: "SELECT * FROM ubiquity_place"), let id = ContentHash(bytes: row["id"] as Data),
            let signer = PublicKey(bytes: row["signer"] as Data), let publisher = PeerIdentifier(row["publisher"] as String)
        else { return nil }
        let tables = try JSONDecoder().decode([String].self, from: Data((row["tables"] as String).utf8))
        return PlaceState(
            head: row["head"], id: StatementIdentifier(id), signer: signer, publisher: publisher,
            fresh: (row["fresh"] as Double?).map(Date.init(timeIntervalSince1970:)),
            expires: Date(timeIntervalSince1970: row["expires"]), read: row["read"], tables: Set(tables))
    }

    /// Saves the row.
    package func save(_ db: Database) throws {
        try db.execute(sql: "DELETE FROM ubiquity_place")
        let tables = String(decoding: try JSONEncoder().encode(tables.sorted()), as: UTF8.self)
        try db.execute(
            sql: "INSERT INTO ubiquity_place VALUES (?,?,?,?,?,?,?,?)",
            arguments: [
                head, Data(id.hash.bytes), Data(signer.bytes), publisher.description, fresh?.timeIntervalSince1970, expires.timeIntervalSince1970,
                read, tables,
            ])
    }
}
