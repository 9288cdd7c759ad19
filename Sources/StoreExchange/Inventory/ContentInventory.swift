internal import StoreAuthority
internal import StoreFormat
internal import StoreRecords
package import SystemPackage
internal import UbiquityContainers

/// The logs in the container that are not joined yet, as far as listings and changes have shown.
///
/// It uses memory for waiting logs only, not for logs that have been read.
struct ContentInventory {
    /// The state of a file.
    enum State {
        /// The file has not been read.
        case new
        /// The log has been read, and logs that it follows are missing.
        case waits(LogHeader)
        /// The log and those behind it have been read and can be joined, but the rest of their save is missing.
        case begun([ReadyLog])
        /// The log has been read and can be joined, except that large values are missing or damaged.
        case lacks([AwaitedFile])
        /// The log has been read, and names tables or columns that this schema does not have.
        case unknown(obstacle: String, schema: String)
        /// The log has been read, and nobody can tell yet whether its author had the right to make it.
        case unauthorised(Set<Need>)
        /// The file could not be read, but may be readable next time.
        case unreadable(Errno)
        /// The file cannot be used in this state.
        ///
        /// It is read again once it changes.
        case faulty
    }

    /// The files of one peer, sorted by name.
    ///
    /// The files before `first` have been removed.
    private struct Files {
        var names: [LogFileName] = []
        var first = 0
        /// The states of the files that are not new.
        var states: [LogFileName: State] = [:]

        /// Returns the index at which a name is or belongs.
        func place(of name: LogFileName) -> (index: Int, isThere: Bool) {
            let index = place { $0 < name }
            return (index, index < names.count && names[index] == name)
        }

        /// Returns the index at which the names of a sequence begin.
        func place(before sequence: Int64) -> Int { place { $0.sequence < sequence } }

        private func place(isBefore: (LogFileName) -> Bool) -> Int {
            var (low, high) = (first, names.count)
            while low < high {
                let middle = (low + high) / 2
                if isBefore(names[middle]) { low = middle + 1 } else { high = middle }
            }
            return low
        }
    }

    private var files: [PeerIdentifier: Files] = [:]
    /// The directories of other peers that could not be listed.
    private(set) var faults: [PeerIdentifier: [PeerFault]] = [:]
    /// The peers whose logs cannot be listed here.
    private(set) var hidden: Set<PeerIdentifier> = []
    /// The baselines in the container, including this store's own.
    var baselines: Set<BaselineID> = []

    /// The peers with waiting logs, sorted by name.
    var peers: [PeerIdentifier] { files.keys.sorted() }

    /// Adds a file that has arrived or changed.
    mutating func insert(_ name: LogFileName, of peer: PeerIdentifier) {
        files[peer, default: Files()].states[name] = nil
        let (index, isThere) = files[peer]!.place(of: name)
        if !isThere { files[peer]!.names.insert(name, at: index) }
    }

    mutating func remove(_ name: LogFileName, of peer: PeerIdentifier) {
        guard let (index, isThere) = files[peer]?.place(of: name), isThere else { return }
        files[peer]!.states[name] = nil
        if index == files[peer]!.first { files[peer]!.first += 1 } else { files[peer]!.names.remove(at: index) }
        let (first, count) = (files[peer]!.first, files[peer]!.names.count)
        if first == count {
            files[peer] = nil
        } else if first > 1024, first * 2 > count {
            files[peer]!.names.removeFirst(first)
            files[peer]!.first = 0
        }
    }

    mutating func set(_ state: State, _ name: LogFileName, of peer: PeerIdentifier) { files[peer]?.states[name] = state }

    func state(_ name: LogFileName, of peer: PeerIdentifier) -> State { files[peer]?.states[name] ?? .new }

    /// Returns a peer's files of one sequence.
    func names(of peer: PeerIdentifier, at sequence: Int64) -> ArraySlice<LogFileName> {
        guard let files = files[peer] else { return [] }
        return files.names[files.place(before: sequence)...].prefix { $0.sequence == sequence }
    }

    /// Returns a peer's waiting file at an index, or nil behind the last.
    func name(of peer: PeerIdentifier, at index: Int) -> LogFileName? {
        guard let files = files[peer], files.first + index < files.names.count else { return nil }
        return files.names[files.first + index]
    }

