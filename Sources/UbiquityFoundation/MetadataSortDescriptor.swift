import UbiquityContainers

/// An attribute by which a query sorts its results.
///
/// It stands for `NSSortDescriptor(key:ascending:)`, which Foundation for Linux does not offer, because it has no key-value coding.
public struct MetadataSortDescriptor: Hashable, Sendable {
    /// The attribute: one of the constants `NSMetadataItem…Key`.
    public let key: String
    /// Whether smaller values come first.
    public let ascending: Bool

    /// Makes a descriptor.
    ///
    /// - Parameters:
    ///   - key: the attribute.
    ///   - ascending: whether smaller values come first; an item without the attribute comes before the others then.
    public init(key: String, ascending: Bool) {
        self.key = key
        self.ascending = ascending
    }
}

extension [MetadataSortDescriptor] {
    /// Returns whether the first of two items comes before the second.
    func areInOrder(_ first: MetadataItem, _ second: MetadataItem) -> Bool {
        for descriptor in self {
            let values = [first, second].map { MetadataValue($0.value(forAttribute: descriptor.key)) ?? .nothing }
            if values[0].isBefore(values[1]) { return descriptor.ascending }
            if values[1].isBefore(values[0]) { return !descriptor.ascending }
        }
        return false
    }
}
