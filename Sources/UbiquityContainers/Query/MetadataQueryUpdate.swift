internal import SystemPackage

/// What a query has to tell: where it stands, what is different, and everything that it finds now.
public struct MetadataQueryUpdate: Sendable, Hashable {
    /// Where a query stands; Cocoa's notifications of `NSMetadataQuery`.
    public enum Kind: Sendable, Hashable {
        /// It begins, or begins again with another predicate or order: nothing is found yet.
        case gatheringBegan
        /// Some more is found.
        case gatheringProgressed
        /// Everything that is there is found.
        case gatheringFinished
        /// Something has changed.
        case updated
    }

    /// Where the query stands.
    public internal(set) var kind: Kind
    /// The items that are new among the results.
    public internal(set) var added: [MetadataItem]
    /// The items that are among the results as before, and different themselves.
    public internal(set) var changed: [MetadataItem]
    /// The items that are among the results no longer, as they were.
    public internal(set) var removed: [MetadataItem]
    /// All that match, in the query's order.
    public internal(set) var results: [MetadataItem]

    /// Takes in the update that follows, for a reader who has read neither.
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
