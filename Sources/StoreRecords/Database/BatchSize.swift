internal import Foundation

/// How many rows are one transaction where a whole table is read: enough that a commit costs nothing, and few enough that others need not wait.
///
/// A test makes it smaller with `UBIQUITY_BATCH_ROWS`, so that a few rows are several batches. Debug builds only.
enum BatchSize {
    static let rows: Int = {
        #if DEBUG
            if let text = ProcessInfo.processInfo.environment["UBIQUITY_BATCH_ROWS"], let rows = Int(text), rows > 0 { return rows }
        #endif
        return 10_000
    }()

    /// How many pages of a file are one step of a copy.
    static let pages = CInt(min(128, max(1, rows / 5)))
}
