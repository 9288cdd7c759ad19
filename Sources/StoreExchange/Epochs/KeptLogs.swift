internal import Foundation
internal import GRDB
package import StoreFormat
internal import SystemPackage
package import UbiquityContainers

/// What was set aside on this device: the directory `kept` of the device home, an entry in each directory of it.
package struct KeptLogs: Sendable {
    static let entryFile = "entry.json"
    static let values = "values"

    private let directory: FilePath
    private let files = LinuxFileLayer()

    /// What is kept in a device home.
    package init(home: DeviceHome) { directory = home.kept }

    /// An entry, or why it cannot be read.
    package struct Finding: Sendable {
        package var id: String
        /// Nil where what says of it is damaged, missing or newer.
        package var entry: KeptEntry?
        /// In bytes, all of its files.
        package var size: Int64
    }

    /// A log of an entry, or what is the matter with it.
    package struct Log: Sendable {
        package var name: LogFileName
        package var content: Result<LogFile, LogFault>
    }

    /// All entries, oldest first; those that cannot be read come last.
    ///
    /// - Returns: none where nothing was ever set aside.
    /// - Throws: `UbiquitousStoreError`.
    package func list() throws -> [Finding] {
        try explained {
            try files.namesIfThere(in: directory).filter(Self.isID).sorted().map(find).sorted {
                ($0.entry?.time ?? .distantFuture) < ($1.entry?.time ?? .distantFuture)
            }
        }
    }

    /// One entry.
    ///
    /// - Parameter id: its name, or the beginning of it, where that is only one's.
    /// - Returns: the entry.
    /// - Throws: `UbiquitousStoreError` where there is none, or more than one.
    package func entry(_ id: String) throws -> Finding {
        try explained {
            let found = try files.namesIfThere(in: directory).filter { Self.isID($0) && $0.hasPrefix(id) }
            guard let only = found.first, found.count == 1, !id.isEmpty else {
                throw UbiquitousStoreError(
                    .notFound,
                    found.isEmpty
                        ? "Nothing is kept under “\(id)” in \(directory); see `ubcontrol kept list`."
                        : "“\(id)” is the beginning of \(found.count) names in \(directory); give more of it.", path: directory)
            }
            return try find(only)
        }
    }

    /// The logs of an entry, in order: those of other peers, such as the store was called before, and then its own.
    ///
    /// - Parameter id: the entry's name.
    /// - Returns: each log, or what is the matter with it.
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

    /// The value that a log of an entry names.
    func value(_ value: LargeValue, of id: String) throws -> RecordValue {
        let file = directory.appending(id).appending(Self.values).appending(value.hash.description)
        guard let bytes = try? files.read(file, limit: value.length), ContentHash(of: bytes) == value.hash else {
            throw UbiquitousStoreError(.unsupported, "The large value \(value.hash) is not whole among what was kept: \(file).", path: file)
        }
        return value.value(bytes)
    }

    /// Notes that an entry has been written back.
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

    /// Removes an entry for good.
    ///
    /// - Parameter id: its name.
    /// - Throws: `UbiquitousStoreError`.
    package func remove(_ id: String) throws {
        try explained {
            // It leaves the list first, so that none is listed of which only a part is there.
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
        // Whatever else stands in it, the name is the directory's.
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
                .fileSystem, "What is kept in \(directory) cannot be read or changed; check owner and mode.", path: directory, cause: error)
        }
    }
}
