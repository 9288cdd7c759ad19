internal import Foundation
internal import GRDB
internal import GRDBSQLite
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import TreeWatching
internal import UbiquityContainers

/// Reads, joins and writes baselines.
struct BaselineExchange {
    typealias Usable = BaselineShelf.Usable

    let scope: ExchangeScope

    var reader: BaselineReader { scope.context.baselineReader(epoch: scope.epoch) }
    var joiner: BaselineJoiner { BaselineJoiner(shapes: scope.file.shapes, sealer: scope.context.sealer, migrations: scope.file.migrations) }

    // MARK: Reading

    /// Returns the header of a baseline; nil if the baseline cannot be used.
    func header(of id: BaselineID, _ shelf: inout BaselineShelf) throws -> BaselineHeader? {
        switch shelf.headers[id] {
        case .readable(let header): return header
        case .faulty: return nil
        case nil: break
        }
        do {
            let clock = try scope.file.pool.read { db in try StoreState.read(db).clock }
            // The clock is the latest of many stamps. A store that has seen none of them cannot know why they are just
            // behind the last valid one.
            let header = try reader.header(of: id, clock: max(clock, .latest))
            shelf.read(header, of: id)
            return header
        } catch let fault as LogFault {
            try quarantine(id, fault, &shelf)
        } catch Errno.noSuchFileOrDirectory {
        } catch let error as Errno {
            try scope.context.quarantine([
                QuarantinedLog(
                    peer: id.peer.description, file: id.name.description, kind: .unreadable, reason: "it cannot be read (\(error))", record: nil,
                    since: scope.context.now())
            ])
        }
        return nil
    }

    /// Reads a baseline to the end, and returns whether it is complete.
    func verify(_ id: BaselineID, _ header: BaselineHeader, _ shelf: inout BaselineShelf) throws -> Bool {
        if shelf.verified.contains(id) { return true }
        do {
            try reader.verify(id, header)
            shelf.verified.insert(id)
            return true
        } catch let fault as LogFault {
            try quarantine(id, fault, &shelf)
        } catch is Errno {}
        return false
    }

    private func quarantine(_ id: BaselineID, _ fault: LogFault, _ shelf: inout BaselineShelf) throws {
        shelf.fault(id)
        try scope.context.quarantine([QuarantinedLog(id.name.description, of: id.peer, fault, since: scope.context.now())])
    }

    /// Passes over a baseline that this store cannot hold, and lists it.
    func refuse(_ id: BaselineID, _ reason: String, _ shelf: inout BaselineShelf) throws {
        shelf.refused.insert(id)
        try scope.context.quarantine([
            QuarantinedLog(
                peer: id.peer.description, file: id.name.description, kind: .refused, reason: reason, record: nil, since: scope.context.now())
        ])
    }

    /// Returns the number of logs in a baseline that this store lacks; nil for none.
    private func news(in id: BaselineID, _ header: BaselineHeader, _ shelf: inout BaselineShelf) throws -> (logs: Int64, isForked: Bool)? {
        let (lacking, own, knowledge) = try scope.file.pool.read { db in
            let state = try StoreState.read(db)
            let register = try LogRegister(own: state.peer, db)
            let lacking = try header.knowledge.entries.filter { try !register.contains($0.position, of: $0.peer) }
            return (lacking, state.peer, try StoreKnowledge.all(state, db))
        }
        let logs = header.knowledge.count(beyond: knowledge)
        if !lacking.isEmpty { return (logs, lacking.contains { $0.peer == own }) }
        let holes = knowledge.holes.flatMap { peer, positions in positions.map { (peer: peer, position: $0) } }
            .filter { header.knowledge.sequence(of: $0.peer) >= $0.position.sequence }
        if !holes.isEmpty {
            // A baseline that can no longer be read is examined again, from its header on.
            guard let lacking = try? reader.lacking(holes, id, header) else {
                shelf.forgetHeader(of: id)
                return nil
            }
            if lacking.count < holes.count { return (logs, false) }
        }
        shelf.contain(id)
        return nil
    }

