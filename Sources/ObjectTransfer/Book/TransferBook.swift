package import ContentHashing
package import Foundation
package import UbiquityContainers

/// Everything that a device knows of an account's files and of the cloud, and what follows from it.
///
/// It is a value without effects: the same facts lead to the same plan on every device, in whatever order they came. The
/// runner tells it what it has found and done, and writes what has changed to the index before it acts on it.
package struct TransferBook: Sendable {
    package let account: AccountName
    /// The identifier under which this device publishes.
    package private(set) var device: TransferDevice
    /// The number and the hash of its newest bulletin; 0 and nil before the first.
    package private(set) var number: Int64 = 0
    package private(set) var newest: ContentHash?
    /// How many bulletins and entries it has published since its last inventory.
    private var sinceInventory = (bulletins: 0, entries: 0)
    /// Whether a bulletin of this device has vanished from the remote.
    package private(set) var lacksBulletin = false
    /// The bulletin that is being published.
    package private(set) var draft: Draft?
    /// The identifier of the remote; nil before the first contact.
    package private(set) var canary: UUID?
    /// The bulletins of each device that have been taken in and are not behind an inventory.
    package private(set) var seen: [TransferDevice: Seen] = [:]
    /// The devices that write as each peer.
    private var owners: [PeerIdentifier: Set<TransferDevice>] = [:]
    package private(set) var files: [TransferPath: TransferRecord] = [:]
    package var documents = DocumentBook()
    /// The newest epoch of each content of which a mark is here.
    private var epochs: [TransferPath.Content: Int64] = [:]
    /// Counts the changes, so that a plan is made only after one.
    package var generation: Int { ownGeneration + documents.generation }
    /// Counts the changes beside those of documents.
    private var ownGeneration = 0
    /// The files whose records have changed since they were last taken.
    private var changed: Set<TransferPath> = []
    private var hasNewState = false

    /// A bulletin of this device, from the moment when it is written to the index to the moment when the remote has it.
    package struct Draft: Hashable, Sendable {
        package var name: BulletinName
        package var bytes: [UInt8]
    }

    /// What has been read of a device's bulletins.
    package struct Seen: Hashable, Sendable {
        /// The number of its newest inventory; bulletins of smaller numbers say nothing more.
        package var inventory: Int64 = 0
        package var names: Set<BulletinName> = []
        package var peers: Set<PeerIdentifier> = []
        package init() {}
    }

    package init(account: AccountName, device: TransferDevice) { (self.account, self.device) = (account, device) }

    // MARK: Files here

    /// Notes that a file lies here.
    package mutating func found(_ path: TransferPath, _ version: FileDigest) {
        update(path) {
            $0.local = version
            ($0.isHere, $0.isMissed) = (true, false)
        }
        enterEpoch(path)
    }

    /// Notes which files are missing that were here.
    ///
    /// A container is not removed at once: its files go one after the other, and its mark may go last. So a peer's file counts
    /// as removed by its app only if it was missing before too, nothing else of the container has vanished since, and the mark
    /// and other files of the peer's directory are still here. Otherwise the container was wiped, and its files are fetched as
    /// if they had never been here.
    ///
    /// - Parameters:
    ///   - gone: the files that were here and are not.
    ///   - peers: the peers as which this device writes.
    ///   - isWhole: whether the whole device was looked at.
    package mutating func missed(_ gone: [TransferPath], peers: Set<PeerIdentifier>, isWhole: Bool) {
        let new = gone.filter { files[$0]?.isHere == true }
        for path in new { update(path) { $0.isHere = false } }
        let going = Set(new.map(\.container))
        // What a peer keeps: a removal by its app leaves other files beside the removed ones.
        let kept = Set(files.lazy.filter { $0.value.isHere && peers.contains($0.key.peer) }.compactMap { $0.key.directory })
        for (path, record) in files where record.local != nil && !record.isHere && !record.isMissed && peers.contains(path.peer) {
            if !isMarkHere(of: path) || !(path.directory.map(kept.contains) ?? true) {
                update(path) { $0.local = nil }
            } else if isWhole, !going.contains(path.container) {
                update(path) { $0.isMissed = true }
            }
        }
    }

    /// Whether files are missing of which another look decides what that means.
    package func awaitsLook(peers: Set<PeerIdentifier>) -> Bool {
        files.contains { path, record in record.local != nil && !record.isHere && !record.isMissed && peers.contains(path.peer) }
    }

    /// Whether a mark of one of these peers is in a container.
    package func isMarked(_ container: String, by peers: Set<PeerIdentifier>) -> Bool {
        peers.contains { peer in
            guard let mark = TransferPath("\(container)/\(UbiquityContainer.markDirectoryName)/\(peer)", of: account) else { return false }
            return files[mark]?.isHere == true
        }
    }

    private func isMarkHere(of path: TransferPath) -> Bool {
        guard let mark = TransferPath(path.attachmentMark, of: account) else { return false }
        return files[mark]?.isHere == true
    }

    private mutating func enterEpoch(_ path: TransferPath) {
        guard path.beginsEpoch, let epoch = path.epoch else { return }
        epochs[epoch.content] = max(epochs[epoch.content] ?? 0, epoch.number)
        ownGeneration += 1
    }

    /// Whether a file belongs to an epoch that has ended; the marks of epochs do not.
    package func isEnded(_ path: TransferPath) -> Bool {
        guard !path.beginsEpoch, let epoch = path.epoch, let newest = epochs[epoch.content] else { return false }
        return epoch.number < newest
    }

    /// Whether a file is gone for good: its owner says so, or, in an ended epoch, anybody.
    package func isGone(_ path: TransferPath) -> Bool {
        guard let record = files[path], !record.withdrawn.isEmpty else { return false }
        if isEnded(path) { return true }
        return owners[path.peer].map { !$0.isDisjoint(with: record.withdrawn) } ?? false
    }

    // MARK: What the device does

    /// Notes that the upload of a file begins.
    package mutating func intends(_ path: TransferPath, _ version: FileDigest) { update(path) { $0.intent = version } }

    /// Notes that the upload of a file has ended, so that the next bulletin names it.
    package mutating func uploaded(_ path: TransferPath, _ version: FileDigest) {
        update(path) {
            $0.intent = nil
            $0.untold = .uploaded(version)
        }
    }

    /// Notes that a file that is gone here is gone for good, so that the next bulletin says so.
    package mutating func withdraws(_ path: TransferPath) { update(path) { $0.untold = .removed } }

    /// Notes that a file has been removed here because its owner says that it is gone.
    package mutating func removed(_ path: TransferPath) {
        update(path) {
            ($0.isHere, $0.isMissed, $0.local) = (false, false, nil)
        }
    }

    /// Notes that an object of the remote has been removed for good.
    package mutating func deleted(_ path: TransferPath) {
        let device = device
        update(path) {
            ($0.doomed, $0.local, $0.isMissed) = (nil, nil, false)
            // Others may still vouch for it, so inventories go on to say that it is gone.
            $0.vouches[device] = nil
        }
    }

    // MARK: Bulletins

    /// How many files and removals are done and not told.
    package var untold: Int { files.values.count { $0.untold != nil } + documents.untold.count }

    /// Writes the next bulletin, if there is anything to tell.
    ///
    /// - Parameter peers: the peers as which this device writes.
    /// - Returns: the draft, which is the same until ``published(now:)``.
    package mutating func write(peers: Set<PeerIdentifier>) -> Draft? {
        if let draft { return draft }
        let told = files.filter { $0.value.untold != nil }
        let versions = documents.untold
        guard !told.isEmpty || !versions.isEmpty || lacksBulletin else { return nil }
        var bulletin = Bulletin(device: device, number: number + 1, previous: newest)
        // An inventory speaks also for peers that this device was once.
        bulletin.peers = peers.union(seen[device]?.peers ?? [])
        bulletin.isInventory = lacksBulletin || isInventoryDue(adding: told.count + versions.count)
        bulletin.documents = versions.mapValues { [$0] }
        if bulletin.isInventory {
            for (path, stated) in documents.stated(by: device) {
                bulletin.documents[path, default: []] += stated.filter { versions[path]?.vector.contains($0.vector) != true }
            }
        }
        for (path, record) in bulletin.isInventory ? files : told {
            switch record.untold {
            case .uploaded(let version): bulletin.uploaded[path] = version
            case .removed: bulletin.removed.insert(path)
            case nil:
                if record.withdrawn.contains(device) {
                    // Somebody else still vouches for it.
                    if !record.vouches.isEmpty { bulletin.removed.insert(path) }
                } else if let version = record.vouches[device], !isGone(path) {
                    bulletin.uploaded[path] = version
                }
            }
        }
        var bytes = bulletin.encoded
        if bulletin.isInventory, bytes.count > Bulletin.limit {
            // So many files have no inventory; their bulletins stay.
            bulletin.isInventory = false
            (bulletin.uploaded, bulletin.removed) = (bulletin.uploaded.filter { told[$0.key] != nil }, bulletin.removed.intersection(told.keys))
            bulletin.documents = versions.mapValues { [$0] }
            lacksBulletin = false
            bytes = bulletin.encoded
        }
        draft = Draft(name: Bulletin.name(device, bulletin.number, bytes), bytes: bytes)
        hasNewState = true
        return draft
    }

    /// Each 64 bulletins, unless it would cost much more than they, or as soon as an inventory costs no more than what it replaces.
    private func isInventoryDue(adding count: Int) -> Bool {
        let vouched = files.values.count { $0.vouches[device] != nil } + documents.stated(by: device).count
        if sinceInventory.bulletins >= 1000 || sinceInventory.bulletins >= 64 && (sinceInventory.entries + count) * 8 >= vouched { return true }
        guard sinceInventory.bulletins >= 8 else { return false }
        return sinceInventory.entries + count >= vouched
    }

    /// Notes that the remote has the draft, and returns the names of the device's bulletins that say nothing more.
    package mutating func published(now: Date) -> [BulletinName] {
        // The draft was made here from values that can be read.
        guard let draft, let bulletin = try? Bulletin(decoding: draft.bytes, named: draft.name, of: account) else {
            draft = nil
            return []
        }
        let former = seen[device]?.names ?? []
        for path in bulletin.uploaded.keys where files[path]?.untold == .uploaded(bulletin.uploaded[path]!) { update(path) { $0.untold = nil } }
        for path in bulletin.removed where files[path]?.untold == .removed {
            update(path) {
                $0.untold = nil
                $0.doomed = now
            }
        }
        for (path, versions) in bulletin.documents { for version in versions { documents.told(path, version, now: now) } }
        self.draft = nil
        if bulletin.isInventory { lacksBulletin = false }
        take(bulletin, draft.name, now: now)
        (number, newest) = (draft.name.number, draft.name.hash)
        sinceInventory =
            bulletin.isInventory
            ? (0, 0)
            : (sinceInventory.bulletins + 1, sinceInventory.entries + bulletin.uploaded.count + bulletin.removed.count + bulletin.documents.count)
        return bulletin.isInventory ? former.sorted() : []
    }

    /// Whether a bulletin must still be read.
    package func isNews(_ name: BulletinName) -> Bool {
        guard let seen = seen[name.device] else { return true }
        return name.number >= seen.inventory && !seen.names.contains(name)
    }

    /// Whether a bulletin can be taken in: the device's bulletin before it has been, or it is an inventory.
    ///
    /// An inventory takes back what earlier bulletins say, and nothing of later ones.
    package func follows(_ bulletin: Bulletin) -> Bool {
        guard !bulletin.isInventory, let previous = bulletin.previous else { return true }
        return seen[bulletin.device]?.names.contains { $0.hash == previous } ?? false
    }

    /// Has the next bulletin list everything, if one of this device's has vanished: others wait for it.
    package mutating func noteOwn(_ names: Set<BulletinName>) {
        guard let own = seen[device]?.names, !own.isSubset(of: names) else { return }
        lacksBulletin = true
    }

    /// Takes in a bulletin.
    package mutating func take(_ bulletin: Bulletin, _ name: BulletinName, now: Date) {
        hasNewState = true
        ownGeneration += 1
        let author = bulletin.device
        var seen = seen[author] ?? Seen()
        seen.names.insert(name)
        seen.peers.formUnion(bulletin.peers)
        for peer in bulletin.peers { owners[peer, default: []].insert(author) }
        if bulletin.isInventory {
            for (path, record) in files where record.vouches[author] != nil && bulletin.uploaded[path] == nil {
                // It was removed with a bulletin that is gone by now.
                update(path) {
                    $0.vouches[author] = nil
                    $0.withdrawn.insert(author)
                }
            }
            seen.inventory = bulletin.number
            seen.names = seen.names.filter { $0.number >= bulletin.number }
        }
        self.seen[author] = seen
        let isOther = author != device
        let own = device
        for (path, version) in bulletin.uploaded {
            guard files[path]?.withdrawn.contains(author) != true else { continue }
            update(path) {
                $0.vouches[author] = version
                // A device that has not heard of the removal has sent the file again, so it is told once more.
                if isOther, $0.withdrawn.contains(own), !$0.isHere { $0.untold = .removed }
            }
        }
        for path in bulletin.removed {
            update(path) {
                $0.vouches[author] = nil
                $0.withdrawn.insert(author)
            }
        }
        for (path, versions) in bulletin.documents { for version in versions { documents.take(path, version, own: device, now: now) } }
        if author == device, name.number > number { (number, newest) = (name.number, name.hash) }
    }

    // MARK: The remote

    /// Whether a listing shows the remote that this device knows.
    ///
    /// - Parameters:
    ///   - names: the bulletins that the listing shows.
    ///   - found: the remote's identifier; nil if it has none.
    /// - Returns: false if the remote has been emptied or replaced, or cannot be decrypted.
    package func recognises(_ names: Set<BulletinName>, _ found: UUID?) -> Bool {
        if let newest, number > 0, !names.contains(BulletinName(device: device, number: number, hash: newest)) { return false }
        // Two devices may have begun one remote at the same time, and one may have cut off what the other has written.
        guard let canary, canary != found, !seen.isEmpty else { return true }
        return names.contains { seen[$0.device] != nil }
    }

    /// Notes the remote's identifier.
    package mutating func connected(_ identifier: UUID) {
        guard canary != identifier else { return }
        canary = identifier
        hasNewState = true
    }

    /// Returns whether another home publishes under this device's identifier.
    package func isCloned(_ names: Set<BulletinName>) -> Bool {
        // Without a memory of its own, the device continues its chain.
        guard number > 0 || draft != nil else { return false }
        return names.contains { $0.device == device && isNews($0) && $0 != draft?.name }
    }

    /// Publishes under another identifier from now on, because another home uses this one.
    package mutating func rename(_ device: TransferDevice) {
        self.device = device
        (number, newest, draft, sinceInventory, lacksBulletin) = (0, nil, nil, (0, 0), false)
        documents.rename(device)
        hasNewState = true
    }

    /// Forgets what the remote held, because a person says that it shall be filled again from here.
    ///
    /// - Parameter device: a new identifier of this device, because nobody expects another chain under the former one.
    package mutating func republish(as device: TransferDevice) {
        for (path, record) in files {
            update(path) {
                ($0.vouches, $0.withdrawn, $0.intent, $0.untold, $0.doomed) = ([:], [], nil, nil, nil)
                if !record.isHere { ($0.local, $0.isMissed) = (nil, false) }
            }
        }
        documents.republish()
        (canary, seen, owners) = (nil, [:], [:])
        rename(device)
    }

    /// Notes that an object is missing in the remote, or has another size, so that it is uploaded again if it is here.
    package mutating func lost(_ path: TransferPath) {
        guard let record = files[path], record.isHere, let local = record.local, record.vouches.values.contains(local) else { return }
        update(path) { $0.intent = local }
    }

    /// Notes that a piece of a document has been removed from the remote, or is named again.
    package mutating func undoom(_ piece: ContentHash) {
        documents.undoom(piece)
        hasNewState = true
    }

    // MARK: The index

    /// What the index keeps beside the records of files.
    package struct State: Hashable, Sendable {
        package var device: TransferDevice
        package var number: Int64
        package var newest: ContentHash?
        package var bulletinsSinceInventory: Int
        package var entriesSinceInventory: Int
        package var draft: Draft?
        package var canary: UUID?
        package var seen: [TransferDevice: Seen]
        /// The pieces of documents that nothing names any more; see ``DocumentBook/doomed``.
        package var doomed: [ContentHash: Date] = [:]

        package init(
            device: TransferDevice, number: Int64, newest: ContentHash?, bulletinsSinceInventory: Int, entriesSinceInventory: Int, draft: Draft?,
            canary: UUID?, seen: [TransferDevice: Seen], doomed: [ContentHash: Date] = [:]
        ) {
            (self.device, self.number, self.newest, self.draft, self.canary, self.seen) = (device, number, newest, draft, canary, seen)
            (self.bulletinsSinceInventory, self.entriesSinceInventory) = (bulletinsSinceInventory, entriesSinceInventory)
            self.doomed = doomed
        }
    }

    package var state: State {
        State(
            device: device, number: number, newest: newest, bulletinsSinceInventory: sinceInventory.bulletins,
            entriesSinceInventory: sinceInventory.entries, draft: draft, canary: canary, seen: seen, doomed: documents.doomed)
    }

    /// What has changed since the index was written.
    package struct Changes: Sendable {
        package var files: [TransferPath: TransferRecord?] = [:]
        package var documents: [DocumentPath: DocumentRecord?] = [:]
        /// Nil if only files and documents have changed.
        package var state: State?

        package init() {}
    }

    /// Returns what has changed since the last call, for the index; nil if nothing has.
    package mutating func takeChanges() -> Changes? {
        var changes = Changes()
        changes.documents = documents.takeChanges()
        for path in changed { changes.files.updateValue(files[path], forKey: path) }
        if hasNewState { changes.state = state }
        (changed, hasNewState) = ([], false)
        return changes.files.isEmpty && changes.documents.isEmpty && changes.state == nil ? nil : changes
    }

    /// Takes changes back that the index could not keep.
    package mutating func putBack(_ changes: Changes) {
        changed.formUnion(changes.files.keys)
        documents.putBack(changes.documents.keys)
        hasNewState = hasNewState || changes.state != nil
    }

    /// Creates a book from what the index has kept.
    package init(
        account: AccountName, _ state: State, files: [TransferPath: TransferRecord], documents: [DocumentPath: DocumentRecord] = [:]
    ) {
        (self.account, device, number, newest, draft) = (account, state.device, state.number, state.newest, state.draft)
        (canary, seen, self.files) = (state.canary, state.seen, files)
        self.documents = DocumentBook(records: documents, doomed: state.doomed)
        sinceInventory = (state.bulletinsSinceInventory, state.entriesSinceInventory)
        for (device, seen) in seen { for peer in seen.peers { owners[peer, default: []].insert(device) } }
        for (path, record) in files where record.local != nil { enterEpoch(path) }
    }

    private mutating func update(_ path: TransferPath, _ body: (inout TransferRecord) -> Void) {
        var record = files[path] ?? TransferRecord()
        let before = record
        body(&record)
        guard record != before else { return }
        files[path] = record.isEmpty ? nil : record
        changed.insert(path)
        ownGeneration += 1
    }
}
