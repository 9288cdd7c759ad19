internal import StoreFormat
internal import SystemPackage
internal import UbiquityContainers

/// A kept entry in preparation, under a name that no list shows.
///
/// It gets its final name when it is complete. It continues with what a crash has left of the draft or of the entry
/// under its final name, so that nothing is in it twice.
struct KeptDraft {
    let kept: FilePath
    let id: String
    let files: any FileLayer

    private var entry: FilePath { kept.appending(id) }
    private var draft: FilePath { kept.appending(".\(id)") }
    private var values: FilePath { draft.appending(KeptLogs.values) }

    /// Returns whether some part of the entry exists already.
    func exists() throws(Errno) -> Bool {
        if try files.kind(of: entry) != nil { return true }
        return try files.kind(of: draft) != nil
    }

    /// Creates the directories, and takes over an existing entry or draft.
    func begin() throws(Errno) {
        try files.makeDirectory(kept)
        if try files.kind(of: entry) != nil, try files.kind(of: draft) == nil { try files.renameOver(entry, to: draft) }
        try files.makeDirectory(draft)
    }

    /// Returns the intact logs in the draft.
    func logs() throws(Errno) -> Set<LogFileName> {
        Set(try files.names(in: draft).compactMap { LogFileName($0) }.filter { isWhole(draft.appending($0.description), $0.hash) })
    }

    func bytes(of log: LogFileName) throws(Errno) -> [UInt8] { try files.read(draft.appending(log.description), limit: LogFile.limit) }

    func add(_ bytes: [UInt8], as log: LogFileName) throws(Errno) {
        try write(bytes, to: draft.appending(log.description))
        Waypoint.keptWritten.pass()
    }

    func holds(_ value: ContentHash) -> Bool { isWhole(values.appending(value.description), value) }

    func add(_ bytes: [UInt8], asValue hash: ContentHash) throws(Errno) {
        try files.makeDirectory(values)
        try write(bytes, to: values.appending(hash.description))
    }

    /// Adds the large values that the logs name, counts, and gives the draft its final name.
    ///
    /// - Parameters:
    ///   - entry: the description, which receives the counts.
    ///   - logs: the logs in the draft.
    ///   - value: reads a large value from where it lies; nil if it is gone.
    /// - Throws: `Errno`, or the error of the closure.
    func finish(
        _ entry: inout KeptEntry, holding logs: Set<LogFileName>, _ value: (LargeValue, [PeerIdentifier]) throws -> [UInt8]?
    ) throws {
        entry.logs = logs.count
        for name in logs.sorted() {
            guard let log = try? LogFile(decoding: try bytes(of: name)), let values = try? log.largeValues else { continue }
            // A log states its own number of changes, which may be wrong.
            let (sum, isTooGreat) = entry.changes.addingReportingOverflow(Int(clamping: log.header.changes))
            entry.changes = isTooGreat ? .max : sum
            for (large, peers) in values where !holds(large.hash) {
                if let bytes = try value(large, peers) {
                    try add(bytes, asValue: large.hash)
                } else {
                    entry.missingValues += 1
                }
            }
        }
        try finish(entry)
    }

    /// Writes the description of the entry, and gives the draft its final name.
    private func finish(_ entry: KeptEntry) throws {
        try write(try entry.encoded(), to: draft.appending(KeptLogs.entryFile))
        if try files.kind(of: values) == .directory { try files.syncDirectory(values) }
        try files.syncDirectory(draft)
        Waypoint.keptDrafted.pass()
        // rename(2) of a directory. The process that writes this entry holds the lock of its store.
        try files.renameOver(draft, to: self.entry)
        try files.syncDirectory(kept)
        try files.syncDirectory(kept.removingLastComponent())
        Waypoint.keptNamed.pass()
    }

    /// Removes a draft that holds no log.
    func discard() throws(Errno) {
        try files.remove(draft.appending(KeptLogs.entryFile))
        try files.removeDirectory(draft)
    }

    private func write(_ bytes: [UInt8], to file: FilePath) throws(Errno) {
        try files.remove(file)
        try files.writeNew(file, bytes)
    }

    private func isWhole(_ file: FilePath, _ hash: ContentHash) -> Bool {
        (try? files.read(file, limit: LogFile.limit)).map { ContentHash(of: $0) == hash } ?? false
    }
}
