internal import Foundation
internal import GRDB
internal import StoreAuthority
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// Fills the tables of a store that reads a public place from snapshots.
///
/// Each part of a table is filled in a transaction of its own. A crash in between begins to fill all parts again.
struct PlaceFilling {
    let context: ExchangeContext
    let mirror: PlaceFiles

    /// The tables of role holders come first, because moderators' decisions hide records of the others.
    private var shapes: [TableShape] {
        let shapes = context.file.shapes.filter { $0.access != nil }
        return shapes.filter(\.isCurated) + shapes.filter { !$0.isCurated }
    }

    /// A part of a table that a head has a snapshot of.
    struct Part {
        var shape: TableShape
        var digit: String
        var snapshot: PublishedHead.Snapshot
        var table: String

        var needs: [PlaceContext.Need] { snapshot.paths(of: table, digit).map { .init(path: $0.key, file: $0.value) } }
        var records: PublishedPath { .snapshot(table: table, digit: digit, snapshot.written, snapshot.records.hash) }
    }

    /// Returns the parts of the store's tables that a head has snapshots of.
    func parts(of head: PublishedHead) -> [Part] {
        var parts: [Part] = []
        for shape in shapes {
            for name in [shape.name] + shape.formerNames {
                for (digit, snapshot) in (head.tables[name]?.parts ?? [:]).sorted(by: { $0.key < $1.key }) {
                    parts.append(Part(shape: shape, digit: digit, snapshot: snapshot, table: name))
                }
            }
        }
        return parts
    }

    /// Replaces the tables' records by those of the snapshots.
    ///
    /// The caller knows the statements until then.
    func fill(_ head: PublishedHead, _ content: inout KnownContent) throws {
        let began = ContinuousClock.now
        var filled: Set<String> = []
        for part in parts(of: head) {
            try fill(part, head, content)
            filled.insert(part.shape.name)
            Waypoint.placeFilling.pass()
        }
        guard !filled.isEmpty else { return }
        content.state = try context.file.pool.read { db in try StoreState.read(db) }
        context.log.transition("filled \(filled.sorted().joined(separator: ", ")) from the snapshots of head \(head.number) in \(began.elapsed)")
        context.post(.didFill(filled))
        Waypoint.placeFilled.pass()
    }

    private func fill(_ part: Part, _ head: PublishedHead, _ content: KnownContent) throws {
        let path = mirror.path(part.records)
        var reader = BaselineReader(contentName: context.contentName, epoch: content.state.epoch) { _ in path }
        reader.lives = .widest
        let id = BaselineID(
            peer: head.publisher, name: BaselineName(sequence: part.snapshot.written, hash: part.snapshot.records.hash))
        let header: BaselineHeader
        var deaths = DeathList()
        do {
            header = try reader.header(of: id, clock: .latest)
            try reader.verify(id, header)
            if let file = part.snapshot.deaths {
                let path = mirror.path(.deaths(table: part.table, digit: part.digit, part.snapshot.written, file.hash))
                let bytes = try context.files.read(path, limit: Int(clamping: file.size))
                guard ContentHash(of: bytes) == file.hash else { throw LogFault.damaged("its bytes are not those that its name says") }
                deaths = try DeathList(decoding: bytes)
            }
        } catch let fault as LogFault {
            for need in part.needs where (try? ContentHash(ofFile: mirror.path(need.path))) != need.file.hash {
                try? context.files.remove(mirror.path(need.path))
            }
            throw PlaceFault(reason: "the snapshot of \(part.table) is of no use: \(fault)")
        }
        if let obstacle = BaselineJoiner(shapes: context.file.shapes, sealer: context.sealer, migrations: context.file.migrations).obstacle(
            to: header)
        {
            throw PlaceFault(reason: "the snapshot of \(part.table) needs a newer version of the app: \(obstacle)")
        }
        let rows = TablePart(part.shape, digit: part.digit, among: context.file.shapes)
        let scope = ExchangeScope(context, content.state)
        let rebuild = DomainRebuild(scope: scope, authority: content.authority!)
        try context.file.importing(attaching: [path]) { db in
            try context.sealer.seal(db)
            let local = LocalColumns([part.shape])
            try local.keep(db)
            try rows.clear(db)
            var joiner = scope.baselines.joiner
            (joiner.takesKnowledge, joiner.lives, joiner.part) = (false, .widest, rows)
            joiner.gate = ImportGate(
                decision: { _ in { shape, key in rows.contains(key, in: shape) ? nil : .otherAccount } }, movesClock: { _, _ in false })
            _ = try joiner.join(header, isRebuilding: true, db)
            try ForgottenDeaths.enter(deaths, in: part.shape, db)
            _ = try rebuild.replay([rows], of: { _ in true }, db)
            try context.sealer.journal.append(whole: [part.shape], .rebuild, now: context.now(), db)
            try local.putBack(db)
            try moveClocks(over: rows, db)
        }
        try context.file.resolve(by: context.sealer)
    }

    /// Moves this store's clocks above the stamps of the records that it may change.
    private func moveClocks(over rows: TablePart, _ db: Database) throws {
        if rows.shape.isCurated {
            var position = try ScopeState.read(db)
            position.clock = max(position.clock, min(try rows.latest(of: nil, db), .latest))
            try position.update(db)
        } else {
            var state = try StoreState.read(db)
            guard let account = AccountIdentifier(state.peer.account)?.description else { return }
            state.clock = max(state.clock, min(try rows.latest(of: account, db), .latest))
            try state.update(db)
        }
    }
}
