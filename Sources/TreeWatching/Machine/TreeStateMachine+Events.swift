extension TreeStateMachine {
    /// Handles raw events.
    /// - Parameters:
    ///   - bytes: Whole `struct inotify_event`s, in the kernel's order.
    ///   - offset: The offset of the first event; on return, the offset to continue at.
    ///   - instant: The time of the read.
    ///   - givingUp: Whether to settle halves of moves without a partner in `bytes`.
    /// - Returns: The reason for the return.
    mutating func receive(_ bytes: UnsafeRawBufferPointer, from offset: inout Int, at instant: Instant, givingUp: Bool) -> Progress {
        now = instant
        while offset < bytes.count {
            let event = RawEvent(bytes, at: offset)
            let progress = take(event, bytes, at: offset, givingUp: givingUp)
            if progress == .stalled || progress == .probe { return progress }
            offset += event.size
            if !work.isEmpty { return .work }
        }
        return .done
    }

    /// Answers ``Progress/probe``.
    mutating func answer(exists: Bool) { probeAnswer = exists }

    @inline(__always)
    private mutating func take(_ event: RawEvent, _ bytes: UnsafeRawBufferPointer, at offset: Int, givingUp: Bool) -> Progress {
        guard let node = index.node(watching: event.watch) else {
            takeForeign(event)
            return .done
        }
        let name = event.name(bytes, at: offset)
        if name.isEmpty {
            takeSelf(event, node)
            return .done
        }
        let isDirectory = event.mask.contains(.isDirectory)
        switch event.mask.rawValue & 0xFFF {
        case RawEvent.Mask.modify.rawValue: takeModified(node, name)
        case RawEvent.Mask.closeWrite.rawValue:
            if let file = index.child(of: node, named: name), !index.isDirectory(file) { emitClosed(file) }
        case RawEvent.Mask.create.rawValue: takeCreated(node, name, isDirectory: isDirectory)
        case RawEvent.Mask.delete.rawValue:
            // An event about another type of entry concerns an entry that had this name before.
            if let entry = index.child(of: node, named: name), index.isDirectory(entry) == isDirectory {
                if isDirectory, !fresh.isEmpty || !vanished.isEmpty { noteRemoval(of: entry) }
                drop(entry, unwatch: false)
            }
        case RawEvent.Mask.movedFrom.rawValue:
            return takeMove(event, from: node, name, bytes, after: offset + event.size, givingUp: givingUp)
        case RawEvent.Mask.movedTo.rawValue:
            if let consumed = consumedCookies.firstIndex(of: event.cookie) {
                consumedCookies.remove(at: consumed)
            } else {
                takeArrival(node, name, isDirectory: isDirectory)
            }
        case RawEvent.Mask.attributes.rawValue:
            guard attributes, let entry = index.child(of: node, named: name) else { break }
            if !index.isDirectory(entry) { markDirty(entry) }
            emit(.attributes, entry)
        default: break
        }
        return .done
    }

    /// Handles an event of the queue itself, or of a directory above the root; others come from removed watches.
    private mutating func takeForeign(_ event: RawEvent) {
        if event.mask.contains(.queueOverflow) {
            // The lost events may include the root's return.
            if case .lost = phase { return requestRootCheck() }
            overflows += 1
            if phase != .rescanning { emit(.overflow) }
            phase = .rescanning
            work.append(.refresh(.root, [.recursive, .lossy]))
        } else if ancestorWatches.contains(event.watch) {
            let concernsPath = !event.mask.isDisjoint(with: [.moveSelf, .deleteSelf, .unmount, .ignored])
            if event.mask.contains(.moveSelf) { rootHasMoved = true }
            if case .lost = phase {
                if concernsPath || !event.mask.isDisjoint(with: [.create, .movedTo]) { requestRootCheck() }
            } else if concernsPath {
                requestRootCheck()
            }
        }
    }

    mutating func requestRootCheck() {
        if !work.contains(.checkRoot) { work.append(.checkRoot) }
    }

    /// Records that a file system has been mounted or unmounted; it may contain the root.
    mutating func mountsChanged() {
        mountsHaveChanged = true
        requestRootCheck()
    }

    /// Handles an event of the directory itself.
    private mutating func takeSelf(_ event: RawEvent, _ node: Node) {
        if node == .root {
            if event.mask.contains(.unmount) {
                loseRoot(.unmounted)
            } else if !event.mask.isDisjoint(with: [.deleteSelf, .ignored]) {
                loseRoot(.deleted)
            } else if event.mask.contains(.moveSelf) {
                rootHasMoved = true
                requestRootCheck()
            } else if event.mask.contains(.attributes), attributes {
                emit(.attributes, node)
            }
        } else if event.mask.contains(.ignored) {
            // The watch descriptor finds the node, so the node is the one that ended, not a later one with its name.
            // The parent's events tell whether the entry is gone; if none has when the queue is drained, the machine
            // looks at the entry.
            index.setWatch(nil, of: node)
            vanished.append(node)
        }
    }

    private mutating func takeModified(_ parent: Node, _ name: UnsafeRawBufferPointer) {
        guard let file = index.child(of: parent, named: name) else {
            // The write overtook the event of the file's arrival, or the file is excluded.
            if exclusion.isEmpty || !exclusion.excludes(name, isDirectory: false, in: parent, of: index) {
                doubts.append(Place(directory: parent, name: Array(name)))
            }
            return
        }
        if index.isDirectory(file) { return }
        markDirty(file)
        emit(.modified, file)
    }

    private mutating func emitClosed(_ file: Node) { if reportsCloses { emit(.closed, file) } }

    private mutating func takeCreated(_ parent: Node, _ name: UnsafeRawBufferPointer, isDirectory: Bool) {
        if let known = index.child(of: parent, named: name) {
            if index.isDirectory(known) == isDirectory {
                // A scan found the entry before the event.
                if isDirectory, index.watch(of: known) == nil { work.append(.refresh(known, [.recursive])) }
                return
            }
            drop(known, unwatch: true)
        }
        add(name, in: parent, isDirectory: isDirectory, as: .created)
    }

    /// Handles an entry that moved here from outside or from an unknown place.
    mutating func takeArrival(_ parent: Node, _ name: UnsafeRawBufferPointer, isDirectory: Bool) {
        if let known = index.child(of: parent, named: name) {
            if index.isDirectory(known) != isDirectory {
                drop(known, unwatch: true)
            } else if isDirectory {
                // It is either the directory that a scan found or another one in its place; the watch descriptor
                // decides.
                work.append(.refresh(known, []))
                return
            } else if index.foundEpoch(of: known) == epoch {
                doubts.append(Place(directory: parent, name: Array(name)))
                return
            } else {
                markDirty(known)
                emit(.modified, known)
                return
            }
        }
        add(name, in: parent, isDirectory: isDirectory, as: .arrived)
    }

    /// Prepares for the removal of a directory: watches that were bound after it must be bound again.
    private mutating func noteRemoval(of directory: Node) {
        fresh.removeAll { index.isAlive($0.directory) && index.isNode($0.directory, atOrBelow: directory) }
        vanished.removeAll { index.isAlive($0) && index.isNode($0, atOrBelow: directory) }
    }

    /// Records that the root has left its path.
    ///
    /// The known state stays, so that the differences can be reported when the root returns.
    mutating func loseRoot(_ loss: TreeChange.RootLoss) {
        if case .lost = phase { return }
        phase = .lost(loss)
        for node in index.postorder(.root) where index.isDirectory(node) {
            if let watch = index.watch(of: node) {
                staleWatches.append(watch)
                index.setWatch(nil, of: node)
            }
        }
        incomplete.removeAll()
        vanished.removeAll()
        doubts.removeAll()
        fresh.removeAll()
        work = [.checkRoot]
        emit(.rootLost, loss: loss)
    }
}
