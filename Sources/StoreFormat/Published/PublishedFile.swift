/// A file of a public place, which never changes: its hash is a part of its name.
package struct PublishedFile: Hashable, Sendable {
    /// The hash of its bytes.
    package let hash: ContentHash
    /// Its size in bytes.
    package let size: Int64

    package init(hash: ContentHash, size: Int64) { (self.hash, self.size) = (hash, size) }

    /// Reads the fields that ``write(to:)`` writes.
    init(fieldsOf bytes: ArraySlice<UInt8>) throws {
        var reader = WireReader(bytes)
        var (hash, size): (ContentHash?, Int64?)
        while let (number, value) = try reader.nextField() {
            switch number {
            case 1: hash = try value.hash
            case 2: size = Int64(exactly: try value.number)
            default: break
            }
        }
        guard let hash, let size else { throw LogFault.damaged("it names a file without a hash or a size") }
        self.init(hash: hash, size: size)
    }

    func write(to writer: inout WireWriter) {
        writer.field(1, hash: hash)
        writer.field(2, varint: UInt64(size))
    }
}
