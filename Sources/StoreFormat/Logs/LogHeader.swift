package import Foundation
package import UbiquityContainers

/// The first part of a log: its author, predecessor and knowledge.
///
/// Its format is final. Unknown fields are skipped.
package struct LogHeader: Hashable, Sendable {
    /// The latest format of the header and of the file around it that this version reads.
    package static let format: UInt64 = 2

    /// The version of the body format.
    package var bodyVersion: UInt64
    /// The log's author.
    package var peer: PeerIdentifier
    /// The name of the content that the log belongs to.
    package var contentName: String
    /// The epoch that the log belongs to.
    package var epoch: Int64
    /// The number of the log among its author's logs in this epoch, from 1.
    package var sequence: Int64
    /// The hash of the author's previous log.
    ///
    /// Nil for the first.
    package var predecessor: ContentHash?
    /// The logs that the author had joined since its previous log.
    package var news: Knowledge
    /// The last migration of the author's schema.
    package var schema: String
    /// The author's wall clock.
    package var created: Date
    /// The number of saves in the log.
    package var saves: Int64
    /// The number of changes in the log.
    package var changes: Int64
    /// The number of earlier logs of a save that has several logs.
    ///
    /// It is 0 for the first, and for a log of whole saves.
    package var part: Int64 = 0
    /// Whether the last save continues in the author's next log.
    ///
    /// The two are joined together.
    package var goesOn = false
    /// The rights that the author claims, in a log with a signature.
    ///
    /// A log has format 2 if it has rights, and format 1 otherwise.
    package var rights: LogRights?

    /// The position of the author's previous log.
    ///
    /// Nil for the first.
    package var previous: Knowledge.Position? { predecessor.map { .init(sequence: sequence - 1, hash: $0) } }

    package init(
        bodyVersion: UInt64 = LogBody.version, peer: PeerIdentifier, contentName: String, epoch: Int64, sequence: Int64, predecessor: ContentHash?,
        news: Knowledge, schema: String, created: Date, saves: Int64, changes: Int64
    ) {
        self.bodyVersion = bodyVersion
        self.peer = peer
        self.contentName = contentName
        self.epoch = epoch
        self.sequence = sequence
        self.predecessor = predecessor
        self.news = news
        self.schema = schema
        self.created = created
        self.saves = saves
        self.changes = changes
    }
}

extension LogHeader {
    /// Whether the log holds a part of a save, and another log the rest.
    package var isPart: Bool { part > 0 || goesOn }
}

extension LogHeader {
    private enum Field {
        static let format = 1, bodyVersion = 2, peer = 3, contentName = 4, epoch = 5, sequence = 6, predecessor = 7, news = 8, schema = 9
        static let created = 10, saves = 11, changes = 12, part = 13, goesOn = 14
        static let container = 15, policy = 16, certificate = 17
        static let newsPeer = 1, newsSequence = 2, newsHash = 3
    }

    package func encoded() -> [UInt8] {
        var writer = WireWriter(reserving: 256)
        writer.field(Field.format, varint: rights == nil ? 1 : 2)
        writer.field(Field.bodyVersion, varint: bodyVersion)
        writer.field(Field.peer, string: peer.description)
        writer.field(Field.contentName, string: contentName)
        writer.field(Field.epoch, varint: UInt64(epoch))
        writer.field(Field.sequence, varint: UInt64(sequence))
        if let predecessor { writer.field(Field.predecessor, bytes: predecessor.bytes) }
        for (peer, position) in news.entries {
            var entry = WireWriter()
            entry.field(Field.newsPeer, string: peer.description)
            entry.field(Field.newsSequence, varint: UInt64(position.sequence))
            entry.field(Field.newsHash, bytes: position.hash.bytes)
            writer.field(Field.news, bytes: entry.bytes)
        }
        writer.field(Field.schema, string: schema)
        writer.field(Field.created, varint: UInt64(max(0, created.timeIntervalSince1970 * 1000)))
        writer.field(Field.saves, varint: UInt64(saves))
        writer.field(Field.changes, varint: UInt64(changes))
        if part > 0 { writer.field(Field.part, varint: UInt64(part)) }
        if goesOn { writer.field(Field.goesOn, varint: 1) }
        if let rights {
            writer.field(Field.container, bytes: rights.container.hash.bytes)
            writer.field(Field.policy, bytes: rights.policy.hash.bytes)
            writer.field(Field.certificate, bytes: rights.certificate.hash.bytes)
        }
        return writer.bytes
    }

