internal import StoreAuthority
internal import StoreExchange
internal import StoreFormat
internal import SystemPackage
internal import UbiquityContainers

/// Verifies the files of one epoch of a content, and their references to each other.
///
/// It holds one file in memory at a time, besides the names of logs and missing files. Baselines are verified last: a
/// log that its owner removes in the meantime is in one of them.
struct EpochVerifier {
    /// The maximum size of a receipt or mark in bytes.
    static let limit = 16 << 20

    let layout: ContentLayout
    let contentName: String
    let epoch: Int64
    let files: any FileLayer
    /// The present time; later stamps are not plausible.
    let clock: HybridTime
    let progress: (FilePath) -> Void
    var found: ContentVerification
    /// The statements of the container, if it has a scope.
    var authority: Authority?

    /// A log of any peer.
    private struct LogID: Hashable, Comparable {
        var peer: PeerIdentifier
        var name: LogFileName

        init(peer: PeerIdentifier, name: LogFileName) { (self.peer, self.name) = (peer, name) }

        init(peer: PeerIdentifier, position: Knowledge.Position) {
            self.init(peer: peer, name: LogFileName(sequence: position.sequence, hash: position.hash))
        }

        static func < (left: Self, right: Self) -> Bool { (left.peer, left.name) < (right.peer, right.name) }
    }

    private enum Awaited: Hashable {
        case log(LogID)
        case value(ContentHash, author: PeerIdentifier)
    }

    /// The logs that exist.
    private var logs: [PeerIdentifier: Set<LogFileName>] = [:]
    /// The missing files that logs need, with these logs.
    private var awaited: [Awaited: Set<LogID>] = [:]
    /// The missing logs that a receipt states as read.
    private var claims: [(log: LogID, receipt: FilePath)] = []
    /// For each retired peer, the last of its logs that can be passed over.
    private var passable: [PeerIdentifier: Int64] = [:]
    /// The large values that logs name.
    private var named: Set<ContentHash> = []
    /// The missing logs that a baseline contains.
    private var held: Set<LogID> = []

    init(
        layout: ContentLayout, contentName: String, epoch: Int64, files: any FileLayer, clock: HybridTime, progress: @escaping (FilePath) -> Void,
        found: ContentVerification
    ) {
        self.layout = layout
        self.contentName = contentName
        self.epoch = epoch
        self.files = files
        self.clock = clock
        self.progress = progress
        self.found = found
    }

    mutating func verify(_ peers: [PeerIdentifier]) {
        for peer in peers { listLogs(of: peer) }
        for peer in peers { verifyLogs(of: peer) }
        for peer in peers { verifyValues(of: peer) }
        for peer in peers { verifyReceipts(of: peer) }
        for peer in peers { verifyBaselines(of: peer) }
        reportGaps()
    }

    // MARK: Logs

    private mutating func listLogs(of peer: PeerIdentifier) {
        let entries = found.findings.entries(of: layout.logs(of: peer, epoch: epoch), files) { name in
            LogFileName(name) != nil ? .file : EndedEpochs.folders.contains { $0.0 == name } ? .directory : nil
        }
        logs[peer] = Set(entries.compactMap { LogFileName($0) })
    }

    private mutating func verifyLogs(of peer: PeerIdentifier) {
        let directory = layout.logs(of: peer, epoch: epoch)
        let reader = LogReader(layout: layout, contentName: contentName, epoch: epoch, shapes: [], files: files, container: authority?.container)
        var before: LogFileName?
        for name in (logs[peer] ?? []).sorted() {
            let path = directory.appending(name.description)
            progress(path)
            do {
                let log = try reader.read(name, of: peer, clock: clock)
                try verifySignature(of: log)
                note(log)
                if before?.sequence == name.sequence {
                    found.findings.report(
                        .remark, path, "there is another log of this sequence: the identifier has been in use in two places at once",
                        "nothing: both are read, and the store that finds the other's log takes a new identifier")
                }
                before = name
            } catch let fault as LogFault {
                found.findings.report(
                    .fault, path, fault.description,
                    "copy it again from a device or a backup that has it whole; a device that has read it writes a baseline for those that wait")
            } catch Errno.noSuchFileOrDirectory {
                // Its owner has removed it since the listing.
                logs[peer]?.remove(name)
                continue
            } catch {
                found.findings.reportUnreadable(path, error)
            }
            found.logs += 1
        }
    }

