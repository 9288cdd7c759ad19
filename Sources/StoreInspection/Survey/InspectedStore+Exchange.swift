internal import Foundation
internal import GRDB
internal import StoreExchange
internal import StoreFormat
internal import StoreRecords
package import SystemPackage
internal import UbiquityContainers

extension InspectedStore {
    /// Returns the difference between the store and its container.
    ///
    /// - Parameter container: the container's directory. The call blocks while it lists the logs of the content's
    ///   peers, and reads a receipt and at most one log's header of each peer.
    /// - Returns: the logs that are not joined, the awaited files, and the logs that are not published.
    /// - Throws: `Errno`, GRDB's errors, or `UbiquitousStoreError` if the store's own state is damaged.
    package func exchange(with container: FilePath) throws -> ExchangeReport {
        try read { db in
            var reader = try ExchangeReader(container, db)
            return try reader.exchange()
        }
    }
}

/// Compares a store with its container, in one read of the store.
private struct ExchangeReader {
    private typealias Log = (peer: PeerIdentifier, position: Knowledge.Position)

    private let db: Database
    private let state: StoreState
    private let register: LogRegister
    private let layout: ContentLayout
    private let files = LinuxFileLayer()
    private let knowledge: Knowledge
    private let unusable: [String: QuarantinedLog]
    /// The present logs that have not been joined.
    private var unread: [PeerIdentifier: [LogFileName]] = [:]
    /// The reason why a directory of a peer cannot be listed.
    private var faults: [PeerIdentifier: String] = [:]
    private var awaited: Set<AwaitedFile> = []

    init(_ container: FilePath, _ db: Database) throws {
        self.db = db
        state = try StoreState.read(db)
        register = try LogRegister(own: state.peer, db)
        layout = ContentLayout(container: container, content: state.content)
        knowledge = try StoreKnowledge.all(state, db)
        unusable = Dictionary(try QuarantinedLog.list(db).map { ("\($0.peer)/\($0.file)", $0) }) { $1 }
    }

    mutating func exchange() throws -> ExchangeReport {
        let marks = try EpochMarks(of: layout, files: files)
        var found = ExchangeReport(knowledge: knowledge.listed, epoch: max(state.epoch, marks.present))
        (found.hindrance, found.isContentGone) = hindrance(marks)
        found.unpublished = try Int.fetchOne(db, sql: "SELECT count(*) FROM ubiquity_outbox")!
        found.isNoted = try StoreSummary.isNoted(db)
        let peers = try files.namesIfThere(in: layout.directory).compactMap { PeerIdentifier($0) }.sorted()
        try list(peers)
        try readReceipts(peers)
        found.unjoinedBaselines = try readBaselines(peers)
        for peer in peers { if let waiting = try waiting(of: peer) { found.waiting.append(waiting) } }
        found.faults = faults.count
        found.awaited = Array(awaited.sorted { ($0.peer, $0.sequence ?? .max) < ($1.peer, $1.sequence ?? .max) }.prefix(ExchangeReport.limit))
        found.awaitedCount = awaited.count
        found.unread = found.waiting.reduce(0) { $0 + $1.logs }
        found.isImported = found.hindrance == nil && found.unread == 0 && found.unjoinedBaselines == 0 && found.faults == 0
        found.isCurrent = found.isImported && awaited.isEmpty && found.unpublished == 0 && !found.isNoted
        return found
    }

    private func hindrance(_ marks: EpochMarks) -> (String?, isContentGone: Bool) {
        if marks.present > state.epoch {
            return ("the content's epoch is \(marks.present), and the store is in \(state.epoch): the app has not followed yet", false)
        }
        guard (try? files.kind(of: layout.directory)) == .directory else {
            return ("the content's directory \(layout.directory) is not there", state.attached)
        }
        guard state.attached else { return ("the store has not attached to the container yet", false) }
        guard (try? files.kind(of: layout.logs(of: state.peer, epoch: state.epoch))) == .directory else {
            return ("the store's own directory is gone from the container: \(layout.logs(of: state.peer, epoch: state.epoch))", true)
        }
        return (nil, false)
    }

