internal import StoreFormat

extension RecordClock {
    /// Whether any column has been written with a stamp.
    var hasStamps: Bool { !columns.isEmpty && stamp != .least || !others.isEmpty }

    /// Returns the latest stamp of a column.
    func latest(by peers: PeerTable) -> Stamp {
        others.reduce(stamp) { peers.compare($1.stamp, $0) == .greater ? $1.stamp : $0 }
    }

    /// Returns the columns by their stamps.
    ///
    /// Columns without a stamp come last.
    func byStamp(_ all: ColumnSet) -> [(stamp: Stamp, columns: ColumnSet)] {
        var found: [(stamp: Stamp, columns: ColumnSet)] = []
        if !columns.isEmpty, stamp != .least { found.append((stamp, columns)) }
        var rest = all.subtracting(stamp == .least ? [] : columns)
        for other in others {
            rest.subtract(ColumnSet(column: other.column))
            if let index = found.firstIndex(where: { $0.stamp == other.stamp }) {
                found[index].columns.insert(ColumnSet(column: other.column))
            } else {
                found.append((other.stamp, ColumnSet(column: other.column)))
            }
        }
        // A record that was only inserted has the stamp of its life and no columns.
        if found.isEmpty { return [(.least, rest)] }
        return rest.isEmpty ? found : found + [(.least, rest)]
    }
}
