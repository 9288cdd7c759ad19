package import UbiquityContainers

/// What a publisher says of a public container at one moment: which files hold it, and until when this is news.
///
/// It is signed by a device whose account holds the role ``role``. Its file is the only one of a place that is
/// overwritten; everything that it names is immutable.
package struct PublishedHead: Hashable, Sendable {
    /// The role whose holders publish a container.
    package static let role = "ubiquity.publisher"
    /// The size in bytes of the largest head that is read.
    package static let limit = 1 << 20

    /// What a bundle is about.
    package enum Channel: Hashable, Comparable, Sendable {
        /// The statements of the accounts that have written something or signed a statement.
        case accounts
        /// The logs that change a table.
        case table(String)
    }

    /// The state of a part of a table, without the logs that led to it.
    package struct Snapshot: Hashable, Sendable {
        /// The head with which the part was written.
        package var written: Int64
        /// A baseline of the part's records.
        package var records: PublishedFile
        /// The deaths of the part's records; nil if none has died.
        package var deaths: PublishedFile?

        package init(written: Int64, records: PublishedFile, deaths: PublishedFile? = nil) {
            (self.written, self.records, self.deaths) = (written, records, deaths)
        }
    }

    /// The files of one table.
    package struct Table: Hashable, Sendable {
        /// The number of records that are shown.
        package var records: Int64 = 0
        /// The parts of the table at ``PublishedHead/snapshot``, by the first digit of the accounts whose records they
        /// hold; an empty digit for a table in one part.
        package var parts: [String: Snapshot] = [:]

        package init() {}
    }

    /// The statements about the whole container, in one file.
    package struct Authority: Hashable, Sendable {
        /// The head with which the file was written.
        package var written: Int64
        package var file: PublishedFile

        package init(written: Int64, file: PublishedFile) { (self.written, self.file) = (written, file) }
    }

    /// The number of the head, from 1.
    package var number: Int64
    /// The hash of the head before; nil for the first.
    package var predecessor: StatementIdentifier?
    /// The device that publishes.
    package var publisher: PeerIdentifier
    /// The statement or enrolment that names the device.
    package var certificate: StatementIdentifier
    /// The policy that is in effect.
    package var policy: StatementIdentifier
    /// The name of the content.
    package var contentName: String
    /// The epoch of the content.
    package var epoch: Int64
    /// When the head was made, in milliseconds since 1970.
    package var made: Int64
    /// When the head is no news any more, in milliseconds since 1970.
    package var expires: Int64
    /// The head whose state the snapshots hold; 0 if there are none.
    package var snapshot: Int64 = 0
    /// A bundle of all policies and of all statements of the accounts that they name.
    package var authority: Authority
    /// The bundles that are not empty.
    package var bundles: [Channel: [HeadRange: PublishedFile]] = [:]
    /// The tables.
    package var tables: [String: Table] = [:]
    /// The last head that no reader needs a bundle of, because the snapshots hold it.
    package var floor: Int64 = 0

    package init(
        number: Int64, predecessor: StatementIdentifier?, publisher: PeerIdentifier, certificate: StatementIdentifier, policy: StatementIdentifier,
        contentName: String, epoch: Int64, made: Int64, expires: Int64, authority: Authority
    ) {
        (self.number, self.predecessor, self.authority) = (number, predecessor, authority)
        (self.publisher, self.certificate, self.policy) = (publisher, certificate, policy)
        (self.contentName, self.epoch, self.made, self.expires) = (contentName, epoch, made, expires)
    }

    /// The ranges whose bundles the head lists, whether or not a channel has one.
    package var ranges: [HeadRange] { HeadRange.listed(at: number, above: floor) }

    /// Returns the ranges that a reader fetches that has taken in a head; nil if it must begin with the snapshots.
    package func cover(from head: Int64) -> [HeadRange]? { HeadRange.cover(from: head, to: number, among: ranges) }
}

extension PublishedHead: SignedPayload {
    package static var kind: Envelope.Kind { .head }

    private enum Field {
        static let number = 1, predecessor = 2, publisher = 3, certificate = 4, policy = 5, content = 6, epoch = 7, made = 8, expires = 9
        static let snapshot = 10, floor = 11, bundle = 12, table = 13, authority = 14
        static let channel = 1, name = 2, after = 3, last = 4, file = 5
        static let records = 2, part = 3
        static let digit = 1, written = 2, baseline = 3, deaths = 4
    }

