public import Foundation
package import UbiquityContainers

/// The authors of a record: who created it, who last wrote each column, and who deleted it.
///
/// The last writers are known for all time. The insertion and the deletion are known as long as the store's history
/// lists them.
public struct RecordProvenance: Sendable, Hashable {
    /// A write by a peer.
    public struct Write: Sendable, Hashable {
        /// The peer.
        public var author: ChangeAuthor
        /// When the peer saved, by its clock.
        public var time: Date

        package init(author: ChangeAuthor, time: Date) {
            self.author = author
            self.time = time
        }
    }

    /// The record.
    public var record: ObjectID
    /// Whether the record has been deleted.
    public var isDeleted: Bool
    /// The insertion; nil if the history does not list it.
    public var created: Write?
    /// The oldest write that a column still shows; the record was created then or before.
    ///
    /// It is the insertion itself, unless all columns that the insertion wrote have been written again.
    public var oldestWrite: Write?
    /// The deletion; nil if the record is alive, or if the history does not list it.
    public var deleted: Write?
    /// The last write of each column, by the column's name.
    ///
    /// A column that nobody has written since the insertion left it empty is not here, nor is one that holds a value
    /// from a seed, a migration, or the time before the table was synced.
    public var columns: [String: Write]

    /// The newest write of a column.
    public var lastWrite: Write? { columns.values.max { $0.time < $1.time } }
}

extension RecordProvenance {
    /// The peers of other devices.
    package var otherPeers: Set<PeerIdentifier> {
        let writes = [created, oldestWrite, deleted].compactMap(\.self) + columns.values
        return Set(writes.filter { !$0.author.isThisDevice }.map(\.author.peer))
    }

    /// Adds the names of devices and apps.
    ///
    /// - Parameter name: returns an author with its names.
    package mutating func nameAuthors(_ name: (ChangeAuthor) -> ChangeAuthor) {
        func named(_ write: Write) -> Write { Write(author: name(write.author), time: write.time) }
        (created, oldestWrite, deleted) = (created.map(named), oldestWrite.map(named), deleted.map(named))
        columns = columns.mapValues(named)
    }
}
