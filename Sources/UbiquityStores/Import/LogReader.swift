internal import SystemPackage
internal import UbiquityContainers

/// Reads the logs of a content, and checks everything that can be wrong with a single log.
struct LogReader {
    let layout: ContentLayout
    let contentName: String
    let epoch: Int64
    let shapes: [TableShape]
    let files: any FileLayer
    /// The migrations that this store has applied.
    var migrations: [String] = []

    /// Reads and checks a whole log.
    ///
    /// - Parameters:
    ///   - name: the name of the file.
    ///   - peer: the peer in whose directory the file lies.
    ///   - clock: the highest stamp seen so far.
    /// - Returns: the log.
    /// - Throws: `LogFault` if the file can never be used in this state; `Errno` if it cannot be read now.
    func read(_ name: LogFileName, of peer: PeerIdentifier, clock: HybridTime) throws -> ReadyLog {
        let log = try LogFile(decoding: try bytes(name, of: peer), named: name)
        let header = log.header
        guard header.peer == peer else { throw LogFault.damaged("it is a log of \(header.peer)") }
        guard header.epoch == epoch else { throw LogFault.damaged("it is a log of epoch \(header.epoch)") }
        guard header.contentName == contentName else { throw LogFault.damaged("it is a log of the content “\(header.contentName)”") }
        let contents = try LogBody.decode(log)
        for group in contents.groups where !group.time.isPlausible(after: clock) {
            throw LogFault.damaged("it has a stamp beyond the year 2200: its writer's clock is wrong")
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

/// A log that has been read and checked.
struct ReadyLog {
    var peer: PeerIdentifier
    var name: LogFileName
    private(set) var log: LogFile
    private(set) var contents: LogBody.Contents
    /// Whether this store has left the author's schema behind.
    var isOlder: Bool
    /// The large values that the log names, and the peers in whose directories they may lie.
    var values: [LargeValue: [PeerIdentifier]] = [:]
    /// The highest stamp in the log.
    let time: HybridTime
    /// The peers other than the author whose changes the log holds, or that it retires.
    let others: Set<PeerIdentifier>
    /// Whether the changes are not in memory, and are read when the log is joined.
    private(set) var isLight = false
    private let bodySize: Int

    init(peer: PeerIdentifier, name: LogFileName, log: LogFile, contents: LogBody.Contents, isOlder: Bool) {
        (self.peer, self.name, self.log, self.contents, self.isOlder) = (peer, name, log, contents, isOlder)
        bodySize = log.body.count
        time = contents.groups.reduce(.least) { max($0, $1.time) }
        others = Set(contents.groups.compactMap(\.peer)).union(contents.retired.keys)
    }

    /// The log without its changes.
    ///
    /// A save of many logs is planned in this form.
    var light: ReadyLog {
        var light = self
        light.log = log.withoutBody
        light.contents.groups = []
        light.isLight = true
        return light
    }

    fileprivate mutating func note(_ value: LargeValue, of group: LogBody.Group) -> RecordValue {
        values[value] = authors(of: group)
        return .null
    }

    /// Returns the author of the log, and the author's former identifier if the group names one.
    func authors(of group: LogBody.Group) -> [PeerIdentifier] { group.peer.map { [peer, $0] } ?? [peer] }

    /// The number of bytes that joining the log reads.
    var size: Int { values.keys.reduce(bodySize) { $0 + $1.length } }
}
