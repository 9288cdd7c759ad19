internal import StoreFormat

/// How records are written for other programs (<doc:Export>).
public enum RecordFormat: String, Sendable, Hashable, Codable, CaseIterable {
    /// JSON Lines: an object a line, for all tables in one file.
    case jsonLines = "jsonl"
    /// CSV, as RFC 4180 has it: a file for each table, in a directory.
    case csv
}

/// A record that somebody supplies, as a line has it.
struct SuppliedRecord: Equatable {
    var table: String
    var columns: [String]
    var values: [RecordValue]
    /// The number of the line on which it begins, from 1.
    var line = 1
}

/// What is wrong with a line; whoever reads knows which one, and of which file.
struct RecordFault: Error, Equatable {
    var message: String

    init(_ message: String) { self.message = message }
}