    package func encoded() -> [UInt8] {
        var writer = WireWriter(reserving: 4096)
        writer.field(Field.number, varint: UInt64(number))
        if let predecessor { writer.field(Field.predecessor, hash: predecessor.hash) }
        writer.field(Field.publisher, string: publisher.description)
        writer.field(Field.certificate, hash: certificate.hash)
        writer.field(Field.policy, hash: policy.hash)
        writer.field(Field.content, string: contentName)
        writer.field(Field.epoch, varint: UInt64(epoch))
        writer.field(Field.made, varint: UInt64(max(0, made)))
        writer.field(Field.expires, varint: UInt64(max(0, expires)))
        writer.field(Field.snapshot, varint: UInt64(snapshot))
        writer.field(Field.floor, varint: UInt64(floor))
        writer.field(Field.authority) { entry in
            entry.field(Field.written, varint: UInt64(authority.written))
            entry.field(Field.file, message: authority.file.write)
        }
        for (channel, files) in bundles.sorted(by: { $0.key < $1.key }) {
            for (range, file) in files.sorted(by: { $0.key < $1.key }) {
                writer.field(Field.bundle) { entry in
                    entry.field(Field.channel, varint: channel.number)
                    if case .table(let name) = channel { entry.field(Field.name, string: name) }
                    entry.field(Field.after, varint: UInt64(range.after))
                    entry.field(Field.last, varint: UInt64(range.last))
                    entry.field(Field.file, message: file.write)
                }
            }
        }
        for (name, table) in tables.sorted(by: { $0.key < $1.key }) {
            writer.field(Field.table) { entry in
                entry.field(1, string: name)
                entry.field(Field.records, varint: UInt64(table.records))
                for (digit, snapshot) in table.parts.sorted(by: { $0.key < $1.key }) {
                    entry.field(Field.part) { part in
                        part.field(Field.digit, string: digit)
                        part.field(Field.written, varint: UInt64(snapshot.written))
                        part.field(Field.baseline, message: snapshot.records.write)
                        if let deaths = snapshot.deaths { part.field(Field.deaths, message: deaths.write) }
                    }
                }
            }
        }
        return writer.bytes
    }

    package init(fieldsOf bytes: ArraySlice<UInt8>) throws {
        var reader = WireReader(bytes)
        var numbers: [Int: Int64] = [:]
        var (predecessor, publisher, authority): (StatementIdentifier?, PeerIdentifier?, Authority?)
        var (certificate, policy, content): (StatementIdentifier?, StatementIdentifier?, String?)
        var (bundles, tables): ([Channel: [HeadRange: PublishedFile]], [String: Table]) = ([:], [:])
        while let (number, value) = try reader.nextField() {
            switch number {
            case Field.number, Field.epoch, Field.made, Field.expires, Field.snapshot, Field.floor: numbers[number] = try value.count
            case Field.predecessor: predecessor = try value.statement
            case Field.publisher: publisher = try value.peer
            case Field.certificate: certificate = try value.statement
            case Field.policy: policy = try value.statement
            case Field.content: content = try value.string
            case Field.authority: authority = try Self.authority(try value.data)
            case Field.bundle:
                guard let (channel, range, file) = try Self.bundle(try value.data) else { continue }
                guard bundles[channel, default: [:]].updateValue(file, forKey: range) == nil else {
                    throw LogFault.damaged("it names two bundles of one range")
                }
            case Field.table:
                let (name, table) = try Self.table(try value.data)
                guard tables.updateValue(table, forKey: name) == nil else { throw LogFault.damaged("it names the table \(name) twice") }
            default: break
            }
        }
        guard let publisher, let certificate, let policy, let content, let number = numbers[Field.number], let epoch = numbers[Field.epoch],
            let made = numbers[Field.made], let expires = numbers[Field.expires], let authority
        else { throw LogFault.damaged("it lacks a field") }
        self.init(
            number: number, predecessor: predecessor, publisher: publisher, certificate: certificate, policy: policy, contentName: content,
            epoch: epoch, made: made, expires: expires, authority: authority)
        (snapshot, floor) = (numbers[Field.snapshot] ?? 0, numbers[Field.floor] ?? 0)
        (self.bundles, self.tables) = (bundles, tables)
        guard (1...HeadRange.lastHead).contains(number), (predecessor == nil) == (number == 1), (0...number).contains(snapshot),
            (0...snapshot).contains(floor), (1...number).contains(authority.written), epoch >= 1, made <= Self.lastTime, expires <= Self.lastTime
        else { throw LogFault.damaged("its numbers are impossible") }
        let listed = Set(ranges)
        guard bundles.values.allSatisfy({ $0.keys.allSatisfy(listed.contains) }) else {
            throw LogFault.damaged("it names a bundle of a range that it has not")
        }
        guard tables.values.allSatisfy({ table in table.parts.values.allSatisfy { (1...max(1, snapshot)).contains($0.written) } }) else {
            throw LogFault.damaged("it names a snapshot of a later head")
        }
    }

