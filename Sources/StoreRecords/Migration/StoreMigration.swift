internal import Foundation
internal import SystemPackage
internal import UbiquityContainers

/// How far the copy of a store has come, and what it came to.
public struct StoreMigration: Sendable, Hashable {
    /// How many rows are in the copy.
    public internal(set) var rows = 0
    /// How many there are.
    public internal(set) var total = 0
    /// How many of the rows in the copy had been there when it was taken up again.
    public internal(set) var kept = 0
    /// The rows of each table that is done: copy and table were compared, by their number and a hash of their content.
    public internal(set) var tables: [String: Int] = [:]

    package init() {}
}
