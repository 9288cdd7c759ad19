import SystemPackage

// Decides which presenters are asked before a claim is granted, and which are told after it has ended.
extension Arbiter {
    /// The questions to one presenter about a claim, collected over all items of the claim.
    private struct Questions {
        var relinquish: PresenterMessage?
        var saves = false
        var accommodatesDeletion = false
        var accommodatesEviction = false
        var subitemDeletions: [FilePath] = []

        /// The questions in their order: relinquish, then save, then accommodate.
        var messages: [PresenterMessage] {
            var messages: [PresenterMessage] = []
            if let relinquish { messages.append(relinquish) }
            if saves { messages.append(.saveChanges) }
            if accommodatesDeletion { messages.append(.accommodateDeletion) }
            if accommodatesEviction { messages.append(.accommodateEviction) }
            return messages + subitemDeletions.map { .accommodateSubitemDeletion($0) }
        }
    }

    /// Returns the questions that presenters must answer before a claim is granted.
    func questions(of claim: Claim) -> [(PresenterID, PresenterMessage)] {
        guard trie.presenterCount > 0 else { return [] }
        var order: [PresenterID] = []
        var questions: [PresenterID: Questions] = [:]
        func ask(_ presenters: some Sequence<PresenterID>, _ add: (inout Questions) -> Void) {
            for presenter in presenters where presenter != claim.request.presenter {
                if questions[presenter] == nil { order.append(presenter) }
                add(&questions[presenter, default: Questions()])
            }
        }
        for (index, item) in claim.items.enumerated() {
            let (enclosing, own) = trie.presenters(of: item, at: claim.place(of: index))
            guard !enclosing.isEmpty || !own.isEmpty || claim.request.isPreparation || item.access.coversDescendants else { continue }
            let packages = enclosing.filter { item.packageDepths.contains($0.depth) }.map(\.presenter)
            let concerned = packages + own
            let below = claim.request.isPreparation || item.access.coversDescendants ? trie.presenters(below: item.path) : []
            switch item.access {
            case .read(let options):
                if !claim.request.isPreparation { ask(concerned) { $0.relinquish = $0.relinquish ?? .relinquishToReader } }
                if !options.contains(.withoutChanges) { ask(concerned + below) { $0.saves = true } }
            case .write(let options):
                if !claim.request.isPreparation { ask(concerned + below) { $0.relinquish = .relinquishToWriter } }
                if options.contains(.forMerging) { ask(concerned + below) { $0.saves = true } }
                if options.contains(.forEvicting) { ask(own + below) { $0.accommodatesEviction = true } }
                guard !options.isDisjoint(with: .deleting) else { continue }
                ask(own + below) { $0.accommodatesDeletion = true }
                if !claim.request.isPreparation { ask(enclosing.map(\.presenter)) { $0.subitemDeletions.append(item.path) } }
            }
        }
        return order.flatMap { presenter in (questions[presenter]?.messages ?? []).map { (presenter, $0) } }
    }

    /// Returns whether any presenter would be told about a change of an item.
    func hasAudience(_ index: Int, _ claim: Claim, ownIncluded: Bool) -> Bool {
        let item = claim.items[index]
        let (enclosing, own) = trie.presenters(of: item, at: claim.place(of: index))
        func counts(_ presenter: PresenterID) -> Bool { ownIncluded || presenter != claim.request.presenter }
        return own.contains(where: counts) || enclosing.contains { counts($0.presenter) }
            || (item.access.coversDescendants && trie.presenters(below: item.path).contains(where: counts))
    }

    /// Tells presenters about the possible changes by a claim: first moves, then other changes.
    mutating func tellOfChanges(by claim: Claim, _ observations: [Observation], _ actions: inout [ArbiterAction]) {
        for note in claim.moveNotes { send(note, &actions) }
        guard trie.presenterCount > 0, !claim.request.isPreparation, !claim.isDelegation else { return }
        var told: Set<Note> = []
        for note in claim.moveNotes { told.insert(Note(presenter: note.presenter, message: note.message)) }
        for (index, item) in claim.items.enumerated() where item.access.writes {
            let observation = index < observations.count ? observations[index] : Observation(existedBefore: true, existsAfter: true)
            // Presenters already know about the items that a claim for moving moved. Other claims may also have changed
            // them.
            let isMoved = index >= claim.request.items.count
            guard !isMoved || item.access != .write(.forMoving) else { continue }
            let leftBehind = claim.moves.contains { $0.from == item.path } && !observation.existsAfter
            guard !leftBehind else { continue }
            let (enclosing, own) = trie.presenters(of: item, at: claim.place(of: index))
            let arrival = claim.moves.last { $0.to == item.path }
            // The move already tells presenters about an item that a claim for moving put here: as a move, or as an
            // appearance near the new place.
            let isToldAsMove = arrival.map(claim.merelyMoved) ?? false
            func hasMoved(_ presenter: PresenterID) -> Bool {
                isToldAsMove && claim.moveNotes.contains { $0.presenter == presenter && $0.message.isMove }
            }
            let appeared = arrival == nil && !observation.existedBefore && observation.existsAfter
            for presenter in own where !hasMoved(presenter) { tell(presenter, .didChange) }
            for (_, presenter) in enclosing where !isToldAsMove {
                tell(presenter, appeared ? .subitemDidAppear(item.path) : .subitemDidChange(item.path))
            }
            guard item.access.coversDescendants, !isMoved else { continue }
            for presenter in trie.presenters(below: item.path) where !hasMoved(presenter) { tell(presenter, .didChange) }
        }
        func tell(_ presenter: PresenterID, _ message: PresenterMessage) {
            guard presenter != claim.request.presenter, told.insert(Note(presenter: presenter, message: message)).inserted else { return }
            send(delivery(of: message, to: presenter, cause(of: claim)), &actions)
        }
    }

