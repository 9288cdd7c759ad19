import SystemPackage

/// Watches and lists directories: first the watch, then the listing, then the removal of duplicates, so that no change
/// is missed.
extension TreeStateMachine {
    /// Handles the result of adding a watch for `node`.
    mutating func watched(_ node: Node, _ result: Result<Int32, Errno>, mode: RefreshMode) -> AfterWatch {
        switch result {
        case .success(let watch):
            if index.watch(of: node) == watch {
                announce(node, mode)
                if mode.isDisjoint(with: [.recursive, .lossy, .verifying]) { return .skip }
                return .list(mode.subtracting(.announce))
            }
            if let known = index.node(watching: watch) { return .verify(known, watch: watch) }
            return bind(node, to: watch, mode)
        case .failure(let errno):
            return unwatched(node, errno, mode)
        }
    }

    /// Handles the result of adding a watch again for the known directory of `watch`.
    /// - Parameters:
    ///   - node: The directory for which `watch` was returned now.
    ///   - watch: The watch descriptor.
    ///   - known: The directory that had this watch before.
    ///   - result: The result of adding a watch at the known path.
    ///   - mode: How `node` is refreshed.
    /// - Returns: The next step for `node`.
    mutating func verified(_ node: Node, _ watch: Int32, known: Node, _ result: Result<Int32, Errno>, mode: RefreshMode) -> AfterWatch {
        switch result {
        case .success(watch):
            // A bind mount shows one directory at two paths: the first path stays watched.
            announce(node, mode)
            return .skip
        case .success(let other):
            // Another directory is at the known path, so the binding was wrong.
            if let third = index.node(watching: other) {
                index.setWatch(nil, of: third)
                vanished.append(third)
            }
            index.setWatch(other, of: known)
            work.append(.refresh(known, [.recursive, .lossy]))
            return bind(node, to: watch, mode)
        case .failure:
            guard mode.contains(.announce), known != .root, !index.isNode(node, atOrBelow: known), let parent = index.parent(of: node) else {
                index.setWatch(nil, of: known)
                vanished.append(known)
                return bind(node, to: watch, mode)
            }
            // The directory moved here, and the move's events were lost or had no watch.
            let source = path(of: known)
            if let old = index.parent(of: known) { doubts.append(Place(directory: old, name: index.withName(of: known) { Array($0) })) }
            let name = index.withName(of: node) { Array($0) }
            let seen = index.isSeen(node)
            index.remove(node)
            name.withUnsafeBytes { index.move(known, to: parent, named: $0) }
            index.setMissing(known, false)
            index.setSeen(known, seen)
            index.setFoundEpoch(epoch, of: known)
            changes.forgetPaths()
            emitMove(.moved, known, source: source)
            work.append(.refresh(known, mode.subtracting(.announce)))
            return .skip
        }
    }

    private mutating func announce(_ node: Node, _ mode: RefreshMode) {
        if mode.contains(.announce) { emit(.arrived, node) }
    }

    private mutating func bind(_ node: Node, to watch: Int32, _ mode: RefreshMode) -> AfterWatch {
        var mode = mode
        if let old = index.watch(of: node) {
            // Another directory than the known one is here.
            staleWatches.append(old)
            mode.formUnion([.recursive, .lossy])
        } else if index.hasChildren(node) {
            mode.formUnion([.recursive, .lossy])
        }
        index.setWatch(watch, of: node)
        incomplete[node] = nil
        announce(node, mode)
        return .list(mode.union(.recursive).subtracting([.announce, .verifying]))
    }

    private mutating func unwatched(_ node: Node, _ errno: Errno, _ mode: RefreshMode) -> AfterWatch {
        if let old = index.watch(of: node) {
            staleWatches.append(old)
            index.setWatch(nil, of: node)
        }
        announce(node, mode)
        switch errno {
        case .noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels:
            if node == .root { requestRootCheck() } else { vanished.append(node) }
            return .skip
        case .permissionDenied, .notPermitted:
            noteIncomplete(node, errno)
            return .skip
        default:
            noteIncomplete(node, errno)
            return .list(mode.union([.recursive]).subtracting(.announce))
        }
    }

    /// Records one diagnostic for the topmost directory that is not watched.
    private mutating func noteIncomplete(_ node: Node, _ errno: Errno) {
        if incomplete.updateValue(errno, forKey: node) != nil { return }
        if let parent = index.parent(of: node), incomplete[parent] == errno { return }
        if errno == .noSpace, incomplete.contains(where: { $0.key != node && $0.value == .noSpace }) { return }
        diagnostics.append(.subtree(changes.filePath(of: path(of: node)), errno))
    }

    /// The tops of the subtrees that are not watched now, for a watcher that comes late.
    var presentDiagnostics: [TreeWatchingError] {
        var hasLimit = false
        return incomplete.compactMap { node, errno in
            if let parent = index.parent(of: node), incomplete[parent] == errno { return nil }
            if errno == .noSpace, hasLimit { return nil }
            hasLimit = hasLimit || errno == .noSpace
            return .subtree(changes.filePath(of: path(of: node)), errno)
        }
    }

    /// Handles a listing of `node`.
    mutating func listed(_ node: Node, _ listing: borrowing DirectoryListing, mode: RefreshMode) {
        fresh.append(Listed(directory: node, identity: listing.identity))
        // The directory is unchanged: the events about changes in it are still unread.
        if mode == .verifying, listedBefore[node] == listing.identity { return }
        let hadChildren = index.hasChildren(node)
        let below = mode.subtracting(.announce)
        for position in listing.entries.indices {
            let entry = listing.entries[position]
            listing.withName(of: entry) { name in
                take(entry, name, in: node, below, hadChildren: hadChildren)
            }
        }
        guard hadChildren else { return }
        var gone: [Node] = []
        index.forEachChild(of: node) { if !index.isSeen($0) { gone.append($0) } }
        for position in listing.entries.indices {
            let entry = listing.entries[position]
            if let child = listing.withName(of: entry, { index.child(of: node, named: $0) }) { index.setSeen(child, false) }
        }
        // If no events were lost, the queue still contains the events about these entries.
        guard !mode.isDisjoint(with: .comparing) else { return }
        for child in gone {
            index.setMissing(child, true)
            missing.append(child)
        }
    }

