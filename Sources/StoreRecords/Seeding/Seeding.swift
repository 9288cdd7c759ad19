/// How far a seeding has come, and what it came to.
public struct Seeding: Sendable, Hashable {
    /// How many records were inserted.
    public internal(set) var seeded = 0
    /// How many were passed over, for they are here already, or somebody deleted them.
    public internal(set) var skipped = 0
    /// How many the source has; nil where nobody can tell before its end.
    public package(set) var total: Int?
    /// Whether there was nothing to do, or nothing more: the seed's token was here, by an earlier call or from another device.
    public package(set) var wasComplete = false

    package init(seeded: Int = 0, skipped: Int = 0, total: Int? = nil, wasComplete: Bool = false) {
        self.seeded = seeded
        self.skipped = skipped
        self.total = total
        self.wasComplete = wasComplete
    }
}
