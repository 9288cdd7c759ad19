internal import UbiquityStores

/// The synchroniser's knowledge of a device's folder: which change is newer, and how a conflict ends.
///
/// It decides as Syncthing does: a change goes to devices that lack it; of two independent changes the later wins and
/// the other becomes a conflict copy; an edit wins over a deletion (https://docs.syncthing.net/users/syncing.html).
struct FolderIndex: Sendable {
    /// The content at a path.
    enum Content: Hashable, Sendable {
        case file(ContentHash)
        case directory
        /// The entry was deleted.
        case deleted
    }

    /// The result of inspecting a path.
    struct Finding: Hashable, Sendable {
        var content: Content
        /// In nanoseconds since 1970; 0 unless it is a file.
        var modified: Int64 = 0
    }

    /// The knowledge about a path.
    struct Entry: Hashable, Sendable {
        var finding: Finding
        var version: SyncVersion
    }

    /// The step for another device's entry.
    enum Step: Hashable, Sendable {
        case nothing
        /// The contents are equal: only the version must be recorded.
        case agree(Entry)
        /// Take the other content; the local content becomes a conflict copy, or is replaced.
        case take(Entry, keepsCopy: Bool)
    }

    private let device: Int
    /// By path, relative to the folder.
    private(set) var entries: [String: Entry] = [:]

    /// Makes an index of an empty folder.
    ///
    /// - Parameter device: the number of its device, which is unique.
    init(of device: Int) { self.device = device }

    /// Compares with the current contents of the folder: every difference is a change by this device.
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

    /// Records a finished step.
    mutating func set(_ path: String, to entry: Entry) { entries[path] = entry }

    /// Returns the step for another device's entry.
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
    /// Returns whether this entry wins over an independent one; of two different entries exactly one wins.
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