    package init(decoding bytes: ArraySlice<UInt8>) throws(LogFault) {
        do {
            try self.init(fieldsOf: bytes)
        } catch let fault as WireReader.Fault {
            throw .damaged("its header is \(fault == .truncated ? "truncated" : "malformed")")
        } catch let fault as LogFault {
            throw fault
        } catch {
            throw .damaged("its header is malformed")
        }
    }

    private init(fieldsOf bytes: ArraySlice<UInt8>) throws {
        var reader = WireReader(bytes)
        var format: UInt64 = 0
        var bodyVersion: UInt64?
        var peer: PeerIdentifier?
        var contentName: String?
        var epoch: Int64?
        var sequence: Int64?
        var predecessor: ContentHash?
        var news = Knowledge()
        var schema = ""
        var created: UInt64 = 0
        var saves: Int64 = 0
        var changes: Int64 = 0
        var part: Int64 = 0
        var goesOn = false
        var (container, policy, certificate): (ContentHash?, ContentHash?, ContentHash?)
        while let (number, value) = try reader.nextField() {
            switch number {
            case Field.format: format = try value.number
            case Field.bodyVersion: bodyVersion = try value.number
            case Field.peer: peer = PeerIdentifier(try value.string)
            case Field.contentName: contentName = try value.string
            case Field.epoch: epoch = Int64(exactly: try value.number)
            case Field.sequence: sequence = Int64(exactly: try value.number)
            case Field.predecessor:
                guard let hash = ContentHash(bytes: try value.data) else { throw LogFault.damaged("its predecessor's hash is malformed") }
                predecessor = hash
            case Field.news:
                let (peer, position) = try Self.entry(try value.data)
                news.insert(position, of: peer)
            case Field.schema: schema = try value.string
            // A date has 48 bits, as in a stamp. A later date could not be shown or written again.
            case Field.created: created = min(try value.number, 1 << 48)
            case Field.saves: saves = Int64(clamping: try value.number)
            case Field.changes: changes = Int64(clamping: try value.number)
            case Field.part: part = Int64(clamping: try value.number)
            case Field.goesOn: goesOn = try value.number != 0
            case Field.container: container = ContentHash(bytes: try value.data)
            case Field.policy: policy = ContentHash(bytes: try value.data)
            case Field.certificate: certificate = ContentHash(bytes: try value.data)
            default: break
            }
        }
        guard format <= Self.format else { throw LogFault.newer("its header has format \(format)") }
        guard let bodyVersion, let peer, let contentName, let epoch, let sequence, epoch > 0, (1...Knowledge.Position.lastSequence).contains(sequence)
        else {
            throw LogFault.damaged("its header lacks a field")
        }
        guard (sequence == 1) == (predecessor == nil) else { throw LogFault.damaged("its predecessor does not fit its sequence") }
        self.init(
            bodyVersion: bodyVersion, peer: peer, contentName: contentName, epoch: epoch, sequence: sequence, predecessor: predecessor,
            news: news, schema: schema, created: Date(timeIntervalSince1970: Double(created) / 1000), saves: saves, changes: changes)
        (self.part, self.goesOn) = (part, goesOn)
        guard format == 2 else { return }
        guard let container, let policy, let certificate else { throw LogFault.damaged("its header lacks the rights that its author claims") }
        rights = LogRights(container: .init(container), policy: .init(policy), certificate: .init(certificate))
    }

    private static func entry(_ bytes: ArraySlice<UInt8>) throws -> (PeerIdentifier, Knowledge.Position) {
        var reader = WireReader(bytes)
        var peer: PeerIdentifier?
        var sequence: Int64?
        var hash: ContentHash?
        while let (number, value) = try reader.nextField() {
            switch number {
            case Field.newsPeer: peer = PeerIdentifier(try value.string)
            case Field.newsSequence: sequence = Int64(exactly: try value.number)
            case Field.newsHash: hash = ContentHash(bytes: try value.data)
            default: break
            }
        }
        guard let peer, let sequence, (1...Knowledge.Position.lastSequence).contains(sequence), let hash else {
            throw LogFault.damaged("its knowledge is malformed")
        }
        return (peer, .init(sequence: sequence, hash: hash))
    }
}
