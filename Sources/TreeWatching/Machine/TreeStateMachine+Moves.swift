/// Moves. The kernel raises both halves of a rename while it holds the locks of both parents, one after the other, with
/// one cookie (fsnotify_move). No event of another entry of either directory can come between them, so such an event
/// proves that the partner does not come.
extension TreeStateMachine {
    private enum Partner {
        case at(Int)
        /// The partner certainly does not come.
        case absent
        /// The bytes end before the decision.
        case unknown
    }

    /// Handles the first half of a move, together with the second if that is also in this tree.
    mutating func takeMove(
        _ event: RawEvent, from parent: Node, _ name: UnsafeRawBufferPointer, _ bytes: UnsafeRawBufferPointer, after: Int, givingUp: Bool
    ) -> Progress {
        // The first pair of the exchange already included this one.
        if consumedCookies.contains(event.cookie) { return .done }
        let isDirectory = event.mask.contains(.isDirectory)
        switch partner(of: event, bytes, after: after) {
        case .at(let position):
            let second = RawEvent(bytes, at: position)
            guard let target = index.node(watching: second.watch) else { break }
            let newName = second.name(bytes, at: position)
            let move = Move(
                from: (parent, event.watch, name), to: (target, second.watch, newName), isDirectory: isDirectory, after: position + second.size)
            let progress = apply(move, bytes, givingUp: givingUp)
            if progress == .done {
                consumedCookies.append(event.cookie)
                noteMove(move)
            }
            return progress
        case .unknown where !givingUp: return .stalled
        case .absent, .unknown: break
        }
        if let entry = index.child(of: parent, named: name), index.isDirectory(entry) == isDirectory { drop(entry, unwatch: true) }
        // After an exchange with a place outside the tree, an entry still has this name, and earlier events described
        // it.
        doubts.append(Place(directory: parent, name: Array(name)))
        return .done
    }

    private func partner(of event: RawEvent, _ bytes: UnsafeRawBufferPointer, after start: Int) -> Partner {
        var offset = start
        while offset < bytes.count {
            let other = RawEvent(bytes, at: offset)
            if other.mask.contains(.movedTo), other.cookie == event.cookie { return .at(offset) }
            if other.watch == event.watch, !other.mask.isDisjoint(with: .entry) { return .absent }
            if other.mask.contains(.queueOverflow) { return .absent }
            offset += other.size
        }
        return .unknown
    }

    private struct Move {
        typealias Place = (directory: Node, watch: Int32, name: UnsafeRawBufferPointer)
        var from: Place
        var to: Place
        var isDirectory: Bool
        /// The offset of the events after its second half.
        var after: Int
    }

    private mutating func apply(_ move: Move, _ bytes: UnsafeRawBufferPointer, givingUp: Bool) -> Progress {
        let (parent, target) = (move.from.directory, move.to.directory)
        guard let entry = index.child(of: parent, named: move.from.name), index.isDirectory(entry) == move.isDirectory else {
            takeArrival(target, move.to.name, isDirectory: move.isDirectory)
            return .done
        }
        if index.isDirectory(entry), index.isNode(target, atOrBelow: entry) { return giveUpOn(entry) }
        if let replaced = index.child(of: target, named: move.to.name), replaced != entry {
            if index.isNode(entry, atOrBelow: replaced) { return giveUpOn(replaced) }
            switch exchange(of: move, bytes) {
            case .found(let second):
                swap(entry, replaced, move)
                consumedCookies.append(second)
                return .done
            case .unknown where !givingUp && probeAnswer != false:
                // The second pair of an exchange may follow, but only if an entry exists at the old name.
                if probeAnswer == true { return .stalled }
                probedPath = path(of: entry)
                return .probe
            case .absent, .unknown: break
            }
            probeAnswer = nil
            replace(replaced, by: entry, move)
            return .done
        }
        probeAnswer = nil
        if !exclusion.isEmpty, exclusion.excludes(move.to.name, isDirectory: move.isDirectory, in: target, of: index) {
            drop(entry, unwatch: true)
            return .done
        }
        relocate(entry, to: target, move.to.name, as: .moved)
        return .done
    }