    /// Returns whether this store holds everything in a baseline.
    private func isContained(_ id: BaselineID, _ shelf: inout BaselineShelf) throws -> Bool {
        if shelf.contained.contains(id) { return true }
        guard let header = try header(of: id, &shelf) else { return false }
        return try news(in: id, header, &shelf) == nil
    }

    /// Returns the baselines of which this store holds everything.
    func usable(_ inventory: ContentInventory, _ shelf: inout BaselineShelf) throws -> [Usable] {
        var usable: [Usable] = []
        for id in inventory.baselines where try isContained(id, &shelf) {
            if let header = try header(of: id, &shelf) { usable.append((id, header)) }
        }
        return usable
    }

    // MARK: Joining

    /// Determines which logs the baselines hold that this store lacks.
    func survey(_ inventory: ContentInventory, _ shelf: inout BaselineShelf) throws -> ExchangeOutcome {
        var found: [BaselineShelf.News] = []
        for id in inventory.baselines.sorted() where !shelf.contained.contains(id) && !shelf.refused.contains(id) {
            guard let header = try header(of: id, &shelf), let news = try news(in: id, header, &shelf) else { continue }
            if news.isForked { return .baselines([], isForked: true, knowsOthers: true) }
            let obstacle = joiner.obstacle(to: header).map { BaselineShelf.Obstacle.schema(obstacle: $0, authors: header.schema) }
            found.append(BaselineShelf.News(id: id, lag: news.logs, obstacle: obstacle))
        }
        let knowsOthers = try found.isEmpty || scope.file.pool.read { db in try !StoreKnowledge.others(db).isEmpty }
        return .baselines(found, isForked: false, knowsOthers: knowsOthers)
    }

    /// Logs the reason why a baseline is not joined.
    func passOver(_ id: BaselineID, _ obstacle: BaselineShelf.Obstacle) {
        switch obstacle {
        case .fewLogs(let lag):
            scope.context.log.detail("passed over baseline \(id.name) of \(id.peer): \(lag) logs ahead, and the logs may come by themselves")
        case .schema(let obstacle, _): scope.context.log.detail("passed over baseline \(id.name) of \(id.peer): \(obstacle)")
        }
    }

    /// Joins a baseline, unless it is damaged or this store cannot hold its content.
    ///
    /// - Parameters:
    ///   - id: the baseline.
    ///   - lag: the number of its logs that this store lacks.
    ///   - shelf: the known baselines.
    /// - Returns: whether it has been joined, so that other logs may now be ready.
    /// - Throws: `Errno`, or GRDB's errors.
    func join(_ id: BaselineID, lag: Int64, _ shelf: inout BaselineShelf) throws -> Bool {
        guard let header = try header(of: id, &shelf) else { return false }
        scope.context.progress.update { $0.begin(logs: Int(clamping: lag)) }
        let began = ContinuousClock.now
        guard let outcome = try joined(id, header, &shelf) else { return false }
        scope.context.log.exchange(
            "joined baseline \(id.name) of \(id.peer), \(counted(lag, "log")) ahead, in \(began.elapsed)",
            [.event: "joined", .baseline: id.name.description, .peer: id.peer.description, .milliseconds: "\(began.milliseconds)"])
        scope.context.metrics.joinedBaseline()
        Waypoint.joinCommitted.pass()
        scope.context.progress.update { $0.finish(logs: Int(clamping: lag)) }
        scope.context.post(outcome)
        return true
    }

    /// Joins a baseline; returns nil if the baseline is damaged or this store cannot hold its content, which has no other
    /// effect.
    private func joined(_ id: BaselineID, _ header: BaselineHeader, _ shelf: inout BaselineShelf) throws -> ImportTransaction.Outcome? {
        do {
            if let outcome = try copied(id, header, &shelf) { return outcome }
            return try compared(id, header, &shelf)
        } catch let unsound as UnsoundBaseline {
            try quarantine(id, unsound.fault, &shelf)
        } catch {
            guard let reason = ImportFault.refusal(error) else { throw error }
            try refuse(id, reason, &shelf)
        }
        return nil
    }

