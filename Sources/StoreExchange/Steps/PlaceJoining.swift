internal import Foundation
internal import GRDB
internal import StoreAuthority
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// Joins the logs in the bundles of a public place.
struct PlaceJoining {
    let context: ExchangeContext
    let mirror: PlaceFiles

    /// Joins the logs of a bundle that are behind a head, and returns the large values that are needed first.
    func join(
        _ path: PublishedPath, _ file: PublishedFile, after head: Int64, _ seen: inout Set<ContentHash>, _ content: KnownContent
    ) throws -> [PlaceContext.Need] {
        let scope = ExchangeScope(context, content.state)
        let exchange = LogExchange(scope: scope)
        let reader = exchange.reader
        let proof = content.proof!
        var importer = exchange.importer(reader, proof)
        (importer.takesKnowledge, importer.lives) = (false, .widest)
        importer.values = MirroredValues(mirror: mirror, files: context.files)
        let own = try ownLogs()
        var batch = Batch()
        var needs: [PlaceContext.Need] = []
        var taken = seen
        try mirror.read(path, file, by: context.files) { entry in
            guard entry.head > head else { return }
            switch entry.content {
            case .value(let hash, let size):
                let need = PlaceContext.Need(path: .value(hash), file: PublishedFile(hash: hash, size: size))
                if !mirror.has(need.path, need.file) { needs.append(need) }
            case .log(let peer, let name, let bytes):
                // What this store has written itself, it has.
                guard needs.isEmpty, taken.insert(name.hash).inserted, peer != scope.peer || !own.contains(name) else { return }
                guard let log = try checked(bytes, name, of: peer, reader, proof) else { return }
                batch.append(log)
                guard batch.isFull else { return }
                try join(batch.logs, by: importer, proof)
                batch = Batch()
            case .statement, .base: break
            }
        }
        seen = taken
        guard needs.isEmpty else { return needs }
        try join(batch.logs, by: importer, proof)
        return []
    }

    /// The logs of one transaction.
    private struct Batch {
        private(set) var logs: [ReadyLog] = []
        private var size = 0

        mutating func append(_ log: ReadyLog) {
            logs.append(log)
            size += log.size
        }

        /// Whether there are enough, and the last save is whole.
        var isFull: Bool {
            guard let last = logs.last, !last.log.header.goesOn else { return false }
            return logs.count >= ImportPlanner.batchLogs || size >= ImportPlanner.batchBytes
        }
    }

    /// Returns a log of a bundle, which this store can join; nil for one without effect because its account is shut out.
    private func checked(
        _ bytes: ArraySlice<UInt8>, _ name: LogFileName, of peer: PeerIdentifier, _ reader: LogReader, _ proof: LogProof
    ) throws -> ReadyLog? {
        let log = try reader.check(Array(bytes), name, of: peer, clock: .latest)
        if let obstacle = reader.obstacle(to: log) {
            throw PlaceFault(reason: "the log \(name) of \(peer) needs a newer version of the app: \(obstacle)")
        }
        guard case .waits(let needs) = proof.verdict(on: log, context.file.shapes) else { return log }
        // A closed admission has shut its account out. If that changes, the place begins again with snapshots.
        if needs.allSatisfy({ if case .admittance = $0 { true } else { false } }) { return nil }
        let awaited = needs.map(\.description).sorted().joined(separator: ", ")
        throw PlaceFault(reason: "the log \(name) of \(peer) needs \(awaited), which the place does not have")
    }

    /// Returns the logs that this store has written.
    private func ownLogs() throws -> Set<LogFileName> {
        try context.file.pool.read { db in
            Set(try StoreKnowledge.logs(of: StoreState.read(db).peer, db) + Outbox.names(db))
        }
    }

    private func join(_ logs: [ReadyLog], by importer: LogImporter, _ proof: LogProof) throws {
        guard !logs.isEmpty else { return }
        let unproved = Set(proof.unproved(logs).map(\.name))
        let proved = logs.filter { !unproved.contains($0.name) }
        for log in logs where unproved.contains(log.name) { context.log.fault("\(log.name) of \(log.peer) in the public place: \(LogProof.fault)") }
        var rest = proved[...]
        while !rest.isEmpty {
            let began = ContinuousClock.now
            let outcome = try context.file.mendingDerived {
                try context.file.importing { db in try importer.join(Array(rest), isolating: true, db) }
            }
            context.metrics.imported(rest.prefix(outcome.joined), since: began, at: context.now())
            context.post(outcome.imported)
            guard let (log, refusal) = outcome.refused else { break }
            let save = LogImporter.save(at: rest.dropFirst(outcome.joined))
            try context.quarantine([
                QuarantinedLog(
                    peer: log.peer.description, file: log.name.description, kind: .refused, reason: refusal.reason, record: refusal.record?.text,
                    since: context.now())
            ])
            rest = rest[save.endIndex...]
        }
        context.post(try context.file.resolve(by: context.sealer))
    }
}

/// Large values that have been fetched from a public place.
private struct MirroredValues: LargeValueSource {
    let mirror: PlaceFiles
    let files: any FileLayer

    func whole(_ value: LargeValue, of peers: [PeerIdentifier]) throws -> [UInt8]? {
        guard let bytes = try? files.read(mirror.path(.value(value.hash)), limit: value.length), ContentHash(of: bytes) == value.hash else {
            return nil
        }
        return bytes
    }
}
