public import Foundation
internal import GRDB
internal import StoreAuthority
package import StoreFormat
package import StoreRecords
package import SystemPackage
internal import UbiquityContainers

/// How a container is published.
public struct PlacePublishing: Hashable, Sendable {
    /// How long a head is news: readers show the time of an older one as stale.
    public var lifetime = Duration.seconds(7 * 86400)
    /// How long bundles stay, so that readers that were away need no snapshot.
    public var retention = Duration.seconds(90 * 86400)
    /// The age at which snapshots are written again if anything has changed, so that the place forgets what was deleted.
    public var snapshotAge = Duration.seconds(86400)
    /// The number of a table's records above which it is written in parts, one for each first digit of an account.
    package var recordsInOnePart: Int64 = 100_000
    /// The size in bytes of bundles behind a snapshot below which no new one is written because of their size.
    package var leastBundledSize: Int64 = 1 << 20

    /// Creates the usual rules: heads for a week, bundles for 90 days, snapshots each day.
    public init() {}
}

/// What a publisher has published.
public struct PublishedEdition: Hashable, Sendable {
    /// The number of the newest head.
    public var number: Int64
    /// Whether the head is new; otherwise there was nothing to publish.
    public var isNew = false
    /// When the head was made.
    public var made: Date
    /// When the head is no news any more.
    public var expires: Date
    /// The number of logs that are new in it.
    public var logs = 0
    /// The number of statements that are new in it.
    public var statements = 0
    /// The tables of which snapshots were written.
    public var snapshots: Set<String> = []
    package var head: PublishedHead

    init(_ head: PublishedHead) {
        self.head = head
        number = head.number
        made = Date(timeIntervalSince1970: Double(head.made) / 1000)
        expires = Date(timeIntervalSince1970: Double(head.expires) / 1000)
    }
}

