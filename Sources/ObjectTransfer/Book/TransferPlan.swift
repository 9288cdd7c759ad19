package import UbiquityContainers

/// What a device has to do for an account's files, as its book stands.
package struct TransferPlan: Hashable, Sendable {
    /// A file with the version to send or fetch.
    package struct Move: Hashable, Sendable {
        package var path: TransferPath
        package var version: FileDigest
    }

    /// The files to upload, each behind what it needs.
    package var uploads: [Move] = []
    /// The files to fetch, each behind what it needs.
    package var fetches: [Move] = []
    /// The files of this device that are gone here by their app's will.
    package var withdrawals: [TransferPath] = []
    /// The files that are gone for good elsewhere, and still here.
    package var removals: [TransferPath] = []
    /// The files that other devices say to be other bytes than those here.
    package var collisions: [TransferPath] = []
    /// The containers in which so many files would go that a person decides, with the number of files.
    package var guarded: [String: Int] = [:]

    package init() {}
}

/// The facts about a device, beside its book, from which a plan follows.
package struct TransferSituation: Hashable, Sendable {
    /// The peers as which the device writes.
    package var peers: Set<PeerIdentifier>
    /// How many files may go before a person is asked.
    package var limit: MassDeletionLimit
    /// The containers in which a person has allowed the removals.
    package var allowed: Set<String>
    /// Which documents the device keeps.
    package var downloads: DownloadRules

    package init(
        peers: Set<PeerIdentifier>, limit: MassDeletionLimit = MassDeletionLimit(), allowed: Set<String> = [],
        downloads: DownloadRules = DownloadRules()
    ) {
        (self.peers, self.limit, self.allowed, self.downloads) = (peers, limit, allowed, downloads)
    }
}

extension TransferBook {
    /// Returns what is to be done.
    package func plan(_ situation: TransferSituation) -> TransferPlan {
        var plan = TransferPlan()
        var here: [String: Int] = [:]
        for (path, record) in files {
            let isOwn = situation.peers.contains(path.peer)
            if record.isHere {
                here[path.container, default: 0] += 1
                guard let local = record.local else { continue }
                if isGone(path) {
                    // Only its own app removes a peer's files from their place.
                    if !isOwn { plan.removals.append(path) }
                } else if let others = Self.other(than: local, record) {
                    if others { plan.collisions.append(path) }
                    if record.intent != nil, !others { plan.uploads.append(.init(path: path, version: local)) }
                } else if record.untold == nil, !isEnded(path) {
                    plan.uploads.append(.init(path: path, version: local))
                }
            } else if let version = record.vouched, record.untold == nil, !isGone(path) {
                let hasVanished = record.local != nil
                if isEnded(path) {
                    if hasVanished { plan.withdrawals.append(path) }
                } else if hasVanished, isOwn {
                    if record.isMissed { plan.withdrawals.append(path) }
                } else {
                    plan.fetches.append(.init(path: path, version: version))
                }
            }
        }
        plan.uploads.sort { $0.path < $1.path }
        plan.fetches.sort { $0.path < $1.path }
        plan.withdrawals.sort()
        plan.collisions.sort()
        plan.removals.sort()
        guardRemovals(&plan, here, situation)
        return plan
    }

    /// Returns whether others vouch for other bytes; nil if nobody vouches.
    private static func other(than local: FileDigest, _ record: TransferRecord) -> Bool? {
        record.vouches.isEmpty ? nil : !record.vouches.values.contains(local)
    }

    /// Leaves out the removals of containers in which more files would go than a statement may cause by itself.
    ///
    /// Files of ended epochs do not count: the mark of the next epoch has decided their removal.
    private func guardRemovals(_ plan: inout TransferPlan, _ here: [String: Int], _ situation: TransferSituation) {
        let counts = plan.removals.filter { !isEnded($0) }.reduce(into: [:]) { $0[$1.container, default: 0] += 1 }
        for (container, count) in counts where !situation.allowed.contains(container) {
            if situation.limit.isPassed(by: count, of: here[container] ?? 0) { plan.guarded[container] = count }
        }
        if !plan.guarded.isEmpty { plan.removals.removeAll { plan.guarded[$0.container] != nil && !isEnded($0) } }
    }
}
