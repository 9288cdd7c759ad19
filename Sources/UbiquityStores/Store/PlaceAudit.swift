internal import Foundation
internal import Logging
internal import StoreExchange
package import StoreFormat
package import StoreRecords
package import SystemPackage
internal import UbiquityContainers

/// What an audit of a public place has found.
package struct PlaceAudit: Sendable {
    /// A record of a snapshot that is not what the logs say.
    package struct Finding: Hashable, Sendable {
        /// The head with the snapshot.
        package var head: Int64
        package var table: String
        package var difference: RecordDifference

        /// The values of the key by column; for a death the mark of the key.
        package var key: [String: String] { difference.key }
        /// `altered`, `invented`, `missing` or `death`.
        package var kind: String { difference.kind.rawValue }
        /// What is wrong, in words.
        package var words: String {
            switch difference.kind {
            case .altered: "is not what its author signed"
            case .invented: "is in no log"
            case .missing: "is left out"
            case .death: "is listed as deleted, and no log deletes it"
            }
        }
    }

    /// The heads that were read, by their numbers.
    package var heads: ClosedRange<Int64>
    /// The heads with snapshots that were compared with the logs since the snapshots before.
    package var audited: [Int64] = []
    /// The heads with snapshots between which and the ones before the place does not have all logs any more.
    package var unproved: [Int64] = []
    /// The number of records that were compared, each as often as a snapshot holds it.
    package var records: Int64 = 0
    /// The tables of the place that the store does not have.
    package var skipped: Set<String> = []
    package var findings: [Finding] = []
    /// A head that the store has read and that is not among the publisher's, if there is one.
    ///
    /// A publisher that signs two heads of one number shows different readers different things.
    package var contradicted: Int64?

    package var isSound: Bool { findings.isEmpty && contradicted == nil }
}

/// Reads a public place from its oldest snapshots on, log by log, and compares what the logs give with each later snapshot.
///
/// A publisher cannot forge a log, but a snapshot has no proof for each record. This is the proof, as long as the place keeps
/// the logs. It needs a directory for as many bytes as the place has.
package struct PlaceAuditor {
    /// The place.
    package let address: String
    package let container: ScopeIdentifier
    package let contentName: String
    package let schema: SyncedSchema
    /// The head that a reader of the place has seen last, with its key; nil for none.
    package let seen: PlaceState?
    /// A new directory, which the caller removes.
    package let scratch: FilePath
    /// Receives what is being done.
    package let progress: @Sendable (String) -> Void

    package init(
        address: String, container: ScopeIdentifier, contentName: String, schema: SyncedSchema, seen: PlaceState?, scratch: FilePath,
        progress: @escaping @Sendable (String) -> Void
    ) {
        (self.address, self.container, self.contentName, self.schema) = (address, container, contentName, schema)
        (self.seen, self.scratch, self.progress) = (seen, scratch, progress)
    }

    /// Audits the place.
    ///
    /// - Returns: what has been found.
    /// - Throws: `UbiquitousStoreError` with `unreachable` if the place cannot be read, with `malformed` if a file of it is of
    ///   no use; `CancellationError`.
    package func audit() async throws -> PlaceAudit {
        let source = try PlaceSources.source(address)
        do {
            let history = try await PlaceHistory(of: source, in: container) { progress("reading head \($0)") }
            return try await audit(history, source)
        } catch let error as PlaceSourceError {
            throw UbiquitousStoreError(.unreachable, "\(address): \(error)")
        } catch let fault as LogFault {
            throw UbiquitousStoreError(.malformed, "\(address) holds a file of no use: \(fault)")
        }
    }

    private func audit(_ history: PlaceHistory, _ source: any PlaceSource) async throws -> PlaceAudit {
        let heads = history.entries.map(\.head)
        var audit = PlaceAudit(heads: heads.first!.value.number...heads.last!.value.number)
        // A place that is only older than the head that was seen contradicts nothing.
        if let seen, seen.signer == heads.last!.signer, audit.heads.contains(seen.head), !heads.contains(where: { $0.id == seen.id }) {
            audit.contradicted = seen.head
        }
        guard let first = history.snapshots.first else { return audit }
        let pinned = PinnedSource(source, at: first)
        let store = try await open(pinned)
        do {
            progress("reading the snapshots of head \(first.head.value.number)")
            try await store.settled()
            for (former, entry) in zip(history.snapshots, history.snapshots.dropFirst()) {
                let number = entry.head.value.number
                progress("reading the logs up to head \(number)")
                pinned.pin(entry)
                try await store.settled()
                // Without the logs in between, the store has begun again with these snapshots.
                guard entry.head.value.cover(from: former.head.value.number) != nil else {
                    audit.unproved.append(number)
                    continue
                }
                try await compare(entry.head.value, store, source, &audit)
                audit.audited.append(number)
            }
            // The logs behind the last snapshots must be whole too.
            if let last = history.entries.last, last.head.value.number > history.snapshots.last!.head.value.number {
                progress("reading the logs up to head \(last.head.value.number)")
                pinned.pin(last)
                try await store.settled()
            }
        } catch {
            try? await store.close()
            throw error
        }
        try await store.close()
        return audit
    }

    /// Opens a store that reads the place, and nothing else.
    private func open(_ source: PinnedSource) async throws -> UbiquitousStore {
        var options = UbiquitousStore.Options(contentName: contentName, exchangesAutomatically: false)
        options.scope = .public(container.description, at: address)
        options.advanced.historyRetention = nil
        return try await UbiquitousStore.open(
            at: scratch.appending("Audit.sqlite"), options: options, in: options.scope!, home: DeviceHome(scratch.appending("home")), schema: schema,
            now: { Date() }, files: LinuxFileLayer(), logger: Logger(label: "audit") { _ in SwiftLogNoOpLogHandler() }, clock: ContinuousClock(),
            source: source)
    }

    private func compare(_ head: PublishedHead, _ store: UbiquitousStore, _ source: any PlaceSource, _ audit: inout PlaceAudit) async throws {
        let check = SnapshotCheck(store: store.current.file, contentName: contentName, head: head, scratch: scratch)
        for (name, table) in head.tables.sorted(by: { $0.key < $1.key }) {
            progress("comparing \(name) of head \(head.number)")
            for (digit, part) in table.parts.sorted(by: { $0.key < $1.key }) {
                let records = try await fetch(
                    .snapshot(table: name, digit: digit, part.written, part.records.hash), part.records, source, as: "records")
                var deaths: FilePath?
                if let file = part.deaths {
                    deaths = try await fetch(.deaths(table: name, digit: digit, part.written, file.hash), file, source, as: "deaths")
                }
                let found = try await blocking { [deaths] in try check.differences(of: name, digit, part, records: records, deaths: deaths) }
                guard let found else {
                    audit.skipped.insert(name)
                    continue
                }
                audit.records += found.records
                audit.findings += found.differences.map { .init(head: head.number, table: name, difference: $0) }
            }
        }
    }

    private func fetch(_ path: PublishedPath, _ file: PublishedFile, _ source: any PlaceSource, as name: String) async throws -> FilePath {
        let copy = scratch.appending(name)
        try? LinuxFileLayer().remove(copy)
        try await source.fetch(path, file, to: copy)
        guard try ContentHash(ofFile: copy) == file.hash else {
            throw PlaceSourceError("\(path.components.joined(separator: "/")) does not have the bytes that the head says")
        }
        return copy
    }
}