    /// Verifies that the author's device has signed a log, in a container with a scope.
    private func verifySignature(of log: ReadyLog) throws(LogFault) {
        guard let authority, let rights = log.log.header.rights else { return }
        guard let author = authority.author(log.peer, certificate: rights.certificate) else {
            throw .damaged("its certificate is not here, has no effect, or does not name its author")
        }
        guard log.log.isSigned(by: author.key, log.name.hash) else {
            throw .damaged("its signature is not valid: it is altered, or another key than its author's made it")
        }
    }

    /// Stores the files that a log needs.
    private mutating func note(_ log: ReadyLog) {
        let id = LogID(peer: log.peer, name: log.name)
        var needed = log.log.header.news.entries.map { LogID(peer: $0.peer, position: $0.position) }
        if let previous = log.log.header.previous { needed.append(LogID(peer: log.peer, position: previous)) }
        note(log.contents.retired)
        for other in needed where !isThere(other) { awaited[.log(other), default: []].insert(id) }
        for (value, peers) in log.values {
            named.insert(value.hash)
            if !peers.contains(where: { isThere(path(of: value.hash, $0)) }) { awaited[.value(value.hash, author: log.peer), default: []].insert(id) }
        }
    }

    private mutating func note(_ retired: [PeerIdentifier: Retirement]) {
        for (peer, fact) in retired { passable[peer] = max(passable[peer] ?? 0, fact.sequence) }
    }

    private func isThere(_ log: LogID) -> Bool { logs[log.peer]?.contains(log.name) == true }

    private func isThere(_ path: FilePath) -> Bool { (try? files.kind(of: path)) == .file }

    private func path(of log: LogID) -> FilePath { layout.logs(of: log.peer, epoch: epoch).appending(log.name.description) }

    private func path(of value: ContentHash, _ peer: PeerIdentifier) -> FilePath {
        layout.values(of: peer, epoch: epoch).appending(value.description)
    }

    // MARK: Other files

    private mutating func verifyValues(of peer: PeerIdentifier) {
        let directory = layout.values(of: peer, epoch: epoch)
        for name in found.findings.entries(of: directory, files, expecting: { ContentHash(hexadecimal: $0) == nil ? nil : .file }) {
            let path = directory.appending(name)
            progress(path)
            do {
                let hash = try ContentHash(ofFile: path)
                if hash.description != name {
                    found.findings.report(
                        .fault, path, "its bytes do not have the hash in its name: it is truncated, altered, or still arriving",
                        "copy it again from a device or a backup that has it whole")
                } else if !named.contains(hash) {
                    found.findings.report(
                        .remark, path, "no log here names it", "nothing: its log has not arrived yet, or its owner removes it with its next baseline")
                }
                found.values += 1
            } catch Errno.noSuchFileOrDirectory {
                continue
            } catch {
                found.findings.reportUnreadable(path, error)
            }
        }
    }

    private mutating func verifyReceipts(of peer: PeerIdentifier) {
        let directory = layout.receipts(of: peer, epoch: epoch)
        for name in found.findings.entries(of: directory, files, expecting: { Receipt.number(ofFile: $0) == nil ? nil : .file }) {
            let path = directory.appending(name)
            progress(path)
            do {
                let bytes = try files.read(path, limit: Self.limit)
                found.receipts += 1
                note(Receipt(decoding: bytes), at: path, of: peer)
            } catch Errno.noSuchFileOrDirectory {
                continue
            } catch {
                found.findings.reportUnreadable(path, error)
            }
        }
    }

