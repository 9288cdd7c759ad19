internal import Foundation
internal import SystemPackage
internal import UbiquityContainers

/// The progress and the result of copying a store.
public struct StoreMigration: Sendable, Hashable {
    /// The number of rows in the copy.
    public internal(set) var rows = 0
    /// The number of rows to copy.
    public internal(set) var total = 0
    /// The number of rows that a continued copy already had.
    public internal(set) var kept = 0
    /// The rows of each finished table: copy and table were compared by the number of rows and a hash of their content.
    public internal(set) var tables: [String: Int] = [:]

    package init() {}
}