    private mutating func take(
        _ entry: DirectoryListing.Entry, _ name: UnsafeRawBufferPointer, in node: Node, _ mode: RefreshMode, hadChildren: Bool
    ) {
        if let known = index.child(of: node, named: name) {
            if index.isDirectory(known) == entry.isDirectory {
                index.setSeen(known, true)
                index.setMissing(known, false)
                if entry.isDirectory {
                    if mode.contains(.recursive) || index.watch(of: known) == nil { work.append(.refresh(known, mode)) }
                } else {
                    compare(known, entry.stamp, changed: entry.changed, mode)
                }
                return
            }
            drop(known, unwatch: true)
        }
        if !exclusion.isEmpty, exclusion.excludes(name, isDirectory: entry.isDirectory, in: node, of: index) { return }
        let child = index.insert(name, in: node, isDirectory: entry.isDirectory)
        index.setFoundEpoch(epoch, of: child)
        if hadChildren { index.setSeen(child, true) }
        if entry.isDirectory {
            work.append(.refresh(child, mode.union([.announce, .recursive])))
        } else {
            index.setStamp(entry.stamp, of: child)
            emit(.arrived, child)
        }
    }

    /// Compares a known file with its current state.
    ///
    /// A file that changed after the queue was last drained counts as changed, because its events may have come before
    /// or after the loss.
    private mutating func compare(_ file: Node, _ stamp: FileStamp, changed: Int64, _ mode: RefreshMode) {
        if mode.isDisjoint(with: .comparing) { return }
        if index.isDirty(file) {
            // The change was already reported, or its events are still unread.
            if !mode.contains(.lossy) { return }
            if changed > quietSince - Self.clockSlack { emit(.modified, file) }
        } else {
            let known = index.stamp(of: file)
            if known.content != stamp.content {
                emit(.modified, file)
            } else if attributes, known.attributes != stamp.attributes {
                emit(.attributes, file)
            }
        }
        index.setStamp(stamp, of: file)
    }

    /// File times come from the kernel's coarse clock, which is at most 10 ms behind.
    private static let clockSlack: Int64 = 10_000_000

    /// Handles a failure to list `node`.
    mutating func unlisted(_ node: Node, _ errno: Errno) {
        fresh.append(Listed(directory: node, identity: 0))
        switch errno {
        case .noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels:
            if node == .root { requestRootCheck() } else { vanished.append(node) }
        default: noteIncomplete(node, errno)
        }
    }

    /// Handles the end of a listing whose watch did not fail.
    mutating func completed(_ node: Node) {
        if !incomplete.isEmpty, index.watch(of: node) != nil { incomplete[node] = nil }
    }

    /// Handles the status of one name; nil if there is no entry.
    mutating func looked(at name: [UInt8], in parent: Node, _ status: EntryStatus?) {
        name.withUnsafeBytes { name in
            let known = index.child(of: parent, named: name)
            guard let status else {
                if let known { drop(known, unwatch: true) }
                return
            }
            if let known {
                if index.isDirectory(known) != status.isDirectory {
                    drop(known, unwatch: true)
                } else if status.isDirectory {
                    work.append(.refresh(known, index.watch(of: known) == nil ? [.recursive, .lossy] : []))
                    return
                } else {
                    if !index.isDirty(known), index.stamp(of: known).content != status.stamp.content { emit(.modified, known) }
                    index.setStamp(status.stamp, of: known)
                    return
                }
            }
            add(name, in: parent, isDirectory: status.isDirectory, as: .arrived)
        }
    }

    /// Handles the status of the root's path.
    /// - Parameters:
    ///   - status: The entry there; nil if there is none.
    ///   - isSame: Whether it is the watched directory.
    ///   - isAlive: Whether the watch of the watched directory is still in use: it is elsewhere, not deleted.
    mutating func rootChecked(_ status: EntryStatus?, isSame: Bool, isAlive: Bool) {
        let isThere = status?.isDirectory == true
        defer { (mountsHaveChanged, rootHasMoved) = (false, false) }
        // An open directory outlives its deletion, so a live watch does not prove a move. After an overflow there is no
        // other evidence.
        let hasMoved = isAlive && (rootHasMoved || phase == .rescanning)
        let isUnwatched = phase != .starting && index.watch(of: .root) == nil && incomplete[.root] == nil
        let wasThere = wasThere
        if isThere { self.wasThere = true }
        switch phase {
        case .lost:
            guard isThere else { return }
            emit(.rootBack)
            phase = wasReady ? .rescanning : .starting
            work.append(.refresh(.root, [.recursive, .lossy]))
        case .starting where index.watch(of: .root) == nil:
            if isThere { work.append(.refresh(.root, [.recursive])) } else { loseRoot(awaitsRoot && !wasThere ? .absent : .deleted) }
        case .starting, .watching, .rescanning:
            if isThere, isUnwatched {
                // It went before it could be watched, and is there again, perhaps with the same inode number.
                work.append(.refresh(.root, [.recursive, .lossy]))
            } else if !isThere || !isSame {
                loseRoot(mountsHaveChanged ? .unmounted : hasMoved ? .moved : .deleted)
            }
        }
    }
}
