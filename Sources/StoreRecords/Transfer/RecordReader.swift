internal import StoreFormat
internal import SystemPackage

/// Reads the records of an input one after the other, and holds at most one record and one piece of the file.
struct RecordReader {
    let input: RecordInput
    let tables: [String: RecordTable]
    /// The maximum size of a line or row in bytes; a longer one throws before all of it is in memory.
    let limit: Int

    /// Reads all records.
    ///
    /// - Parameter body: receives each record; a `RecordFault` that it throws is reported for the record's line.
    /// - Throws: `UbiquitousStoreError` with the line, and the other errors of the body.
    func forEach(_ body: (SuppliedRecord) throws -> Void) throws {
        switch input.format {
        case .jsonLines: try forEachLine(body)
        case .csv: try forEachRow(body)
        }
    }

    private func forEachLine(_ body: (SuppliedRecord) throws -> Void) throws {
        var pending: [UInt8] = []
        var number = 1
        func end(_ line: ArraySlice<UInt8>) throws {
            try explaining(number) {
                guard line.count <= limit else { throw tooLong }
                if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { return }
                var record = try JSONRecordReader.record(in: line)
                record.line = number
                try body(record)
            }
            number += 1
        }
        try forEachPiece { piece in
            var rest = piece
            while let newline = rest.firstIndex(of: 0x0A) {
                if pending.isEmpty {
                    try end(rest[..<newline])
                } else {
                    pending += rest[..<newline]
                    try end(pending[...])
                    pending = []
                }
                rest = rest[(newline + 1)...]
            }
            pending += rest
            if pending.count > limit { try explaining(number) { throw tooLong } }
        }
        if !pending.isEmpty { try end(pending[...]) }
    }

    private func forEachRow(_ body: (SuppliedRecord) throws -> Void) throws {
        var parser = CSVParser(limit: limit)
        var reading: CSVTable?
        func take(_ row: CSVParser.Row) throws {
            try explaining(row.line) {
                if let reading { try body(try reading.record(row)) } else { reading = try CSVTable(input.table ?? "", row, tables) }
            }
        }
        try forEachPiece { piece in
            try explaining(parser.line) {
                for byte in piece { if let row = try parser.input(byte) { try take(row) } }
            }
        }
        try explaining(parser.line) { if let row = try parser.end() { try take(row) } }
        if reading == nil { try explaining(1) { throw RecordFault("the file is empty: its first line names the columns.") } }
    }

    /// Reads the input in pieces, without the byte order mark at its beginning.
    private func forEachPiece(_ body: (ArraySlice<UInt8>) throws -> Void) throws {
        var isFirst = true
        try input.forEachPiece { piece in
            let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
            try body(isFirst && piece.starts(with: mark) ? piece.dropFirst(mark.count) : piece)
            isFirst = false
        }
    }

    private var tooLong: RecordFault {
        RecordFault("the line is longer than \(limit) bytes: check that it is one record, or allow longer ones.")
    }

    /// Runs the body, and adds the file and line to a fault.
    private func explaining<Result>(_ line: @autoclosure () -> Int, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let fault as RecordFault {
            throw input.refusal(line(), fault.message)
        }
    }
}

extension RecordInput {
    /// Returns an error with the reason why nothing is imported.
    func refusal(_ line: Int?, _ reason: String) -> UbiquitousStoreError {
        UbiquitousStoreError(
            .unsupported, "\(name)\(line.map { ", line \($0)" } ?? ""): \(reason) Nothing has been imported.", path: FilePath(name))
    }
}

/// The table of a CSV file, and the columns in its first row.
private struct CSVTable {
    private let table: RecordTable
    private let columns: [String]

    init(_ name: String, _ header: CSVParser.Row, _ tables: [String: RecordTable]) throws(RecordFault) {
        guard let table = tables[name] else { throw RecordTable.unknown(name, among: tables, remedy: "name the file after one of them, with .csv") }
        self.table = table
        var columns: [String] = []
        for field in header.fields {
            guard let column = String(validating: field.bytes, as: UTF8.self) else { throw RecordFault("the name of a column is not UTF-8.") }
            guard !columns.contains(column) else { throw RecordFault("the column “\(column)” stands twice in the first line: leave one.") }
            columns.append(column)
        }
        try table.check(columns)
        self.columns = columns
    }

    func record(_ row: CSVParser.Row) throws(RecordFault) -> SuppliedRecord {
        guard row.fields.count == columns.count else {
            throw RecordFault("the row has \(row.fields.count) fields, and the first line names \(columns.count): complete it, or quote a comma.")
        }
        var values: [RecordValue] = []
        for (field, column) in zip(row.fields, columns) { values.append(try field.value(isText: table.textColumns.contains(column))) }
        return SuppliedRecord(table: table.name, columns: columns, values: values, line: row.line)
    }
}

extension RecordTable {
    /// Checks that a record may have these columns, and that they include its key.
    func check(_ columns: [String]) throws(RecordFault) {
        if let unknown = columns.first(where: { !self.columns.contains($0) }) {
            let list = self.columns.map { "“\($0)”" }.joined(separator: ", ")
            throw RecordFault("“\(unknown)” is no column of “\(name)” that can be written; it has \(list): leave it out, or rename it.")
        }
        if let missing = keyColumns.first(where: { !columns.contains($0) }) {
            throw RecordFault("the column “\(missing)” of the key of “\(name)” is missing: add it, because the key tells which record is meant.")
        }
    }

    static func unknown(_ name: String, among tables: [String: RecordTable], remedy: String) -> RecordFault {
        RecordFault("“\(name)” is no synced table of the store; it has \(list(tables.values.sorted { $0.name < $1.name })): \(remedy).")
    }
}