    private mutating func list(_ peers: [PeerIdentifier]) throws {
        let directories = PeerFolders(layout: layout, files: files)
        for peer in peers {
            var names: [LogFileName] = []
            do {
                if try directories.isThere(layout.logs(of: peer, epoch: state.epoch)) {
                    try DirectoryScan.forEachIfThere(in: layout.logs(of: peer, epoch: state.epoch)) { entry in
                        if entry.kind == .file, let name = LogFileName(bytes: entry.name) { names.append(name) }
                    }
                }
                for folder in [layout.values, layout.baselines, layout.receipts] { _ = try directories.isThere(folder(peer, state.epoch)) }
            } catch let fault as PeerFault {
                faults[peer] = fault.description
            } catch let error as UbiquitousStoreError {
                faults[peer] = "\(error)"
            }
            let unknown = try register.unknown(among: names, of: peer)
            if !unknown.isEmpty { unread[peer] = unknown }
        }
    }

    /// Reads the knowledge in the receipts of peers that are not retired.
    private mutating func readReceipts(_ peers: [PeerIdentifier]) throws {
        let retired = try Retirements.all(db)
        for (peer, newest) in try layout.receipts(besides: state.peer, epoch: state.epoch, files: files)
        where retired[peer]?.isInForce(newest.number) != true {
            for log in newest.receipt?.stated.entries ?? [] { try note(log) }
        }
        // The store's own receipt lists the files that it waits for, including large values.
        let own = layout.receipts(of: state.peer, epoch: state.epoch)
        guard let newest = try files.namesIfThere(in: own).compactMap(Receipt.number(ofFile:)).max(),
            let receipt = (try? files.read(own.appending(String(newest)), limit: 16 << 20)).flatMap({ Receipt(decoding: $0) })
        else { return }
        for file in receipt.awaits ?? [] {
            guard let peer = PeerIdentifier(file.peer), let hash = file.hash.flatMap({ ContentHash(hexadecimal: $0) }) else { continue }
            if let sequence = file.sequence {
                try note((peer, .init(sequence: sequence, hash: hash)))
            } else if (try? files.kind(of: layout.values(of: peer, epoch: state.epoch).appending(hash.description))) != .file {
                awaited.insert(file)
            }
        }
    }

    /// Returns the number of baselines that contain something that the store does not have.
    private mutating func readBaselines(_ peers: [PeerIdentifier]) throws -> Int {
        try BaselineKnowledge.all(in: layout, state.content, epoch: state.epoch, of: peers).count { known in
            try known.entries.contains { try !isHeld($0) }
        }
    }

    /// Returns whether a log has been joined, or passed over permanently.
    private func isHeld(_ log: Log) throws -> Bool {
        try register.contains(log.position, of: log.peer) || knowledge.holes[log.peer]?.contains(log.position) == true
    }

    /// Adds a log to the awaited files if it is neither joined nor present.
    private mutating func note(_ log: Log) throws {
        let name = LogFileName(sequence: log.position.sequence, hash: log.position.hash)
        guard try !isHeld(log), unread[log.peer]?.contains(name) != true else { return }
        awaited.insert(AwaitedFile(peer: log.peer.description, sequence: name.sequence, hash: name.hash.description, isDamaged: false))
    }

    /// Returns the waiting logs of a peer, and the files for which the first of them waits.
    private mutating func waiting(of peer: PeerIdentifier) throws -> ExchangeReport.Waiting? {
        guard let names = unread[peer], let first = names.first else {
            return faults[peer].map {
                .init(
                    peer: peer.description, sequence: knowledge.sequence(of: peer) + 1, logs: 0, reason: "its files cannot be read: \($0)")
            }
        }
        let header = LogHeader(inFileAt: layout.logs(of: peer, epoch: state.epoch).appending(first.description))
        var waiting = ExchangeReport.Waiting(
            peer: peer.description, sequence: first.sequence, logs: names.count, since: header?.created,
            reason: "it is present and has not been read: check that the app runs")
        if let header {
            var needed = header.news.entries.map { ($0.peer, $0.position) }
            if let previous = header.previous { needed.append((peer, previous)) }
            for (author, position) in needed where author != state.peer {
                try note((author, position))
                let isThere = unread[author]?.contains(LogFileName(sequence: position.sequence, hash: position.hash)) == true
                guard try !isHeld((author, position)), !isThere else { continue }
                waiting.awaited.append(
                    AwaitedFile(peer: author.description, sequence: position.sequence, hash: position.hash.description, isDamaged: false))
            }
        }
        if let fault = unusable["\(peer)/\(first)"] {
            waiting.reason = "it cannot be used: \(fault.reason)"
            waiting.isUnusable = true
        } else if header == nil {
            waiting.reason = "it is not a complete log: it is damaged, or still arriving"
        } else if !waiting.awaited.isEmpty {
            waiting.reason = "it waits for \(waiting.awaited.map(\.description).joined(separator: ", "))"
        } else if state.paused {
            waiting.reason = "the store is paused"
        }
        return waiting
    }
}
