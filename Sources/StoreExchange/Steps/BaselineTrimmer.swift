internal import GRDB
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// Removes files that baselines make superfluous.
struct BaselineTrimmer {
    let scope: ExchangeScope

    /// Removes own logs that a verified baseline holds and every other peer has passed, and own baselines that a
    /// greater one holds.
    func trim(_ inventory: inout ContentInventory, _ peers: PeerDirectory, _ shelf: inout BaselineShelf) throws {
        let usable = try scope.baselines.usable(inventory, &shelf)
        guard !usable.isEmpty else { return }
        try trimLogs(for: usable, peers, &shelf)
        try trimBaselines(usable, &inventory, &shelf)
    }

    private func trimLogs(for usable: [BaselineShelf.Usable], _ peers: PeerDirectory, _ shelf: inout BaselineShelf) throws {
        let own = try scope.file.pool.read { db in
            // These are the positions that are this store's own: a copy of it may have written others under this
            // identifier.
            let stated = usable.map(\.header.knowledge) + peers.active.values.compactMap { $0.receipt?.stated }
            let register = try LogRegister(own: scope.peer, db)
            return try Set(stated.flatMap { $0.heads[scope.peer] ?? [] }).filter { try register.contains($0, of: scope.peer) }
        }
        let passed = usable.map { (id: $0.id, sequence: $0.header.knowledge.passed(scope.peer, where: own.contains)) }
        let trims = shelf.trims(passed, limit: peers.passed(scope.peer, where: own.contains))
        // The directory may hold very many logs, so it is listed only if something can be removed.
        guard let greatest = trims.first?.limit else { return }
        let directory = scope.layout.logs(of: scope.peer, epoch: scope.epoch)
        let logs = try scope.files.names(in: directory).compactMap { LogFileName($0) }.sorted()
        let unknown = Set(try scope.file.pool.read { db in try LogRegister(own: scope.peer, db).unknown(among: logs, of: scope.peer) })
        for trim in trims {
            let superfluous = logs.filter { $0.sequence <= trim.limit && !unknown.contains($0) }
            guard !superfluous.isEmpty else {
                if trim.limit == greatest { shelf.trim(upTo: greatest) }
                break
            }
            // A baseline that was complete when it was joined may have been damaged since.
            shelf.verified.remove(trim.id)
            guard let header = usable.first(where: { $0.id == trim.id })?.header, try scope.baselines.verify(trim.id, header, &shelf)
            else { continue }
            for log in superfluous {
                try scope.files.remove(directory.appending(log.description))
                Waypoint.trimLog.pass()
                scope.context.log.detail("removed \(log), which baseline \(trim.id.name) of \(trim.id.peer) holds")
            }
            scope.context.log.exchange("removed \(counted(superfluous.count, "log")) that a baseline holds and every peer has read")
            shelf.trim(upTo: trim.limit)
            let gone = Set(superfluous)
            try trimValues(after: logs.filter { !gone.contains($0) })
            break
        }
    }

    private func trimBaselines(_ usable: [BaselineShelf.Usable], _ inventory: inout ContentInventory, _ shelf: inout BaselineShelf) throws {
        let knowledge = try scope.file.pool.read { db in try StoreKnowledge.all(StoreState.read(db), db) }
        for one in usable where one.id.peer == scope.peer {
            for greater in BaselineShelf.greater(than: one, among: usable, within: knowledge) {
                shelf.verified.remove(greater.id)
                guard try scope.baselines.verify(greater.id, greater.header, &shelf) else { continue }
                try scope.files.remove(scope.layout.baseline(one.id, epoch: scope.epoch))
                inventory.baselines.remove(one.id)
                Waypoint.trimBaseline.pass()
                scope.context.log.exchange("removed baseline \(one.id.name), for \(greater.id.name) of \(greater.id.peer) holds all of it")
                break
            }
        }
    }

    /// Removes own large values that no remaining log names.
    private func trimValues(after logs: [LogFileName]) throws {
        let directory = scope.layout.values(of: scope.peer, epoch: scope.epoch)
        // Files behind a link belong to others.
        guard try scope.files.kind(of: directory) == .directory else { return }
        let values = try scope.files.namesIfThere(in: directory).filter { ContentHash(hexadecimal: $0) != nil }
        guard !values.isEmpty else { return }
        let logReader = LogReader(
            layout: scope.layout, contentName: scope.context.contentName, epoch: scope.epoch, shapes: scope.file.shapes, files: scope.files)
        var named: Set<String> = []
        for log in logs {
            // If a log cannot be read, the values that it names are unknown.
            guard let ready = try? logReader.read(log, of: scope.peer, clock: .latest) else { return }
            named.formUnion(ready.values.keys.map(\.hash.description))
        }
        // An unpublished log may name a value that another log has published.
        guard try scope.file.pool.read({ db in try Outbox.isEmpty(db) }) else { return }
        for value in values where !named.contains(value) {
            try scope.files.remove(directory.appending(value))
            Waypoint.trimValue.pass()
        }
    }
}
