internal import Foundation
internal import Glibc
package import StoreExchange
internal import StoreFormat
internal import SystemPackage
internal import UbiquityContainers

/// Many contributors to a public container, who write to its directory.
package struct Contributors: Sendable {
    private let directory: ScopeDirectory
    private let layout: ContentLayout
    private let table: ContributedTable
    /// The contributors, in the order of their arrival.
    package private(set) var all: [Contributor] = []

    package init(to directory: ScopeDirectory, _ table: ContributedTable) {
        (self.directory, self.table) = (directory, table)
        layout = ContentLayout(container: directory.path, content: table.contentName)
    }

    /// Makes accounts, and writes their statements.
    ///
    /// - Parameter count: the number of accounts.
    /// - Throws: `Errno`.
    package mutating func join(_ count: Int) throws {
        let container = directory.container
        try FileManager.default.createDirectory(atPath: layout.directory.string, withIntermediateDirectories: true)
        let new = (0..<count).map { $0 }.mapOnAllProcessors { _ in Contributor(in: container) }
        for contributor in new {
            let folder = "\(directory.accounts)/\(contributor.account)"
            for directory in [folder, "\(layout.directory)/\(contributor.peer)", logs(of: contributor)] {
                guard mkdir(directory, 0o755) == 0 else { throw Errno(rawValue: errno) }
            }
            try Self.write(contributor.statement, to: "\(folder)/1.\(StatementIdentifier(contributor.account.hash)).ubaccount")
        }
        all += new
    }

    /// Writes a log of each of some contributors.
    ///
    /// - Parameters:
    ///   - contributors: their places; nil for all.
    ///   - records: the number of records that each log inserts.
    /// - Returns: the files of the logs.
    /// - Throws: `Errno`.
    @discardableResult
    package mutating func write(of contributors: Range<Int>? = nil, records: Int = 1) throws -> [String] {
        let range = contributors ?? all.indices
        let table = table
        let written = Array(all[range]).mapOnAllProcessors { contributor in
            var contributor = contributor
            let log = contributor.insert(records, into: table)
            return (contributor: contributor, log: log)
        }
        all.replaceSubrange(range, with: written.map(\.contributor))
        return try written.map { contributor, log in
            let file = "\(logs(of: contributor))/\(log.name)"
            try Self.write(log.bytes, to: file)
            return file
        }
    }

    /// Returns the directory of a contributor's logs.
    ///
    /// Texts are put together faster than paths, which matters with many thousands of contributors.
    private func logs(of contributor: Contributor) -> String { "\(layout.directory)/\(contributor.peer)/1" }

    /// Writes a new file without syncing it, because nobody measures the disk of the contributors.
    private static func write(_ bytes: [UInt8], to path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        let file = FileDescriptor(rawValue: descriptor)
        try file.closeAfter { _ = try file.writeAll(bytes) }
    }
}