/// Publishes a public container: bundles its logs, writes snapshots of its tables, and signs a head that names both.
///
/// It reads a store that has taken the container in, and the container's files. Every file is written before the head that
/// names it, so a crash leaves the head before valid.
package struct PlacePublisher {
    /// The store's SQLite file.
    package let store: FilePath
    /// The synced tables of the store.
    package let shapes: [TableShape]
    package let layout: ContentLayout
    /// The name of the content.
    package let contentName: String
    package let directory: ScopeDirectory
    package let keys: DeviceKeys
    /// The directory that web servers serve.
    package let place: PlaceFiles
    package let options: PlacePublishing
    package let now: @Sendable () -> Date

    package init(
        store: FilePath, shapes: [TableShape], layout: ContentLayout, contentName: String, directory: ScopeDirectory, keys: DeviceKeys,
        to place: FilePath,
        options: PlacePublishing = PlacePublishing(), now: @escaping @Sendable () -> Date = { Date() }
    ) {
        (self.store, self.shapes, self.layout, self.contentName) = (store, shapes, layout, contentName)
        (self.directory, self.keys) = (directory, keys)
        (self.place, self.options, self.now) = (PlaceFiles(place), options, now)
    }

    /// Publishes what is new.
    ///
    /// - Returns: the head.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if this device may not publish, `suspended` if the store holds
    ///   saves that it has not published, or `timedOut` if another process publishes; `Errno`; GRDB's errors.
    package func publish() throws -> PublishedEdition {
        let folder = place.root.appending(".publisher")
        _ = try place.draft()
        try directory.files.makeDirectory(folder)
        let record = try PublisherRecord(folder.appending("published.sqlite"))
        place.removeDrafts()
        let last = try newestHead(record)
        try record.rollBack(after: last?.value.number ?? 0)
        if let last { try restore(last) } else { try record.clear() }
        let source = try source(StoreMoment(of: store, scratch: folder.appending("store.sqlite")))
        var edition = try Edition(publisher: self, record: record, source: source, last: last)
        return try edition.publish()
    }

    /// Makes the newest head the one that readers get, if a crash has come in between.
    private func restore(_ last: Signed<PublishedHead>) throws {
        let numbered = place.path(.head(last.value.number, last.id))
        guard let bytes = try? directory.files.read(numbered, limit: PublishedHead.limit),
            bytes != (try? directory.files.read(place.path(.newestHead), limit: PublishedHead.limit))
        else { return }
        let draft = try place.draft()
        try directory.files.writeNew(draft, bytes)
        try place.place(draft, at: .newestHead, isReplacing: true)
    }

    /// Returns the newest head that this device has signed and that the record knows.
    private func newestHead(_ record: PublisherRecord) throws -> Signed<PublishedHead>? {
        let newest = try record.read { db -> Signed<PublishedHead>? in
            let known = try Row.fetchCursor(db, sql: "SELECT number, id FROM head ORDER BY number DESC")
            while let row = try known.next() {
                guard let id = ContentHash(bytes: row["id"] as Data).map(StatementIdentifier.init),
                    let bytes = try? directory.files.read(place.path(.head(row["number"], id)), limit: PublishedHead.limit),
                    let head = try? Signed<PublishedHead>(decoding: bytes, in: directory.container), head.id == id
                else { continue }
                return head
            }
            return nil
        }
        if let newest { return newest }
        // The numbers of a place go on even if its record is lost.
        guard let bytes = try? directory.files.read(place.path(.newestHead), limit: PublishedHead.limit) else { return nil }
        guard let head = try? Signed<PublishedHead>(decoding: bytes, in: directory.container) else {
            throw UbiquitousStoreError(
                .malformed, "\(place.path(.newestHead)) is no head of the container \(directory.container); publish to an empty directory.",
                path: place.path(.newestHead))
        }
        guard head.signer == (try keys.deviceKey)?.publicKey else {
            throw UbiquitousStoreError(
                .unsupported, "Another device publishes to \(place.root); publish to a directory of your own.", path: place.root)
        }
        try record.clear()
        return head
    }

    /// What the store holds at one moment.
    struct Source {
        var moment: StoreMoment
        var state: StoreState
        var authority: Authority
        var policy: Signed<Policy>
        var certificate: StatementIdentifier
        var key: PrivateKey
        var counts: [String: PublisherRecord.Count]
    }

    private func source(_ moment: StoreMoment) throws -> Source {
        guard let record = try keys.record, let account = record.account.flatMap(AccountIdentifier.init), let key = try keys.deviceKey else {
            throw refusal("this device has no account there")
        }
        let (state, saved, counts) = try moment.read { db in
            let rows = try Row.fetchAll(
                db, sql: "SELECT name, count(*) AS logs, max(sequence) AS last FROM ubiquity_log JOIN ubiquity_peer ON number = peer GROUP BY peer")
            let counts = rows.reduce(into: [:]) { $0[$1["name"] as String] = PublisherRecord.Count(logs: $1["logs"], last: $1["last"]) }
            return (try StoreState.read(db), try ScopeState.authority(db), counts)
        }
        guard let authority = saved.flatMap({ Authority(saved: $0.bytes) }), let policy = authority.policy else {
            throw UbiquitousStoreError(.suspended, "\(store) has not read the container yet; run its app first.", path: store)
        }
        if authority.isForked {
            throw UbiquitousStoreError(
                .suspended, "The container's policies are forked, so nothing is published until its steward has merged them.", path: store)
        }
        guard let certificate = authority.certificate(of: state.peer, key: key.publicKey, in: account) else {
            throw refusal("the device's enrolment is not in effect")
        }
        let rights = LogRights(container: directory.container, policy: policy.id, certificate: certificate)
        guard case .counts(let grant) = authority.verdict(on: rights, by: state.peer, sequence: 0, isCurated: true), grant.holds(PublishedHead.role)
        else { throw refusal("its account does not hold the role \(PublishedHead.role)") }
        return Source(moment: moment, state: state, authority: authority, policy: policy, certificate: certificate, key: key, counts: counts)
    }

    private func refusal(_ reason: String) -> UbiquitousStoreError {
        UbiquitousStoreError(
            .unsupported,
            "This device may not publish the container \(directory.container): \(reason). Its steward gives the role with: ubcontrol public grant STORE \(PublishedHead.role) ACCOUNT",
            path: store)
    }
}
