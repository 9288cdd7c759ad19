internal import GRDB
internal import StoreFormat
internal import StoreRecords
internal import UbiquityContainers

/// Performs the steps of an exchange, each by the type that implements it.
struct StepPerformer {
    let context: ExchangeContext
    /// Throws ``GivesWay`` if another process waits; called when all work so far is committed.
    let giveWay: () throws -> Void

    /// Performs a step.
    ///
    /// - Parameters:
    ///   - step: the step.
    ///   - content: the cache, which receives what is read.
    ///   - machine: the machine of the step, which receives facts about baselines and peers.
    /// - Returns: the outcome.
    /// - Throws: the error of the step.
    func perform(_ step: ExchangeStep, _ content: inout KnownContent, _ machine: inout ExchangeStateMachine) throws -> ExchangeOutcome {
        let state = content.state
        let keeper = PlaceKeeper(context: context)
        let scope = ExchangeScope(context, state)
        switch step {
        case .look: return .standing(try keeper.look(&content, machine))
        case .adopt: return .adopted(try keeper.adoptAll(giveWay))
        // In a container with a scope, marks prove nothing.
        case .readMarks: return .marked(context.scope == nil ? try keeper.markedEpoch(state) : state.epoch)
        case .enter(let epoch): try EpochEntry(context: context).enter(epoch, &content)
        case .checkAttachment:
            let found = keeper.attachment(state)
            // Another peer may have ended the epoch since the marks were read, and removed this peer's directories of it.
            if case .detached(.contentGone) = found, context.scope == nil, let marked = try? keeper.markedEpoch(state), marked > state.epoch {
                throw GivesWay()
            }
            return .attachment(found)
        case .suspend(let reason): context.post(.didSuspend(reason))
        case .resume: context.post(.didResume)
        case .restoreMark: try keeper.restoreMark(state)
        case .findPlace:
            let isRenewed = try keeper.findPlace(&content)
            return .place(epoch: content.state.epoch, isRenewed: isRenewed)
        case .attach: try keeper.attach(&content)
        case .findStranger(let amongAll): return .stranger(try keeper.findStranger(&content, amongAll: amongAll))
        case .takeNewIdentifier: try keeper.renew(&content)
        case .removeEnded: keeper.removeEnded(content, machine)
        case .giveWay: try giveWay()
        case .checkOutbox, .seal, .publish, .recheck, .list, .listFaulty, .plan, .joinLogs, .findHoles, .unite:
            return try exchangeLogs(step, LogExchange(scope: scope), &content, &machine)
        case .publishReceipt:
            context.progress.update { $0.isImporting = false }
            if context.scope == nil { try ReceiptWriter(scope: scope).publish(&machine.peers) }
        case .surveyBaselines, .passOver, .joinBaseline, .countLoose, .measureLoose, .checkAwaited, .checkStranded, .roll, .trim:
            return try exchangeBaselines(step, BaselineExchange(scope: scope), &content, &machine)
        case .readReceipts:
            return .receipts(try PeerReceipts(scope: scope).list(findsSilent: machine.rules.silenceLimit != nil))
        case .retire(let silent): try PeerReceipts(scope: scope).retire(silent, machine.peers)
        case .takeLease, .performTask, .wait, .fail: preconditionFailure("\(step) is the runner's own")
        }
        return .done
    }

    private func exchangeLogs(
        _ step: ExchangeStep, _ logs: LogExchange, _ content: inout KnownContent, _ machine: inout ExchangeStateMachine
    ) throws -> ExchangeOutcome {
        switch step {
        case .checkOutbox: return try logs.outbox()
        case .seal(let isDue): return .sealed(waits: try logs.seal(isDue: isDue))
        case .publish:
            // Logs that an import seals at its end are not saves that waited.
            if !machine.isImporting { Waypoint.publishCoalesced.pass() }
            try context.publisher.publish(from: context.file.pool, placing: { content.published.insert($0) }) { bytes in
                machine.shelf.looseBytes += bytes
                try giveWay()
            }
        case .recheck: try logs.recheck()
        case .list: try logs.list(&content, &machine.shelf)
        case .listFaulty: try logs.listFaulty(&content, &machine.shelf)
        case .plan(let isPassing): return try logs.plan(&content, isPassing: isPassing)
        case .joinLogs: return .logs(isRefused: try logs.join(&content, &machine.shelf))
        case .findHoles: return .holes(arePossible: try context.file.pool.read { db in try Holes(db).arePossible })
        default: try logs.unite()
        }
        return .done
    }

    private func exchangeBaselines(
        _ step: ExchangeStep, _ baselines: BaselineExchange, _ content: inout KnownContent, _ machine: inout ExchangeStateMachine
    ) throws -> ExchangeOutcome {
        let needs = BaselineNeeds(scope: baselines.scope)
        switch step {
        // In a container with a scope, only the bases that statements name are joined, with those statements.
        case .surveyBaselines where context.scope != nil: return .baselines([], isForked: false, knowsOthers: true)
        case .surveyBaselines: return try baselines.survey(content.inventory, &machine.shelf)
        case .passOver(let id, let obstacle): baselines.passOver(id, obstacle)
        case .joinBaseline(let id, let lag): return .baseline(isJoined: try baselines.join(id, lag: lag, &machine.shelf))
        case .countLoose:
            let inventory = machine.isListed ? content.inventory : nil
            return .loose(logs: try needs.countLoose(inventory, machine.peers.lastReceipt ?? Knowledge(), &machine.shelf))
        case .measureLoose: return .measured(bytes: try baselines.measureLoose(content.inventory, &machine.shelf))
        case .checkAwaited: return .awaited(try needs.isAwaited(content.inventory, machine.peers, &machine.shelf))
        case .checkStranded: return .stranded(try needs.areStranded(content.inventory, machine.peers, &machine.shelf))
        case .roll: return .rolled(try baselines.roll(&content.inventory))
        default: try BaselineTrimmer(scope: baselines.scope).trim(&content.inventory, machine.peers, &machine.shelf)
        }
        return .done
    }
}
