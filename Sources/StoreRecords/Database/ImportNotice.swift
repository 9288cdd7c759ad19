/// The records that an import touched, never empty; to read them again brings an observer up to date.
public struct ImportNotice: Sendable, Hashable {
    /// The records that were inserted.
    public internal(set) var inserted: Set<ObjectID>
    /// The records of which some columns changed.
    public internal(set) var updated: Set<ObjectID>
    /// The records that were deleted.
    public internal(set) var deleted: Set<ObjectID>

    /// Whether the import changed nothing.
    package var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }
}
