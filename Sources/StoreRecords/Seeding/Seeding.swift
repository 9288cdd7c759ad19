/// The progress and the result of a seeding.
public struct Seeding: Sendable, Hashable {
    /// The number of inserted records.
    public internal(set) var seeded = 0
    /// The number of records that were skipped, because they exist already or were deleted.
    public internal(set) var skipped = 0
    /// The number of records of the source; nil if that is unknown before its end.
    public package(set) var total: Int?
    /// Whether the seeding had nothing left to do: its token was already set, by an earlier call or another device.
    public package(set) var wasComplete = false

    package init(seeded: Int = 0, skipped: Int = 0, total: Int? = nil, wasComplete: Bool = false) {
        self.seeded = seeded
        self.skipped = skipped
        self.total = total
        self.wasComplete = wasComplete
    }
}