    /// Joins the records of a baseline that this store does not have.
    private func compared(_ id: BaselineID, _ header: BaselineHeader, _ shelf: inout BaselineShelf) throws -> ImportTransaction.Outcome? {
        let path = scope.layout.baseline(id, epoch: scope.epoch)
        var joiner = joiner
        if shelf.verified.contains(id) {
            joiner.differing = try BaselineComparison(path, header, with: scope.file)?.differing ?? [:]
        } else {
            // A file that is not sound is compared for nothing.
            let check = reader.check(id, header)
            let comparison = Result { try BaselineComparison(path, header, with: scope.file) }
            do {
                try check.finish(ContentHash(ofFile: path))
            } catch let fault as LogFault {
                throw UnsoundBaseline(fault: fault)
            } catch is Errno {
                // The file cannot be read now.
                return nil
            }
            shelf.verified.insert(id)
            joiner.differing = try comparison.get()?.differing ?? [:]
        }
        return try scope.file.mendingDerived { try scope.file.importing(attaching: [path]) { db in try joiner.join(header, db) } }
    }

    /// Joins a baseline by copying its pages, if this store has no records yet; returns nil if that is not possible.
    private func copied(_ id: BaselineID, _ header: BaselineHeader, _ shelf: inout BaselineShelf) throws -> ImportTransaction.Outcome? {
        let content = StoreTables.content(scope.file.shapes, keepingFacts: false).filter { $0 != QuarantinedLog.table }
        guard try scope.file.pool.read({ db in try isEmpty(content, in: "main", db) }) else { return nil }
        return try copying(id, header, &shelf) { draft, verify in
            try draft.importing(replacing: content, if: { try isEmpty(content, in: $0, $1) }, verify: verify) { db in
                var joiner = joiner
                joiner.isCopied = true
                return try joiner.join(header, db)
            }
        }
    }

