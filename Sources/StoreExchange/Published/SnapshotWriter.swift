internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// Writes parts of a publisher's store as snapshots.
struct SnapshotWriter {
    let publisher: PlacePublisher
    let moment: StoreMoment
    /// The number of the head that names the snapshots first.
    let number: Int64

    private var place: PlaceFiles { publisher.place }
    private var files: any FileLayer { publisher.directory.files }

    /// Writes a part: its records, and what has died without a trace of its key.
    ///
    /// - Throws: `UbiquitousStoreError` with `suspended` if the store holds saves that it has not published; `Errno`; GRDB's
    ///   errors.
    func write(_ part: TablePart) throws -> PublishedHead.Snapshot {
        let draft = try place.draft()
        let version = try moment.read(SyncedSchema.migrations).last ?? ""
        var writer = BaselineWriter(store: try moment.copy(), shapes: publisher.shapes, schemaVersion: version, now: publisher.now())
        writer.part = part
        writer.clock = { _ in .latest }
        writer.holds = { _ in false }
        writer.tellsDeaths = false
        guard try writer.write(to: draft, sequence: number) != nil else {
            throw UbiquitousStoreError(
                .suspended, "\(publisher.store) holds saves that it has not published; let its app publish them, then try again.",
                path: publisher.store)
        }
        let records = PublishedFile(hash: try ContentHash(ofFile: draft), size: try files.size(of: draft))
        try place.place(draft, at: .snapshot(table: part.shape.name, digit: part.digit, number, records.hash))
        let deaths = try moment.read { db in try part.deaths(db) }.encoded
        guard !deaths.isEmpty else { return PublishedHead.Snapshot(written: number, records: records) }
        let file = try place.draft()
        try files.writeNew(file, deaths)
        let hash = ContentHash(of: deaths)
        try place.place(file, at: .deaths(table: part.shape.name, digit: part.digit, number, hash))
        return PublishedHead.Snapshot(written: number, records: records, deaths: PublishedFile(hash: hash, size: Int64(deaths.count)))
    }
}