    private struct Note: Hashable {
        let presenter: PresenterID
        let message: PresenterMessage
    }

    // MARK: Moves

    /// Records a move by a claim's accessor: all paths follow at once, and presenters are told after the accessor
    /// returns.
    mutating func note(_ move: Move, by id: ClaimID, _ actions: inout [ArbiterAction]) {
        guard let mover = claims[id], mover.isHeld, move.from != move.to else { return }
        retarget(move, by: id)
        var notes: [Delivery] = []
        let cause = cause(of: mover)
        func note(_ presenter: PresenterID, _ message: PresenterMessage) {
            guard presenter != mover.request.presenter else { return }
            let delivery = delivery(of: message, to: presenter, cause)
            if case .didMove = message { presenters[presenter]?.unhandledMoves.add(move, toldBy: delivery.id) }
            notes.append(delivery)
        }
        let moved = trie.presenters(at: move.from).item + trie.presenters(below: move.from)
        let leaving = trie.presenters(at: move.from).enclosing.map(\.presenter)
        let receiving = trie.presenters(at: move.to).enclosing.map(\.presenter)
        for presenter in moved {
            guard let path = presenters[presenter]?.path?.moved(from: move.from, to: move.to) else { continue }
            relocate(presenter, to: path)
            note(presenter, .didMove(path))
        }
        for presenter in leaving { note(presenter, .subitemDidMove(from: move.from, to: move.to)) }
        for presenter in receiving where !leaving.contains(presenter) { note(presenter, .subitemDidAppear(move.to)) }
        claims[id]?.moveNotes += notes
        claims[id]?.moves.append(move)
    }

    /// Makes every claim follow a move, except claims on a name.
    ///
    /// The mover keeps the old name and gets the new one too.
    private mutating func retarget(_ move: Move, by mover: ClaimID) {
        var changed = false
        for id in inOrder(claims.keys) {
            guard let claim = claims[id] else { continue }
            if id == mover {
                let gained = claim.items.compactMap { $0.moved(move) }
                claims[id]?.items += gained
                claims[id]?.places += gained.map { trie.stand(id, on: $0) }
                continue
            }
            for (index, item) in claim.items.enumerated() where claim.isHeld || !item.access.keepsName {
                guard let moved = item.moved(move) else { continue }
                changed = true
                claims[id]?.items[index] = moved
                guard !claim.request.isPreparation else { continue }
                trie.leave(id, item, at: claim.places[index])
                claims[id]?.places[index] = trie.stand(id, on: moved)
            }
        }
        // A waiting claim may now conflict with other claims than before.
        if changed { agenda += inOrder(claims.keys.filter { claims[$0]?.isHeld == false }) }
    }

    // MARK: Attributes and versions

    /// Tells the presenters of an item about changed ubiquity attributes; each presenter hears only of attributes that
    /// it observes.
    mutating func tell(ofAttributes attributes: Set<String>, at path: FilePath, _ cause: Cause, _ actions: inout [ArbiterAction]) {
        for presenter in trie.presenters(at: path).item {
            let observed = attributes.intersection(presenters[presenter]?.observedAttributes ?? [])
            guard !observed.isEmpty else { continue }
            send(delivery(of: .didChangeUbiquityAttributes(observed), to: presenter, cause), &actions)
        }
    }

    /// Tells the presenters of an item and of its enclosing directories about a version, including the presenter that
    /// made it.
    mutating func tell(
        of event: PresenterMessage.VersionEvent, _ version: String, at path: FilePath, _ cause: Cause, _ actions: inout [ArbiterAction]
    ) {
        let (enclosing, own) = trie.presenters(at: path)
        for presenter in own { send(delivery(of: .version(event, version), to: presenter, cause), &actions) }
        for (_, presenter) in enclosing { send(delivery(of: .subitemVersion(event, version, path), to: presenter, cause), &actions) }
    }
}
