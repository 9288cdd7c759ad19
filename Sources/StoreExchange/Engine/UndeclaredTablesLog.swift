internal import StoreRecords
internal import Synchronization
internal import SystemPackage

/// Names each undeclared table of each file of a store once in the log, however often the file is opened.
final class UndeclaredTablesLog: Sendable {
    private struct Line: Hashable {
        var file: FilePath
        var table: String
    }

    private let named = Mutex<Set<Line>>([])

    /// Warns of tables that have not been named yet.
    ///
    /// - Parameters:
    ///   - tables: the undeclared tables of a file.
    ///   - file: the file.
    ///   - log: the log of the file.
    func warn(of tables: [String], in file: FilePath, _ log: StoreLog) {
        for table in tables where named.withLock({ $0.insert(Line(file: file, table: table)).inserted }) {
            let (detail, remedy) = UndeclaredTables.text(table)
            log.warning("\(detail): \(remedy)")
        }
    }
}
