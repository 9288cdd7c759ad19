package import UbiquityContainers

/// What a bundle holds, in the order in which the publisher has taken it in.
///
/// A bundle is a message of the Protocol Buffers wire format with a field an entry. So the bundles of consecutive ranges,
/// one behind the other, are the bundle of the range that holds them.
package struct BundleEntry: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
        /// A statement's file.
        case statement(ArraySlice<UInt8>)
        /// A log's file.
        case log(PeerIdentifier, LogFileName, ArraySlice<UInt8>)
        /// The baseline that a statement behind it names, a file of its own.
        case base(BaselineID, size: Int64)
        /// A large value that a log behind it names, a file of its own.
        case value(ContentHash, size: Int64)
    }

    /// The head with which it was published first.
    package var head: Int64
    package var content: Content

    package init(head: Int64, _ content: Content) { (self.head, self.content) = (head, content) }

    /// The size in bytes of the largest entry that is read.
    ///
    /// Programs of this package write logs of a few MiB.
    package static let limit = 1 << 26

    private enum Field {
        static let statement = 1, log = 2, base = 3, value = 4
        static let head = 1, bytes = 2, peer = 3, name = 4, size = 5, baseline = 6
    }

    /// Writes the entry as one field of a bundle.
    package func write(to writer: inout WireWriter) {
        switch content {
        case .statement(let bytes):
            writer.field(Field.statement) { entry in
                entry.field(Field.head, varint: UInt64(head))
                entry.field(Field.bytes, bytes: bytes)
            }
        case .log(let peer, let name, let bytes):
            writer.field(Field.log) { entry in
                entry.field(Field.head, varint: UInt64(head))
                entry.field(Field.peer, string: peer.description)
                entry.field(Field.name, string: name.description)
                entry.field(Field.bytes, bytes: bytes)
            }
        case .base(let baseline, let size):
            writer.field(Field.base) { entry in
                entry.field(Field.head, varint: UInt64(head))
                entry.field(Field.baseline, baseline)
                entry.field(Field.size, varint: UInt64(size))
            }
        case .value(let hash, let size):
            writer.field(Field.value) { entry in
                entry.field(Field.head, varint: UInt64(head))
                entry.field(Field.bytes, hash: hash)
                entry.field(Field.size, varint: UInt64(size))
            }
        }
    }

    /// Reads a field of a bundle.
    ///
    /// Returns nil if it is of a kind of a newer version.
    ///
    /// - Parameters:
    ///   - number: the number of the field.
    ///   - bytes: its bytes.
    /// - Throws: `LogFault`, or `WireReader.Fault`.
    package init?(field number: Int, _ bytes: ArraySlice<UInt8>) throws {
        guard (Field.statement...Field.value).contains(number) else { return nil }
        var reader = WireReader(bytes)
        var (head, data, size): (Int64?, ArraySlice<UInt8>?, Int64?)
        var (peer, name, baseline): (PeerIdentifier?, LogFileName?, BaselineID?)
        while let (field, value) = try reader.nextField() {
            switch field {
            case Field.head: head = try value.count
            case Field.bytes: data = try value.data
            case Field.peer: peer = try value.peer
            case Field.name: name = LogFileName(try value.string)
            case Field.size: size = try value.count
            case Field.baseline: baseline = try value.baseline
            default: break
            }
        }
        guard let head, (1...HeadRange.lastHead).contains(head) else { throw LogFault.damaged("an entry of it names no head") }
        switch (number, data, size) {
        case (Field.statement, let bytes?, _): self.init(head: head, .statement(bytes))
        case (Field.log, let bytes?, _):
            guard let peer, let name else { throw LogFault.damaged("a log in it has no name") }
            self.init(head: head, .log(peer, name, bytes))
        case (Field.base, _, let size?):
            guard let baseline else { throw LogFault.damaged("a baseline in it has no name") }
            self.init(head: head, .base(baseline, size: size))
        case (Field.value, let bytes?, let size?):
            guard let hash = ContentHash(bytes: bytes) else { throw LogFault.damaged("a value in it has no hash") }
            self.init(head: head, .value(hash, size: size))
        default: throw LogFault.damaged("an entry of it lacks a field")
        }
    }
}
