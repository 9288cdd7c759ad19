/// Splits a bundle into its entries, from pieces of any size, in memory for one entry.
package struct BundleDecoder {
    private var bytes: [UInt8] = []
    private var position = 0

    package init() {}

    /// Adds the next piece of the bundle.
    package mutating func feed(_ piece: some Sequence<UInt8>) {
        if position > 0 {
            bytes.removeFirst(position)
            position = 0
        }
        bytes.append(contentsOf: piece)
    }

    /// Returns the next entry; nil if more bytes are needed.
    ///
    /// - Throws: `LogFault` if the bytes are no bundle.
    package mutating func next() throws(LogFault) -> BundleEntry? {
        while position < bytes.count {
            var reader = WireReader(bytes[position...])
            do {
                let key = try reader.varint()
                guard key & 7 == 2, let number = Int(exactly: key >> 3), number > 0 else { throw LogFault.damaged("it is no bundle") }
                let size = try reader.varint()
                guard size <= UInt64(BundleEntry.limit) else { throw LogFault.damaged("an entry of it is larger than a log may be") }
                guard size <= UInt64(reader.remaining) else { return nil }
                let field = try reader.take(Int(size))
                position = field.endIndex
                if let entry = try BundleEntry(field: number, field) { return entry }
            } catch WireReader.Fault.truncated where bytes.count - position < Self.headSize {
                return nil
            } catch let fault as LogFault {
                throw fault
            } catch {
                throw .damaged("it is no bundle")
            }
        }
        return nil
    }

    /// The size in bytes of the longest number and length of a field.
    private static let headSize = 20

    /// Whether all bytes so far belong to entries that have been returned.
    package var isAtEnd: Bool { position == bytes.count }
}
