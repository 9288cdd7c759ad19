internal import Foundation
internal import GRDB
package import StoreFormat
internal import SystemPackage
package import UbiquityContainers

/// The kept entries on this device: the directory `kept` of the device home, with a directory for each entry.
package struct KeptLogs: Sendable {
    static let entryFile = "entry.json"
    static let values = "values"

    private let directory: FilePath
    private let files = LinuxFileLayer()

    /// Creates access to the kept entries of a device home.
    package init(home: DeviceHome) { directory = home.kept }

    /// An entry, which may be unreadable.
    package struct Finding: Sendable {
        package var id: String
        /// The description of the entry.
        ///
        /// Nil if it is damaged, missing or of a newer format.
        package var entry: KeptEntry?
        /// The size of all its files, in bytes.
        package var size: Int64
    }

    /// A log of an entry, or the reason why it cannot be used.
    package struct Log: Sendable {
        package var name: LogFileName
        package var content: Result<LogFile, LogFault>
    }

    /// Returns all entries, oldest first.
    ///
    /// Unreadable entries come last.
    ///
    /// - Returns: the entries. The list is empty if nothing was ever set aside.
    /// - Throws: `UbiquitousStoreError`.
    package func list() throws -> [Finding] {
        try explained {
            try files.namesIfThere(in: directory).filter(Self.isID).sorted().map(find).sorted {
                ($0.entry?.time ?? .distantFuture) < ($1.entry?.time ?? .distantFuture)
            }
        }
    }

    /// Returns one entry.
    ///
    /// - Parameter id: its name, or the beginning of its name if only one entry has it.
    /// - Returns: the entry.
    /// - Throws: `UbiquitousStoreError` if there is no such entry, or more than one.
    package func entry(_ id: String) throws -> Finding {
        try explained {
            let found = try files.namesIfThere(in: directory).filter { Self.isID($0) && $0.hasPrefix(id) }
            guard let only = found.first, found.count == 1, !id.isEmpty else {
                throw UbiquitousStoreError(
                    .notFound,
                    found.isEmpty
                        ? "Nothing is kept under “\(id)” in \(directory); see `ubcontrol kept list`."
                        : "\(found.count) names in \(directory) begin with “\(id)”; give more of the name.", path: directory)
            }
            return try find(only)
        }
    }

    /// Returns the logs of an entry in order: first those of other peers, such as a former peer of this store, then its
    /// own.
    ///
    /// - Parameter id: the name of the entry.
    /// - Returns: each log, or the reason why it cannot be used.
    /// - Throws: `UbiquitousStoreError`.
    package func logs(of id: String) throws -> [Log] {
        try explained {
            let own = try find(id).entry?.peer
            let logs = try files.names(in: directory.appending(id)).compactMap { LogFileName($0) }.sorted().map {
                Log(name: $0, content: content($0, of: id))
            }
            func isOwn(_ log: Log) -> Bool {
                guard let log = try? log.content.get() else { return true }
                return log.header.peer.description == own
            }
            return logs.filter { !isOwn($0) } + logs.filter(isOwn)
        }
    }

    /// Returns the large value that a log of an entry names.
    func value(_ value: LargeValue, of id: String) throws -> RecordValue {
        let file = directory.appending(id).appending(Self.values).appending(value.hash.description)
        guard let bytes = try? files.read(file, limit: value.length), ContentHash(of: bytes) == value.hash else {
            throw UbiquitousStoreError(.unsupported, "The kept large value \(value.hash) is missing or damaged: \(file).", path: file)
        }
        return value.value(bytes)
    }

    /// Notes that an entry has been restored.
    func noteRestored(_ entry: KeptEntry, at time: Date) throws {
        var entry = entry
        entry.restored = time
        try explained {
            let place = directory.appending(entry.id)
            let draft = place.appending(".\(Self.entryFile).\(UUID().uuidString)")
            try files.writeNew(draft, try entry.encoded())
            try files.renameOver(draft, to: place.appending(Self.entryFile))
            try files.syncDirectory(place)
        }
    }

    /// Removes an entry permanently.
    ///
    /// - Parameter id: its name.
    /// - Throws: `UbiquitousStoreError`.
    package func remove(_ id: String) throws {
        try explained {
            // The entry leaves the list first, so that no incomplete entry is ever listed.
            let place = directory.appending(".removed-\(id)-\(UUID().uuidString)")
            try files.renameOver(directory.appending(id), to: place)
            try files.syncDirectory(directory)
            try FileManager.default.removeItem(atPath: place.string)
        }
    }

    private static func isID(_ name: String) -> Bool { !name.hasPrefix(".") && UUID(uuidString: name) != nil }

    private func find(_ id: String) throws -> Finding {
        let place = directory.appending(id)
        let entry = (try? files.read(place.appending(Self.entryFile), limit: 1 << 20)).flatMap { KeptEntry(decoding: $0) }
        let names = try files.namesIfThere(in: place) + files.namesIfThere(in: place.appending(Self.values)).map { "\(Self.values)/\($0)" }
        // The name of the directory decides, whatever the description says.
        let isOwn = entry.map { $0.id == id } ?? false
        return Finding(
            id: id, entry: isOwn ? entry : nil, size: names.reduce(0) { $0 + ((try? files.size(of: place.appending($1))) ?? 0) })
    }

    private func content(_ name: LogFileName, of id: String) -> Result<LogFile, LogFault> {
        do throws(LogFault) {
            guard let bytes = try? files.read(directory.appending(id).appending(name.description), limit: LogFile.limit) else {
                throw .damaged("it cannot be read")
            }
            let log = try LogFile(decoding: bytes, named: name)
            _ = try LogBody.decode(log)
            return .success(log)
        } catch {
            return .failure(error)
        }
    }

    private func explained<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as UbiquitousStoreError {
            throw error
        } catch {
            throw UbiquitousStoreError(
                .fileSystem, "The entries in \(directory) cannot be read or changed; check owner and mode.", path: directory, cause: error)
        }
    }
}
