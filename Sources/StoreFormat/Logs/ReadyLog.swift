package import UbiquityContainers

/// A log that has been read and checked.
package struct ReadyLog {
    package var peer: PeerIdentifier
    package var name: LogFileName
    package private(set) var log: LogFile
    package private(set) var contents: LogBody.Contents
    /// Whether this store has left the author's schema behind.
    package var isOlder: Bool
    /// The large values that the log names, and the peers in whose directories they may lie.
    package var values: [LargeValue: [PeerIdentifier]] = [:]
    /// The highest stamp in the log.
    package let time: HybridTime
    /// The peers other than the author whose changes the log holds, or that it retires.
    package let others: Set<PeerIdentifier>
    /// Whether the changes are not in memory, and are read when the log is joined.
    package private(set) var isLight = false
    private let bodySize: Int

    package init(peer: PeerIdentifier, name: LogFileName, log: LogFile, contents: LogBody.Contents, isOlder: Bool) {
        (self.peer, self.name, self.log, self.contents, self.isOlder) = (peer, name, log, contents, isOlder)
        bodySize = log.body.count
        time = contents.groups.reduce(.least) { max($0, $1.time) }
        others = Set(contents.groups.compactMap(\.peer)).union(contents.retired.keys)
    }

    /// The log without its changes.
    ///
    /// A save of many logs is planned in this form.
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

    /// Returns the author of the log, and the author's former identifier if the group names one.
    package func authors(of group: LogBody.Group) -> [PeerIdentifier] { group.peer.map { [peer, $0] } ?? [peer] }

    /// The number of bytes that joining the log reads.
    package var size: Int { values.keys.reduce(bodySize) { $0 + $1.length } }
}
