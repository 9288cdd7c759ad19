/// The deaths of records, which a snapshot lists without their keys: a reader that meets a late change of such a record
/// leaves the record dead, and the place holds no trace of what it was.
///
/// The file is a sequence of 24 bytes a death, ordered by the first 16: the first half of the hash of the key, and the life
/// that ended, little-endian.
package struct DeathList: Hashable, Sendable {
    /// The hash of a key.
    package struct Mark: Hashable, Comparable, Sendable {
        package let bytes: [UInt8]

        package init?(bytes: some Collection<UInt8>) {
            guard bytes.count == Self.size else { return nil }
            self.bytes = Array(bytes)
        }

        /// Returns the mark of a key: SHA-256 over `ubiquity/death/1`, a zero byte and the values of the key as a log has
        /// them.
        package init(of key: [RecordValue]) {
            var writer = WireWriter(reserving: 128)
            writer.raw(Array("ubiquity/death/1".utf8) + [0])
            for value in key { writer.recordValue(value) }
            bytes = Array(ContentHash(of: writer.bytes).bytes.prefix(Self.size))
        }

        package static let size = 16
        package static func < (left: Self, right: Self) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
    }

    /// The life that ended, by the mark of the record's key.
    package var lives: [Mark: Int64] = [:]

    package init() {}

    private static let entrySize = Mark.size + 8

    /// Reads a file.
    ///
    /// - Throws: `LogFault`.
    package init(decoding bytes: [UInt8]) throws(LogFault) {
        guard bytes.count.isMultiple(of: Self.entrySize) else { throw .damaged("it is truncated") }
        var last: Mark?
        for start in stride(from: 0, to: bytes.count, by: Self.entrySize) {
            let mark = Mark(bytes: bytes[start..<start + Mark.size])!
            let life = bytes[start + Mark.size..<start + Self.entrySize].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            guard last.map({ $0 < mark }) ?? true, let life = Int64(exactly: life), life > 0 else {
                throw .damaged("its deaths are out of order, or one is impossible")
            }
            lives[mark] = life
            last = mark
        }
    }

    /// The bytes of the file.
    package var encoded: [UInt8] {
        var writer = WireWriter(reserving: lives.count * Self.entrySize)
        for (mark, life) in lives.sorted(by: { $0.key < $1.key }) {
            writer.raw(mark.bytes)
            writer.little(UInt64(life))
        }
        return writer.bytes
    }
}