    /// Returns whether a store holds no records, and no changes of its own.
    private func isEmpty(_ content: [String], in schema: String, _ db: Database) throws -> Bool {
        try (content + ["ubiquity_outbox", "ubiquity_adoption"]).allSatisfy {
            try !Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM \(schema).\($0.quotedIdentifier))")!
        }
    }

    /// A baseline that was found to be unsound while its pages were copied.
    struct UnsoundBaseline: Error { var fault: LogFault }

    /// Makes a draft of this store from the pages of a baseline, while the baseline is verified.
    ///
    /// - Parameters:
    ///   - id: the baseline.
    ///   - header: its header.
    ///   - shelf: the known baselines.
    ///   - body: imports with the draft; receives the function that verifies the baseline.
    /// - Returns: the result of the body; nil if this store cannot use the pages.
    /// - Throws: ``UnsoundBaseline``, or the error of the body.
    func copying<Result>(
        _ id: BaselineID, _ header: BaselineHeader, _ shelf: inout BaselineShelf,
        _ body: (BaselineDraft, _ verify: (ContentHash) throws -> Void) throws -> Result?
    ) throws -> Result? {
        guard let draft = try BaselineDraft(scope.layout.baseline(id, epoch: scope.epoch), header, for: scope.file) else { return nil }
        let check = shelf.verified.contains(id) ? nil : reader.check(id, header)
        do {
            let result = try body(draft) { hash in try check?.finish(hash) }
            if result != nil { shelf.verified.insert(id) }
            return result
        } catch {
            // Whatever else has failed, an unsound baseline is the cause.
            if let fault = check?.fault { throw UnsoundBaseline(fault: fault) }
            // The file cannot be read now, or the app's schema has something that only its own connections know.
            let isLeft = (error as? DatabaseError).map { $0.fault.isContent || $0.fault.isDamage } ?? (error is Errno)
            guard isLeft else { throw error }
            scope.context.log.detail("cannot use the pages of baseline \(id.name): \(error)")
            return nil
        }
    }

    // MARK: Rolling

    /// Returns the size in bytes of the joined logs that are in no baseline.
    func measureLoose(_ inventory: ContentInventory, _ shelf: inout BaselineShelf) throws -> Int {
        let usable = try usable(inventory, &shelf).map(\.header.knowledge)
        var bytes = 0
        for author in try scope.files.names(in: scope.layout.directory).compactMap({ PeerIdentifier($0) }) {
            let directory = scope.layout.logs(of: author, epoch: scope.epoch)
            let names: [String]
            do { names = try scope.context.folders.names(in: directory) } catch is PeerFault { continue }
            let loose = names.compactMap { LogFileName($0) }
                .filter { log in !usable.contains { $0.covers(log.sequence, of: author) } }
            let unknown = Set(try scope.file.pool.read { db in try LogRegister(own: scope.peer, db).unknown(among: loose, of: author) })
            for log in loose where !unknown.contains(log) {
                bytes += (try? scope.files.size(of: directory.appending(log.description))).map { Int($0) } ?? 0
            }
        }
        return bytes
    }

    /// Writes a baseline of everything that has been joined and published.
    ///
    /// The order is that of a log: write the file where no synchroniser looks, sync it, rename it into place, sync the
    /// directory. A crash before the rename leaves a draft, which the next start removes. A crash after it leaves a
    /// valid baseline.
    ///
    /// - Parameter inventory: the files of the content, to which the baseline is added.
    /// - Returns: the baseline; nil if a save came in between.
    /// - Throws: `Errno`, or GRDB's errors.
    func roll(_ inventory: inout ContentInventory) throws -> BaselineID? { try roll(&inventory) { _ in } }

    /// Writes a baseline of a part of what has been joined and published.
    ///
    /// - Parameters:
    ///   - inventory: the files of the content, to which the baseline is added.
    ///   - restrict: restricts what is written.
    /// - Returns: the baseline; nil if a save came in between.
    /// - Throws: `Errno`, or GRDB's errors.
    func roll(_ inventory: inout ContentInventory, _ restrict: (inout BaselineWriter) -> Void) throws -> BaselineID? {
        let sequence = BaselineShelf.next(of: scope.peer, among: inventory.baselines)
        let began = ContinuousClock.now
        let temporary = scope.layout.temporary(of: scope.peer, epoch: scope.epoch)
        try scope.files.makeDirectory(temporary)
        let draft = temporary.appending("baseline.\(UUID().uuidString)")
        defer { try? scope.files.remove(draft) }
        var writer = BaselineWriter(
            store: scope.file.path, shapes: scope.file.shapes, schemaVersion: scope.file.migrations.last ?? "", now: scope.context.now())
        restrict(&writer)
        guard try writer.write(to: draft, sequence: sequence) != nil else { return nil }
        Waypoint.rollWritten.pass()
        try scope.files.syncFile(draft)
        let id = BaselineID(peer: scope.peer, name: BaselineName(sequence: sequence, hash: try ContentHash(ofFile: draft)))
        Waypoint.rollSynced.pass()
        let directory = scope.layout.baselines(of: scope.peer, epoch: scope.epoch)
        try scope.files.makeDirectory(directory)
        try scope.files.syncDirectory(directory.removingLastComponent())
        try scope.files.renameNew(draft, to: scope.layout.baseline(id, epoch: scope.epoch))
        Waypoint.rollRenamed.pass()
        try scope.files.syncDirectory(directory)
        scope.context.hint?.published(in: directory)
        Waypoint.rollDirectorySynced.pass()
        inventory.baselines.insert(id)
        scope.context.log.detail("wrote \(id.name) in \(began.elapsed)")
        scope.context.post(.didRollBaseline(sequence))
        return id
    }
}
