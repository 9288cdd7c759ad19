package import StoreFormat

/// The life of a record and the stamps of its columns, as they are stored.
///
/// Nearly always, all columns share one stamp.
package struct RecordClock: Hashable, Sendable {
    /// The life, which is odd while the record is alive and even while it is dead.
    package var life: Int64
    /// The stamp of the columns in `columns`.
    package var stamp: Stamp
    package var columns: ColumnSet
    /// The columns with stamps of their own, in ascending order.
    ///
    /// A column that is neither here nor in `columns` has the least stamp.
    package var others: [Other] = []

    package struct Other: Hashable, Sendable {
        package var column: Int
        package var stamp: Stamp
    }

    package init(life: Int64, stamp: Stamp, columns: ColumnSet) {
        self.life = life
        self.stamp = stamp
        self.columns = columns
    }

    package func stamp(of column: Int) -> Stamp {
        if columns.contains(ColumnSet(column: column)) { return stamp }
        return others.first { $0.column == column }?.stamp ?? .least
    }

    /// Gives columns a stamp.
    package mutating func set(_ changed: ColumnSet, to stamp: Stamp) {
        guard !changed.isEmpty else { return }
        others.removeAll { changed.contains(ColumnSet(column: $0.column)) }
        columns.subtract(changed)
        if columns.isEmpty || stamp == self.stamp {
            self.stamp = stamp
            columns.formUnion(changed)
            return
        }
        guard stamp != .least else { return }
        changed.forEach { others.append(Other(column: $0, stamp: stamp)) }
        others.sort { $0.column < $1.column }
    }
}

extension RecordClock {
    static let otherSize = 1 + 8 + 8

    /// The stored form of `others`: column, time and peer, little-endian, 17 bytes each.
    ///
    /// Nil for none.
    package var packedOthers: [UInt8]? {
        guard !others.isEmpty else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(others.count * Self.otherSize)
        for other in others {
            bytes.append(UInt8(other.column))
            withUnsafeBytes(of: other.stamp.time.rawValue.littleEndian) { bytes.append(contentsOf: $0) }
            withUnsafeBytes(of: other.stamp.peer.rawValue.littleEndian) { bytes.append(contentsOf: $0) }
        }
        return bytes
    }

    /// Reads `packedOthers`.
    ///
    /// Returns nil if the bytes are invalid.
    package static func unpack(_ bytes: UnsafeRawBufferPointer) -> [Other]? {
        guard bytes.count % otherSize == 0 else { return nil }
        var others: [Other] = []
        others.reserveCapacity(bytes.count / otherSize)
        for start in stride(from: 0, to: bytes.count, by: otherSize) {
            let time = bytes.loadUnaligned(fromByteOffset: start + 1, as: Int64.self)
            let peer = bytes.loadUnaligned(fromByteOffset: start + 9, as: Int64.self)
            guard bytes[start] < ColumnSet.capacity else { return nil }
            others.append(
                Other(
                    column: Int(bytes[start]),
                    stamp: Stamp(HybridTime(rawValue: Int64(littleEndian: time)), PeerNumber(rawValue: Int64(littleEndian: peer)))))
        }
        return others
    }
}
