package import StoreFormat
package import StoreRecords
internal import SystemPackage
package import UbiquityContainers

/// Reads the logs of a content, and checks everything that can be wrong with a single log.
package struct LogReader: LogSource {
    package let layout: ContentLayout
    package let contentName: String
    package let epoch: Int64
    package let shapes: [TableShape]
    package let files: any FileLayer
    /// The migrations that this store has applied.
    var migrations: [String] = []
    /// The container whose logs are signed.
    ///
    /// Nil for a plain container.
    package let container: ScopeIdentifier?

    package init(
        layout: ContentLayout, contentName: String, epoch: Int64, shapes: [TableShape], files: any FileLayer, migrations: [String] = [],
        container: ScopeIdentifier? = nil
    ) {
        self.layout = layout
        self.contentName = contentName
        self.epoch = epoch
        self.shapes = shapes
        self.files = files
        self.migrations = migrations
        self.container = container
    }

    /// Reads and checks a whole log.
    ///
    /// - Parameters:
    ///   - name: the name of the file.
    ///   - peer: the peer in whose directory the file lies.
    ///   - clock: the highest stamp seen so far.
    /// - Returns: the log.
    /// - Throws: `LogFault` if the file can never be used in this state; `Errno` if it cannot be read now.
    package func read(_ name: LogFileName, of peer: PeerIdentifier, clock: HybridTime) throws -> ReadyLog {
        try check(try bytes(name, of: peer), name, of: peer, clock: clock)
    }

    /// Checks the bytes of a whole log.
    ///
    /// - Parameters:
    ///   - bytes: the bytes of its file.
    ///   - name: the name of the file.
    ///   - peer: the peer in whose directory the file lies.
    ///   - clock: the highest stamp seen so far.
    /// - Returns: the log.
    /// - Throws: `LogFault`.
    func check(_ bytes: [UInt8], _ name: LogFileName, of peer: PeerIdentifier, clock: HybridTime) throws -> ReadyLog {
        let log = try LogFile(decoding: bytes, named: name)
        let header = log.header
        guard header.peer == peer else { throw LogFault.damaged("it is a log of \(header.peer)") }
        guard header.epoch == epoch else { throw LogFault.damaged("it is a log of epoch \(header.epoch)") }
        guard header.contentName == contentName else { throw LogFault.damaged("it is a log of the content “\(header.contentName)”") }
        guard header.rights?.container == container else { throw Self.foreign(header.rights, in: container) }
        let contents = try LogBody.decode(log)
        // All readers of signed logs must judge a stamp alike, whatever they have seen before.
        for group in contents.groups where container == nil ? !group.time.isPlausible(after: clock) : group.time > .latest {
            throw LogFault.damaged("it has a stamp beyond the year 2200: its writer's clock is wrong")
        }
        if container != nil, contents.groups.contains(where: { ![nil, peer].contains($0.peer) }) {
            throw LogFault.damaged("it has changes of another device, which its signature cannot prove")
        }
        var ready = ReadyLog(peer: peer, name: name, log: log, contents: contents, isOlder: LogTableMapping.isOlder(header.schema, than: migrations))
        // Every change is checked before the first is joined, because a fault found later would undo the other logs
        // too.
        for group in contents.groups {
            for rows in group.rows {
                do {
                    try rows.forEach(in: contents.tables[rows.table], values: { ready.note($0, of: group) }) { _ in }
                } catch is WireReader.Fault {
                    throw LogFault.damaged("its body is malformed")
                }
            }
        }
        return ready
    }

    private static func foreign(_ rights: LogRights?, in container: ScopeIdentifier?) -> LogFault {
        guard let rights else { return .damaged("it has no signature, as the logs of this container must have") }
        guard container != nil else { return .damaged("it is a signed log of the container \(rights.container), and this container has no scope") }
        return .damaged("it is a log of the container \(rights.container)")
    }

    /// Returns why this schema cannot take a log, in words, or nil if it can.
    func obstacle(to log: ReadyLog) -> String? {
        // If the fact were skipped, it would be missing once this app has the rule.
        if !log.isOlder, !shapes.contains(where: \.isRelated), log.contents.groups.contains(where: { !$0.same.isEmpty }) {
            return "it says which records are one by a uniqueness rule that is unknown here"
        }
        return log.contents.tables.lazy.compactMap { table in
            if case .unknown(let obstacle) = LogTableMapping.find(table, isOlder: log.isOlder, among: shapes) { obstacle } else { nil }
        }.first
    }

    var largeValues: LargeValueReader { LargeValueReader(layout: layout, epoch: epoch, files: files) }

    private func bytes(_ name: LogFileName, of peer: PeerIdentifier) throws -> [UInt8] {
        do {
            return try files.read(layout.logs(of: peer, epoch: epoch).appending(name.description), limit: LogFile.limit)
        } catch {
            switch error {
            case .invalidArgument, .isDirectory, .tooManySymbolicLinkLevels: throw LogFault.damaged("it is not a regular file")
            case .fileTooLarge: throw LogFault.damaged("it is larger than \(LogFile.limit >> 20) MiB")
            default: throw error
            }
        }
    }
}