    /// Records a move, and detects the second pair of an exchange.
    ///
    /// A move that leads back to the start of the last move may be the second pair of an exchange that was not
    /// recognised, because an entry was unknown or the pair was read later. In that case an entry exists at the start
    /// of this move.
    private mutating func noteMove(_ move: Move) {
        if let last = lastMove, last.to == move.from.directory, last.from == move.to.directory, last.newName.elementsEqual(move.from.name),
            last.name.elementsEqual(move.to.name)
        {
            doubts.append(Place(directory: last.to, name: last.newName))
            doubts.append(Place(directory: last.from, name: last.name))
        }
        lastMove = (move.from.directory, Array(move.from.name), move.to.directory, Array(move.to.name))
    }

    /// Gives up on a move that is impossible for the known entries, because watches were bound ahead of the events.
    ///
    /// A scan finds the affected entries again.
    private mutating func giveUpOn(_ entry: Node) -> Progress {
        probeAnswer = nil
        drop(entry, unwatch: true)
        work.append(.refresh(.root, [.recursive, .lossy]))
        return .done
    }

    /// Moves an entry to its new place, and reports the move.
    private mutating func relocate(_ entry: Node, to target: Node, _ name: UnsafeRawBufferPointer, as code: TreeChangeRecord.Code) {
        let source = path(of: entry)
        index.move(entry, to: target, named: name)
        if index.isDirectory(entry) {
            changes.forgetPaths()
            if index.watch(of: entry) == nil { work.append(.refresh(entry, [.recursive])) }
            if !fresh.isEmpty || !vanished.isEmpty { verifyFresh(below: entry) }
        }
        emitMove(code, entry, source: source)
    }

    private mutating func replace(_ replaced: Node, by entry: Node, _ move: Move) {
        let areFiles = !move.isDirectory && !index.isDirectory(replaced)
        if areFiles {
            index.remove(replaced)
        } else {
            drop(replaced, unwatch: false)
        }
        relocate(entry, to: move.to.directory, move.to.name, as: areFiles ? .modified : .moved)
    }

    private enum WayBack {
        /// The cookie of the second pair.
        case found(UInt32)
        case absent
        /// The bytes end before the decision.
        case unknown
    }

    /// Finds the second pair of a renameat2(2) exchange: the next event of either directory is the move back.
    private func exchange(of move: Move, _ bytes: UnsafeRawBufferPointer) -> WayBack {
        var offset = move.after
        var way: UInt32?
        while offset < bytes.count {
            let event = RawEvent(bytes, at: offset)
            let name = event.name(bytes, at: offset)
            defer { offset += event.size }
            guard !event.mask.isDisjoint(with: .entry) else { continue }
            if let cookie = way {
                guard event.mask.contains(.movedTo), event.cookie == cookie else { continue }
                return event.watch == move.from.watch && name.elementsEqual(move.from.name) ? .found(cookie) : .absent
            }
            guard event.watch == move.from.watch || event.watch == move.to.watch else { continue }
            guard event.mask.contains(.movedFrom), event.watch == move.to.watch, name.elementsEqual(move.to.name) else {
                return .absent
            }
            way = event.cookie
        }
        return .unknown
    }

    /// Exchanges two entries.
    ///
    /// Two renames that undo each other over a file raise equal events, so the machine looks at both places.
    private mutating func swap(_ entry: Node, _ other: Node, _ move: Move) {
        probeAnswer = nil
        let (source, target) = (path(of: entry), path(of: other))
        index.exchange(entry, other)
        changes.forgetPaths()
        emitMove(.moved, entry, source: source, isExchange: true)
        emitMove(.moved, other, source: target, isExchange: true)
        doubts.append(Place(directory: move.from.directory, name: Array(move.from.name)))
        doubts.append(Place(directory: move.to.directory, name: Array(move.to.name)))
        for node in [entry, other] where index.isDirectory(node) && !(fresh.isEmpty && vanished.isEmpty) { verifyFresh(below: node) }
    }
}