    /// The last millisecond of a date, in the year 10889, as in a log.
    private static let lastTime: Int64 = 1 << 48

    private static func authority(_ bytes: ArraySlice<UInt8>) throws -> Authority {
        var reader = WireReader(bytes)
        var (written, file): (Int64?, PublishedFile?)
        while let (field, value) = try reader.nextField() {
            switch field {
            case Field.written: written = try value.count
            case Field.file: file = try PublishedFile(fieldsOf: try value.data)
            default: break
            }
        }
        guard let written, let file else { throw LogFault.damaged("its file of policies lacks a field") }
        return Authority(written: written, file: file)
    }

    private static func bundle(_ bytes: ArraySlice<UInt8>) throws -> (Channel, HeadRange, PublishedFile)? {
        var reader = WireReader(bytes)
        var (number, name, after, last, file): (UInt64?, String?, Int64?, Int64?, PublishedFile?)
        while let (field, value) = try reader.nextField() {
            switch field {
            case Field.channel: number = try value.number
            case Field.name: name = try value.string
            case Field.after: after = try value.count
            case Field.last: last = try value.count
            case Field.file: file = try PublishedFile(fieldsOf: try value.data)
            default: break
            }
        }
        guard let number, let after, let last, let file, let range = HeadRange(after: after, last: last) else {
            throw LogFault.damaged("it has a bundle whose range is impossible")
        }
        // A channel of a newer version.
        guard let channel = Channel(number, name) else { return nil }
        return (channel, range, file)
    }

    private static func table(_ bytes: ArraySlice<UInt8>) throws -> (String, Table) {
        var reader = WireReader(bytes)
        var (name, table): (String?, Table) = (nil, Table())
        while let (field, value) = try reader.nextField() {
            switch field {
            case 1: name = try value.string
            case Field.records: table.records = try value.count
            case Field.part:
                let (digit, snapshot) = try part(try value.data)
                guard table.parts.updateValue(snapshot, forKey: digit) == nil else { throw LogFault.damaged("it names a part of a table twice") }
            default: break
            }
        }
        guard let name, !name.isEmpty else { throw LogFault.damaged("it has a table without a name") }
        return (name, table)
    }

    private static func part(_ bytes: ArraySlice<UInt8>) throws -> (String, Snapshot) {
        var reader = WireReader(bytes)
        var (digit, written, records, deaths): (String?, Int64?, PublishedFile?, PublishedFile?)
        while let (field, value) = try reader.nextField() {
            switch field {
            case Field.digit: digit = try value.string
            case Field.written: written = try value.count
            case Field.baseline: records = try PublishedFile(fieldsOf: try value.data)
            case Field.deaths: deaths = try PublishedFile(fieldsOf: try value.data)
            default: break
            }
        }
        guard let digit, digit.isEmpty || Base32.isDigit(digit), let written, let records else {
            throw LogFault.damaged("it has a part of a table that lacks a field")
        }
        return (digit, Snapshot(written: written, records: records, deaths: deaths))
    }
}

extension PublishedHead.Channel {
    fileprivate var number: UInt64 {
        switch self {
        case .accounts: 1
        case .table: 2
        }
    }

    fileprivate init?(_ number: UInt64, _ name: String?) {
        switch (number, name) {
        case (1, _): self = .accounts
        case (2, let name?) where !name.isEmpty: self = .table(name)
        default: return nil
        }
    }
}
