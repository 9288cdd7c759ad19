internal import SystemPackage

/// An update of a query: its state, the differences, and all current results.
public struct MetadataQueryUpdate: Sendable, Hashable {
    /// The states of a query; Cocoa's notifications of `NSMetadataQuery`.
    public enum Kind: Sendable, Hashable {
        /// The query starts, or restarts with another predicate or order: nothing is found yet.
        case gatheringBegan
        /// More items are found.
        case gatheringProgressed
        /// All existing items are found.
        case gatheringFinished
        /// Something has changed.
        case updated
    }

    /// The state of the query.
    public internal(set) var kind: Kind
    /// The new items among the results.
    public internal(set) var added: [MetadataItem]
    /// The items that stay among the results and have changed.
    public internal(set) var changed: [MetadataItem]
    /// The items that left the results, in their last state.
    public internal(set) var removed: [MetadataItem]
    /// All matching items, in the query's order.
    public internal(set) var results: [MetadataItem]

    /// Merges the following update, for a reader that has read neither.
    mutating func merge(_ next: MetadataQueryUpdate) {
        guard next.kind != .gatheringBegan else {
            self = next
            return
        }
        var added = Dictionary(uniqueKeysWithValues: self.added.map { ($0.path, $0) })
        var changed = Dictionary(uniqueKeysWithValues: self.changed.map { ($0.path, $0) })
        var removed = Dictionary(uniqueKeysWithValues: self.removed.map { ($0.path, $0) })
        for item in next.removed {
            changed[item.path] = nil
            if added.removeValue(forKey: item.path) == nil { removed[item.path] = removed[item.path] ?? item }
        }
        for item in next.changed {
            if added[item.path] != nil { added[item.path] = item } else { changed[item.path] = item }
        }
        for item in next.added {
            if removed.removeValue(forKey: item.path) != nil { changed[item.path] = item } else { added[item.path] = item }
        }
        func listed(_ items: [FilePath: MetadataItem]) -> [MetadataItem] { items.values.sorted { $0.path.string < $1.path.string } }
        self = MetadataQueryUpdate(
            kind: next.kind, added: listed(added), changed: listed(changed), removed: listed(removed), results: next.results)
    }
}
