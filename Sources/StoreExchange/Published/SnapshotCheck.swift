internal import Foundation
internal import GRDB
package import StoreFormat
package import StoreRecords
package import SystemPackage
internal import UbiquityContainers

/// Compares a part of a table in a publisher's snapshot with what a store has made of the logs.
package struct SnapshotCheck {
    /// The store, which has read the place as far as the head with the snapshot.
    package let store: StoreFile
    /// The name of the content.
    package let contentName: String
    /// The head with the snapshot.
    package let head: PublishedHead
    /// A directory for files of this check.
    package let scratch: FilePath

    package init(store: StoreFile, contentName: String, head: PublishedHead, scratch: FilePath) {
        (self.store, self.contentName, self.head, self.scratch) = (store, contentName, head, scratch)
    }

    /// Returns the records in which the snapshot differs from the store.
    ///
    /// - Parameters:
    ///   - table: the name of the table in the snapshot.
    ///   - digit: the digit of the part.
    ///   - snapshot: what the head says of the part.
    ///   - records: the file of the records.
    ///   - deaths: the file of the deaths; nil if there is none.
    /// - Returns: the differences, and the number of records; nil if the store does not have the table.
    /// - Throws: `LogFault` if a file is damaged; `Errno`; GRDB's errors.
    package func differences(
        of table: String, _ digit: String, _ snapshot: PublishedHead.Snapshot, records: FilePath, deaths: FilePath?
    ) throws -> (records: Int64, differences: [RecordDifference])? {
        guard let shape = store.shapes.first(where: { $0.name == table || $0.formerNames.contains(table) }) else { return nil }
        let part = TablePart(shape, digit: digit, among: store.shapes)
        let own = scratch.appending("own")
        try? LinuxFileLayer().remove(own)
        var writer = BaselineWriter(store: store.path, shapes: store.shapes, schemaVersion: "", now: Date(timeIntervalSince1970: 0))
        (writer.part, writer.clock, writer.holds, writer.tellsDeaths) = (part, { _ in .latest }, { _ in false }, false)
        guard try writer.write(to: own, sequence: 1) != nil else { throw LogFault.damaged("the records of the logs are not at rest") }
        defer { try? LinuxFileLayer().remove(own) }
        let (ours, theirs) = (try header(of: own, nil), try header(of: records, snapshot))
        let comparison = try RegisterComparison(shape, (own, ours), (records, theirs))
        var differences = try comparison.differences()
        differences += try invented(deaths, part)
        return (try comparison.count(), differences)
    }

    private func header(of file: FilePath, _ snapshot: PublishedHead.Snapshot?) throws -> BaselineHeader {
        var reader = BaselineReader(contentName: contentName, epoch: head.epoch) { _ in file }
        reader.lives = .widest
        guard let snapshot else {
            let peer = try store.pool.read { db in try StoreState.read(db).peer }
            return try reader.header(of: BaselineID(peer: peer, name: BaselineName(sequence: 1, hash: ContentHash(of: []))), clock: .latest)
        }
        let id = BaselineID(peer: head.publisher, name: BaselineName(sequence: snapshot.written, hash: snapshot.records.hash))
        let header = try reader.header(of: id, clock: .latest)
        try reader.verify(id, header)
        return header
    }

    /// Returns the deaths that the snapshot lists and no log has told of.
    ///
    /// They would hide records that begin. One that it leaves out is only left out.
    private func invented(_ file: FilePath?, _ part: TablePart) throws -> [RecordDifference] {
        guard let file else { return [] }
        let listed = try DeathList(decoding: LinuxFileLayer().read(file, limit: Int.max))
        let known = try store.pool.read { db in
            try part.deaths(db).lives.merging(ForgottenDeaths.all(in: part.shape, db).lives) { max($0, $1) }
        }
        return listed.lives.filter { known[$0.key] ?? 0 < $0.value }.sorted { $0.key < $1.key }.map { mark, _ in
            let mark = mark.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            return RecordDifference(kind: .death, key: ["mark": mark])
        }
    }
}