    /// Returns the first file of a peer that is not faulty, and the number of such files.
    func waiting(of peer: PeerIdentifier) -> (name: LogFileName, count: Int)? {
        guard let files = files[peer] else { return nil }
        let first = files.names[files.first...].first { if case .faulty = files.states[$0] { false } else { true } }
        let faulty = files.states.values.count { if case .faulty = $0 { true } else { false } }
        return first.map { ($0, files.names.count - files.first - faulty) }
    }

    /// The number of files that are not faulty.
    var count: Int {
        files.values.reduce(0) { count, files in
            count + files.names.count - files.first - files.states.values.count { if case .faulty = $0 { true } else { false } }
        }
    }

    /// Returns whether there is an unusable file with a sequence.
    func isFaulty(_ sequence: Int64, hash: ContentHash?, of peer: PeerIdentifier) -> Bool {
        files[peer]?.states.contains { name, state in
            guard name.sequence == sequence, hash == nil || name.hash == hash, case .faulty = state else { return false }
            return true
        } ?? false
    }
}

extension ContentInventory {
    /// Lists all logs of an epoch that have not been joined, or all logs.
    ///
    /// A directory of a peer that cannot be listed becomes a fault of that peer.
    init(listing layout: ContentLayout, epoch: Int64, register: LogRegister, files layer: any FileLayer, isWhole: Bool = false) throws {
        for name in try layer.names(in: layout.directory) {
            if let peer = PeerIdentifier(name) {
                try list(peer, PeerFolders(layout: layout, files: layer), epoch: epoch, register, isWhole: isWhole)
            }
        }
    }

    /// Lists the peers with faulty directories again.
    mutating func listFaulty(_ directories: PeerFolders, epoch: Int64, _ register: LogRegister) throws {
        for peer in faults.keys.sorted() { try list(peer, directories, epoch: epoch, register, isWhole: false) }
    }

    private mutating func list(
        _ peer: PeerIdentifier, _ directories: PeerFolders, epoch: Int64, _ register: LogRegister, isWhole: Bool
    ) throws {
        let layout = directories.layout
        var found: [PeerFault] = []
        func unlessFaulty<Result>(_ body: () throws -> Result) throws -> Result? {
            do {
                return try body()
            } catch let fault as PeerFault {
                if !found.contains(fault) { found.append(fault) }
                return nil
            }
        }
        // Nil if a fault hides everything below.
        let own = layout.logs(of: peer, epoch: epoch)
        let isOwnThere = try unlessFaulty { try directories.isThere(own) }
        func isThere(_ folder: FilePath) throws -> Bool { try isOwnThere == true && directories.isThere(folder, in: own) }
        let (shelf, receipts, values) = (
            layout.baselines(of: peer, epoch: epoch), layout.receipts(of: peer, epoch: epoch), layout.values(of: peer, epoch: epoch)
        )
        for name in try unlessFaulty({ try isThere(shelf) ? directories.names(inChecked: shelf) : [] }) ?? [] {
            if let name = BaselineName(name) { baselines.insert(BaselineID(peer: peer, name: name)) }
        }
        guard isWhole || peer != register.own else { return }
        let logs =
            try isOwnThere.flatMap { isThere in
                try unlessFaulty { try isThere ? directories.names(inChecked: own).compactMap { LogFileName($0) } : [] }
            }
        let unknown = isWhole ? (logs ?? []).sorted() : try register.unknown(among: logs ?? [], of: peer)
        files[peer] = unknown.isEmpty ? nil : Files(names: unknown)
        if logs == nil { hidden.insert(peer) } else { hidden.remove(peer) }
        // These directories are read only when needed, but a fault is reported at once.
        for folder in [receipts, values] { _ = try unlessFaulty { try isThere(folder) } }
        faults[peer] = found.isEmpty ? nil : found
    }
}

extension FileLayer {
    /// Returns the names in a directory.
    ///
    /// The list is empty if the directory does not exist.
    package func namesIfThere(in directory: FilePath) throws(Errno) -> [String] {
        do {
            return try names(in: directory)
        } catch .noSuchFileOrDirectory {
            return []
        } catch .notDirectory {
            return []
        }
    }
}
