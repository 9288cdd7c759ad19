internal import UbiquityStores

/// What a device holds of a folder, as far as the synchroniser knows: which change is newer than which, and what a conflict comes to.
///
/// It decides as Syncthing does: a change goes where it has not been; of two that know nothing of each other the later wins and the other becomes a
/// conflict copy; an edit beats a deletion (https://docs.syncthing.net/users/syncing.html).
struct FolderIndex: Sendable {
    /// What is at a path.
    enum Content: Hashable, Sendable {
        case file(ContentHash)
        case directory
        /// Something was there.
        case deleted
    }

    /// What was found at a path.
    struct Finding: Hashable, Sendable {
        var content: Content
        /// In nanoseconds since 1970; 0 but of a file.
        var modified: Int64 = 0
    }

    /// What is known of a path.
    struct Entry: Hashable, Sendable {
        var finding: Finding
        var version: SyncVersion
    }

    /// What is to be done about what another device holds.
    enum Step: Hashable, Sendable {
        case nothing
        /// The content is the same: only the version is to be noted.
        case agree(Entry)
        /// It is to be taken over; what is here becomes a conflict copy, or gives way.
        case take(Entry, keepsCopy: Bool)
    }

    private let device: Int
    /// By path, from the folder on.
    private(set) var entries: [String: Entry] = [:]

    /// An index of an empty folder.
    ///
    /// - Parameter device: whose it is; no other has that number.
    init(of device: Int) { self.device = device }

    /// Compares with what is in the folder now: every difference is a change that this device has made.
    mutating func note(_ found: [String: Finding]) {
        for (path, finding) in found {
            if entries[path]?.finding.content == finding.content {
                entries[path]!.finding = finding
            } else {
                change(path, to: finding)
            }
        }
        for (path, entry) in entries where found[path] == nil && entry.finding.content != .deleted { change(path, to: Finding(content: .deleted)) }
    }

    private mutating func change(_ path: String, to finding: Finding) {
        var version = entries[path]?.version ?? SyncVersion()
        version.note(device)
        entries[path] = Entry(finding: finding, version: version)
    }

    /// Notes that what was to be done has been.
    mutating func set(_ path: String, to entry: Entry) { entries[path] = entry }

    /// What is to be done here about what another device holds.
    func step(_ path: String, offered: Entry) -> Step {
        guard let own = entries[path] else {
            return offered.finding.content == .deleted ? .agree(offered) : .take(offered, keepsCopy: false)
        }
        var joined = offered
        joined.version = own.version.joined(with: offered.version)
        switch own.version.order(to: offered.version) {
        case .same, .newer: return .nothing
        case .older where own.finding.content == offered.finding.content: return .agree(offered)
        case .older: return .take(offered, keepsCopy: false)
        case .apart:
            if own.finding.content == offered.finding.content { return .agree(joined) }
            if own.finding.content == .deleted { return .take(joined, keepsCopy: false) }
            return offered.finding.isStronger(than: own.finding) ? .take(joined, keepsCopy: true) : .nothing
        }
    }
}

extension FolderIndex.Finding {
    /// Whether this one stays where two know nothing of each other; of two that differ one does.
    fileprivate func isStronger(than other: Self) -> Bool {
        switch (content, other.content) {
        case (.deleted, _): false
        case (_, .deleted): true
        case (.directory, _): true
        case (_, .directory): false
        case (.file(let hash), .file(let otherHash)): modified != other.modified ? modified > other.modified : hash > otherHash
        }
    }
}
