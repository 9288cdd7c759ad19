package import StoreFormat
package import UbiquityContainers

/// Decides which changes from elsewhere have an effect, in a store with a scope.
///
/// A change without an effect is skipped: it alters no row, register, stamp, dead record, conflict or same-as fact, and
/// does not move the store's clock. Its log is taken in nevertheless, so that nobody waits for it. A change has an
/// effect or has none in whatever order logs arrive, if the gate answers by the log, its statements and the one in
/// effect alone.
package struct ImportGate: Sendable {
    /// The writer of a group of changes.
    package struct Author: Hashable, Sendable {
        /// The peer that has written the file.
        package var peer: PeerIdentifier
        /// The peer whose changes the group claims to hold; in a signed log another one than ``peer`` has signed nothing.
        package var writer: PeerIdentifier
        /// The log, by its number and hash.
        ///
        /// Nil for a baseline.
        package var log: LogFileName?
        /// The rights that the log claims.
        package var rights: LogRights?

        package init(peer: PeerIdentifier, writer: PeerIdentifier? = nil, log: LogFileName? = nil, rights: LogRights? = nil) {
            (self.peer, self.writer, self.log, self.rights) = (peer, writer ?? peer, log, rights)
        }
    }

    /// Returns why a change of a record has no effect, or nil if it has one.
    package typealias Decision = @Sendable (_ shape: TableShape, _ key: [RecordValue]) -> RejectedChange.Reason?

    /// Returns the decision about an author's changes.
    ///
    /// It is called once for each group of a log, and once for a baseline.
    package var decision: @Sendable (Author) -> Decision
    /// Returns whether the stamp of a change of a record moves the store's own clock.
    ///
    /// An account need not be later than changes of records that it never writes. Otherwise a stranger's stamp would
    /// move its clock.
    package var movesClock: @Sendable (_ shape: TableShape, _ key: [RecordValue]) -> Bool
    /// Returns whether an author may state that a peer is retired.
    package var retires: @Sendable (_ peer: PeerIdentifier, Author) -> Bool

    package init(
        decision: @escaping @Sendable (Author) -> Decision,
        movesClock: @escaping @Sendable (_ shape: TableShape, _ key: [RecordValue]) -> Bool,
        retires: @escaping @Sendable (_ peer: PeerIdentifier, Author) -> Bool = { _, _ in false }
    ) {
        self.decision = decision
        self.movesClock = movesClock
        self.retires = retires
    }

    /// Creates a gate from rights.
    ///
    /// It rejects each group that names another writer than the log's author.
    ///
    /// - Parameters:
    ///   - own: the rights of this store's account, which decide whose stamps move its clock.
    ///   - retires: whether an author may state that a peer is retired.
    ///   - rights: returns what an author may change; those of a reader if its log has no effect.
    package init(
        own: WriteRights, retires: @escaping @Sendable (_ peer: PeerIdentifier, Author) -> Bool = { _, _ in false },
        rights: @escaping @Sendable (Author) -> WriteRights
    ) {
        self.init(
            decision: { author in
                guard author.writer == author.peer else { return { _, _ in .otherWriter } }
                let rights = rights(author)
                return { shape, key in
                    if rights.allows(key, in: shape) { return nil }
                    if case .role = shape.access { return .otherRole }
                    return .otherAccount
                }
            }, movesClock: { shape, key in own.allows(key, in: shape) }, retires: retires)
    }
}

/// A change that a gate has kept from having an effect.
package struct RejectedChange: Hashable, Sendable {
    /// The kind of reason, by its stable name.
    ///
    /// A gate that knows statements has more kinds than those here.
    package struct Reason: Hashable, Sendable, CustomStringConvertible {
        package let description: String

        package init(_ description: String) { self.description = description }

        /// The record belongs to another account than the author's, or the author's account does not contribute.
        package static let otherAccount = Reason("otherAccount")
        /// The author does not hold the role of the table.
        package static let otherRole = Reason("otherRole")
        /// The author had no right to the change, and the base of its domain holds the log: what it is worth is in the base.
        package static let held = Reason("held")
        /// The changes are said to be another peer's, which has not signed them.
        package static let otherWriter = Reason("otherWriter")
    }

    /// The record; of a same-as fact its first record that is not the author's.
    package var record: ObjectID
    /// The peer that has written the file.
    package var peer: PeerIdentifier
    package var reason: Reason
    /// Whether it states that two records are one.
    package var isFact = false

    package init(record: ObjectID, peer: PeerIdentifier, reason: Reason) {
        (self.record, self.peer, self.reason) = (record, peer, reason)
    }

    /// Examines a same-as fact: both records must be the author's to change.
    ///
    /// Returns nil if they are.
    init?(_ fact: SameAs, of shape: TableShape, by peer: PeerIdentifier, _ decide: ImportGate.Decision) {
        for node in [fact.first, fact.second] {
            guard let reason = decide(shape, node.key) else { continue }
            self.init(record: ObjectID(table: shape.name, key: node.key.map(\.detached)), peer: peer, reason: reason)
            isFact = true
            return
        }
        return nil
    }
}

/// The changes that a gate has kept from having an effect, in one import.
package struct RejectedChanges: Sendable {
    /// The number of changes that are listed; an author can write any number.
    package static let limit = 100

    /// The number of all of them.
    package private(set) var count = 0
    /// The first ones.
    package private(set) var list: [RejectedChange] = []

    package init() {}

    mutating func add(_ change: @autoclosure () -> RejectedChange) {
        count += 1
        if list.count < Self.limit { list.append(change()) }
    }
}
