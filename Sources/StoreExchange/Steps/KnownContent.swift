internal import StoreAuthority
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import TreeWatching
internal import UbiquityContainers

/// A cache of a store's file and content, which hold the truth and can be read again.
struct KnownContent {
    /// The store's state, as last read under the lease.
    var state: StoreState
    /// The writer's last known `PRAGMA data_version`; another value means that another process has committed.
    var dataVersion: Int64?
    /// The number of the last change in the store's history when the data version was read.
    var lastChange: Int64?
    /// The known logs and baselines, while the machine counts them as listed.
    var inventory = ContentInventory()
    /// Files that have arrived in this store's own directory and have not been examined.
    var arrivals: [LogFileName] = []
    /// The logs that this exchange has published, and whose arrival the watcher has not reported yet.
    var published: Set<LogFileName> = []
    /// The logs to join next.
    var plan = ImportPlan()
    /// The statements of a container with a scope, as last read; nil for a plain container.
    var authority: Authority?
    /// The number of the last save of statements when they were read.
    var authorityGeneration: Int64?
    /// The logs that the bases of the domains hold.
    var held: [Domain: Knowledge] = [:]
    /// Proves the logs of a container with a scope; nil for a plain container.
    var proof: LogProof? { authority.map { LogProof(authority: $0, held: held) } }
    /// The head of a public place that has been taken in whole.
    var takenHead: StatementIdentifier?
    /// The files of statements that have been found to be faulty.
    var faultyStatements: [FilePath: ScopeDirectory.Faulty] = [:]

    init(_ state: StoreState) { self.state = state }

    /// Takes in the changes that a watcher saw below the container.
    ///
    /// - Parameters:
    ///   - batch: the changes.
    ///   - context: the context, with the content's layout.
    ///   - machine: the machine that learns the meaning of the changes.
    /// - Returns: whether a change is a reason to exchange.
    mutating func note(_ batch: TreeChangeBatch, _ context: ExchangeContext, _ machine: inout ExchangeStateMachine) -> Bool {
        let marks = context.container.map { PathPrefix($0.markDirectory) }
        let statements = context.scope.map { [PathPrefix($0.directory.authority), PathPrefix($0.directory.accounts)] } ?? []
        return batch.reduce(false) { isReason, change in
            if statements.contains(where: { prefix in change.withPathBytes { prefix.rest(of: $0) != nil } }) {
                // A new statement may let logs in that wait, or make others have no effect.
                machine.forgetListing()
                return true
            }
            return note(change, in: context.layout, marks: marks, &machine) || isReason
        }
    }

    private mutating func note(_ change: TreeChange, in layout: ContentLayout, marks: PathPrefix?, _ machine: inout ExchangeStateMachine) -> Bool {
        switch change.kind {
        case .attributes: return false
        case .ready, .overflow, .rescanned, .rootLost, .rootBack:
            machine.forgetListing()
            return true
        case .created, .modified, .moved, .removed:
            let place = change.withPathBytes(layout.place), source = change.withSourceBytes(layout.place)
            if case .receipt(let owner) = place, owner != state.peer { return machine.noteReceipt(at: .now) }
            func isMark(_ path: UnsafeRawBufferPointer) -> Bool { marks?.rest(of: path) != nil }
            let isOfMarks = change.withPathBytes(isMark) || change.withSourceBytes(isMark) == true
            guard place.isReason || source?.isReason == true || isOfMarks else { return false }
            // The rename by which this exchange published a log.
            if change.kind != .removed, source?.isReason != true, case .log(state.peer, epoch: machine.epoch, let name) = place,
                published.remove(name) != nil
            {
                return false
            }
            guard machine.isListed else { return true }
            if let source { enter(source, isThere: false, &machine) }
            enter(place, isThere: change.kind != .removed, &machine)
            // The watcher reports the entries of a new directory, but the rename of a whole tree as one change.
            if change.kind == .moved, change.isDirectory { machine.forgetListing() }
            return true
        }
    }

    private mutating func enter(_ place: ContentPlace, isThere: Bool, _ machine: inout ExchangeStateMachine) {
        switch place {
        case .baseline(let id, epoch: machine.epoch):
            machine.shelf.changed(id, isThere: isThere)
            if isThere { inventory.baselines.insert(id) } else { inventory.baselines.remove(id) }
        case .log(state.peer, epoch: machine.epoch, let name): if isThere { arrivals.append(name) }
        case .log(let author, epoch: machine.epoch, let name):
            if isThere { inventory.insert(name, of: author) } else { inventory.remove(name, of: author) }
        default: break
        }
    }
}

extension ContentPlace {
    /// Whether a change at this place can be a reason to exchange.
    fileprivate var isReason: Bool {
        switch self {
        case .log, .baseline, .other, .above: true
        case .receipt, .aside, .elsewhere: false
        }
    }
}
