internal import StoreFormat

/// A format of records for other programs (<doc:Export>).
public enum RecordFormat: String, Sendable, Hashable, Codable, CaseIterable {
    /// JSON Lines: one object a line, and all tables in one file.
    case jsonLines = "jsonl"
    /// CSV according to RFC 4180: one file for each table, in a directory.
    case csv
}

/// A record of a file to import.
struct SuppliedRecord: Equatable {
    var table: String
    var columns: [String]
    var values: [RecordValue]
    /// The number of the line on which the record begins, from 1.
    var line = 1
}

/// The description of a fault in a line; the code that reads the file adds the line and the file's name.
struct RecordFault: Error, Equatable {
    var message: String

    init(_ message: String) { self.message = message }
}
