package import UbiquityContainers

/// A log that has been read and checked.
package struct ReadyLog {
    package var peer: PeerIdentifier
    package var name: LogFileName
    package private(set) var log: LogFile
    package private(set) var contents: LogBody.Contents
    /// Whether its author's schema is one that this store has left behind.
    package var isOlder: Bool
    /// The large values that it names, and the peers under whose identifiers they may lie.
    package var values: [LargeValue: [PeerIdentifier]] = [:]
    /// The highest stamp in it.
    package let time: HybridTime
    /// The peers whose changes it holds, or that it retires, beside its author.
    package let others: Set<PeerIdentifier>
    /// Whether its changes are not in memory, and are read when it is joined.
    package private(set) var isLight = false
    private let bodySize: Int

    package init(peer: PeerIdentifier, name: LogFileName, log: LogFile, contents: LogBody.Contents, isOlder: Bool) {
        (self.peer, self.name, self.log, self.contents, self.isOlder) = (peer, name, log, contents, isOlder)
        bodySize = log.body.count
        time = contents.groups.reduce(.least) { max($0, $1.time) }
        others = Set(contents.groups.compactMap(\.peer)).union(contents.retired.keys)
    }

    /// The same without its changes: a save of many logs is planned so.
    package var light: ReadyLog {
        var light = self
        light.log = log.withoutBody
        light.contents.groups = []
        light.isLight = true
        return light
    }

    /// Notes a large value that it names.
    package mutating func note(_ value: LargeValue, of group: LogBody.Group) -> RecordValue {
        values[value] = authors(of: group)
        return .null
    }

    /// The log's author, and what that was called when it made a save.
    package func authors(of group: LogBody.Group) -> [PeerIdentifier] { group.peer.map { [peer, $0] } ?? [peer] }

    /// The bytes that joining it takes in.
    package var size: Int { values.keys.reduce(bodySize) { $0 + $1.length } }
}