    private mutating func note(_ receipt: Receipt?, at path: FilePath, of peer: PeerIdentifier) {
        guard let receipt, receipt.peer == peer.description, receipt.epoch == epoch else {
            let detail = receipt.map { "it is a receipt of \($0.peer), epoch \($0.epoch)" } ?? "it is damaged, or of a newer version"
            found.findings.report(.fault, path, detail, "wait: its peer writes another when it has read or written something")
            return
        }
        for entry in receipt.stated.entries {
            let log = LogID(peer: entry.peer, position: entry.position)
            if !isThere(log) { claims.append((log, path)) }
        }
    }

    private mutating func verifyBaselines(of peer: PeerIdentifier) {
        let directory = layout.baselines(of: peer, epoch: epoch)
        let reader = BaselineReader(layout: layout, contentName: contentName, epoch: epoch)
        let missing = awaited.keys.compactMap { if case .log(let log) = $0 { log } else { nil } }
        let wanted = Set(claims.map(\.log)).union(missing).union(awaited.values.joined())
        for entry in found.findings.entries(of: directory, files, expecting: { BaselineName($0) == nil ? nil : .file }) {
            let path = directory.appending(entry)
            progress(path)
            do {
                let id = BaselineID(peer: peer, name: BaselineName(entry)!)
                let header = try reader.header(of: id, clock: clock)
                try reader.verify(id, header)
                note(header.retired)
                var logs: Set<LogID> = []
                try reader.forEachLog(of: id, header) { peer, name in
                    let log = LogID(peer: peer, name: name)
                    if wanted.contains(log) { logs.insert(log) }
                }
                held.formUnion(logs)
            } catch let fault as LogFault {
                found.findings.report(
                    .fault, path, fault.description, "copy it again from a device or a backup that has it whole, or let an app write another")
            } catch Errno.noSuchFileOrDirectory {
                continue
            } catch {
                found.findings.reportUnreadable(path, error)
            }
            found.baselines += 1
        }
    }

    // MARK: Missing files

    private mutating func reportGaps() {
        var gaps: [(path: FilePath, what: String, logs: [LogID])] = []
        for (file, logs) in awaited {
            switch file {
            case .log(let log):
                if log.name.sequence <= passable[log.peer] ?? 0 {
                    guard !held.contains(log), !isThere(path(of: log)) else { continue }
                    found.findings.report(
                        .remark, path(of: log),
                        "log \(log.name.sequence) of \(log.peer) is nowhere; its author was retired at it, and later logs are joined without it",
                        "nothing; if it arrives later, its changes come back")
                } else if !held.contains(log) {
                    gaps.append((path(of: log), "log \(log.name.sequence) of \(log.peer)", logs.sorted()))
                }
            case .value(let hash, let author):
                let waiting = logs.subtracting(held)
                if !waiting.isEmpty { gaps.append((path(of: hash, author), "a large value of \(author)", waiting.sorted())) }
            }
        }
        // A file that has arrived since is not missing.
        for gap in gaps.sorted(by: { $0.path.string < $1.path.string }) where !isThere(gap.path) {
            let first = "log \(gap.logs[0].name.sequence) of \(gap.logs[0].peer)"
            let more = gap.logs.count > 1 ? " and \(gap.logs.count - 1) more await" : " awaits"
            found.findings.report(
                .gap, gap.path, "\(gap.what) is nowhere, and \(first)\(more) it",
                "wait for the synchroniser, or copy it from a device or a backup that has it; a device that has read it writes a baseline for those that wait"
            )
        }
        for claim in claims where !held.contains(claim.log) && !isThere(path(of: claim.log)) {
            found.findings.report(
                .remark, claim.receipt, "it says that log \(claim.log.name.sequence) of \(claim.log.peer) has been read, but is nowhere",
                "wait for the synchroniser; if the log was lost, a baseline by a device that has read it brings its changes back")
        }
    }
}
