package import GRDB
package import SystemPackage
internal import UbiquityContainers

/// The result of an export.
public struct RecordExport: Sendable, Hashable, Codable {
    /// The number of exported records of each table.
    public var records: [String: Int] = [:]
}

extension InspectedStore {
    /// Writes the records of synced tables while an app uses the store.
    ///
    /// See ``UbiquitousStore/export(to:format:tables:progress:)``.
    ///
    /// - Parameters:
    ///   - path: the destination; nothing may exist there.
    ///   - format: the format.
    ///   - tables: the synced tables; nil for all of them.
    ///   - progress: called with the completed part, from 0 to 1.
    /// - Returns: the number of exported records of each table.
    /// - Throws: `UbiquitousStoreError`.
    package func export(
        to path: FilePath, format: RecordFormat, tables: [String]? = nil, progress: ((Double) -> Void)? = nil
    ) throws -> RecordExport {
        let place = NewFile(path)
        try place.checkPlace()
        let export = try read { db in try place.drafting { try RecordExporter(tables, db, progress).write(format, to: place.draft) } }
        try place.place()
        return export
    }

    /// Writes records as JSON Lines to a pipe, a terminal or any other descriptor.
    ///
    /// - Parameters:
    ///   - output: the descriptor, which stays open.
    ///   - tables: the synced tables; nil for all of them.
    ///   - progress: called with the completed part, from 0 to 1.
    /// - Returns: the number of exported records of each table.
    /// - Throws: `UbiquitousStoreError`, or `Errno`; some lines may already be written then.
    package func exportLines(to output: FileDescriptor, tables: [String]? = nil, progress: ((Double) -> Void)? = nil) throws -> RecordExport {
        try read { db in try RecordExporter(tables, db, progress).writeLines(to: output) }
    }
}

/// Writes records while it reads them, and holds only a few of them at a time.
package struct RecordExporter {
    private let db: Database
    private let tables: [RecordTable]
    private let progress: ((Double) -> Void)?
    private let total: Int

    package init(_ names: [String]?, _ db: Database, _ progress: ((Double) -> Void)?) throws {
        self.db = db
        self.progress = progress
        tables = try RecordTable.named(names, db)
        // Records are counted only if a caller wants the progress.
        total = try progress == nil ? 0 : tables.reduce(0) { try $0 + Int.fetchOne(db, sql: "SELECT count(*) FROM \($1.quotedName)")! }
    }

    package func write(_ format: RecordFormat, to draft: FilePath) throws -> RecordExport {
        switch format {
        case .jsonLines: return try withNewFile(draft) { try writeLines(to: $0) }
        case .csv:
            try LinuxFileLayer().makeDirectory(draft)
            var export = RecordExport()
            for table in tables {
                try withNewFile(draft.appending(CSVFile.name(of: table.name))) { try writeCSV(table, to: $0, &export) }
            }
            return export
        }
    }

    func writeLines(to descriptor: FileDescriptor) throws -> RecordExport {
        var output = ByteOutput(descriptor)
        var export = RecordExport()
        for table in tables {
            let opening = JSONRecord.opening(table.name)
            let members = table.columns.enumerated().map { JSONRecord.member($1, isFirst: $0 == 0) }
            try forEachRow(of: table, &export) { row in
                try output.write { line in
                    line += opening
                    for (column, member) in members.enumerated() {
                        line += member
                        JSONRecord.append(row.value(column), to: &line)
                    }
                    line += Array("}}\n".utf8)
                }
            }
        }
        try output.flush()
        return export
    }

    private func writeCSV(_ table: RecordTable, to descriptor: FileDescriptor, _ export: inout RecordExport) throws {
        var output = ByteOutput(descriptor)
        try output.write { line in
            for (column, name) in table.columns.enumerated() {
                if column > 0 { line.append(UInt8(ascii: ",")) }
                CSVField.append(header: name, to: &line)
            }
            line += Array("\r\n".utf8)
        }
        try forEachRow(of: table, &export) { row in
            try output.write { line in
                for column in table.columns.indices {
                    if column > 0 { line.append(UInt8(ascii: ",")) }
                    CSVField.append(row.value(column), to: &line)
                }
                line += Array("\r\n".utf8)
            }
        }
        try output.flush()
    }

    private func forEachRow(of table: RecordTable, _ export: inout RecordExport, _ body: (RawStatement) throws -> Void) throws {
        let columns = table.columns.map(\.quotedIdentifier).joined(separator: ", ")
        let order = table.keyColumns.map(\.quotedIdentifier).joined(separator: ", ")
        let statement = try RawStatement("SELECT \(columns) FROM \(table.quotedName) ORDER BY \(order)", db)
        defer { statement.reset() }
        let before = export.records.values.reduce(0, +)
        var count = 0
        while try statement.step() {
            try body(statement)
            count += 1
            if count.isMultiple(of: 1000) {
                try Task.checkCancellation()
                progress?(Double(before + count) / Double(max(1, total)))
            }
        }
        try Task.checkCancellation()
        export.records[table.name] = count
    }

    private func withNewFile<Result>(_ path: FilePath, _ body: (FileDescriptor) throws -> Result) throws -> Result {
        let descriptor = try FileDescriptor.open(
            path, .writeOnly, options: [.create, .exclusiveCreate, .closeOnExec],
            permissions: [.ownerReadWrite, .groupRead, .otherRead])
        return try descriptor.closeAfter { try body(descriptor) }
    }
}
