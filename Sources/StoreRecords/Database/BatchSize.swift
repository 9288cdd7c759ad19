internal import Foundation

/// The number of rows in one transaction where a whole table is read.
///
/// It is large enough that the cost of a commit does not matter, and small enough that other writers need not wait. In
/// debug builds a test can reduce it with `UBIQUITY_BATCH_ROWS`, so that a few rows make several batches.
enum BatchSize {
    static let rows: Int = {
        #if DEBUG
            if let text = ProcessInfo.processInfo.environment["UBIQUITY_BATCH_ROWS"], let rows = Int(text), rows > 0 { return rows }
        #endif
        return 10_000
    }()

    /// The number of pages in one step of a file copy.
    static let pages = CInt(min(128, max(1, rows / 5)))
}
