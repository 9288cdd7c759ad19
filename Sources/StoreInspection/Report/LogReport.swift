package import Foundation
package import StoreFormat
internal import StoreRecords
package import SystemPackage
internal import UbiquityContainers

/// A log in readable form.
package struct LogReport: Sendable, Codable {
    /// The name of the file.
    package var file: String
    /// The reason why the bytes do not match the name, or that the name is not a log's; nil if they match.
    package var fault: String?
    /// The author.
    package var peer: String
    /// The content's name.
    package var contentName: String
    /// The epoch.
    package var epoch: Int64
    /// The sequence of the log.
    package var sequence: Int64
    /// The hash of the author's previous log.
    package var predecessor: String?
    /// The logs that the author had read since its previous log.
    package var news: [Receipt.Entry]
    /// The author's last migration.
    package var schema: String
    /// When it was written, by the author's clock.
    package var created: Date
    /// The number of saves in it.
    package var saves: Int64
    /// The changes, in the order of the file.
    package var changes: [Change]

    /// The author's same-as facts.
    package var same: [Same]

    /// The peers that the author retired.
    package var retired: [Retired]

    /// A peer that is not expected back.
    package struct Retired: Sendable, Codable {
        /// Its identifier.
        package var peer: String
        /// The number of its newest receipt at that time.
        package var receipt: Int64
        /// The last of its logs that nobody waits for any more; 0 for none.
        package var sequence: Int64
    }

    /// Two records that are one, as long as both lives last.
    package struct Same: Sendable, Codable {
        /// The table.
        package var table: String
        /// The primary keys, as readable text.
        package var keys: [[String]]
        /// Their lives.
        package var lives: [Int64]
    }

    /// A change of one record.
    package struct Change: Sendable, Codable {
        /// The table.
        package var table: String
        /// The primary key, as readable text.
        package var key: [String]
        /// The record's life: odd is alive, even is dead.
        package var life: Int64
        /// When the save was made, by the hybrid clock.
        package var stamp: Date
        /// The number of earlier stamps of that millisecond.
        package var counter: Int
        /// The columns written, with their values as readable text; empty for a death.
        package var columns: [Column]
    }

    /// A column that a change writes.
    package struct Column: Sendable, Codable {
        /// Its name.
        package var name: String
        /// Its value, as readable text.
        package var value: String
    }

    /// Reads a log.
    ///
    /// - Parameter path: the file; a file that is not named like a log is accepted, and `fault` mentions it.
    /// - Throws: `UbiquitousStoreError` if it cannot be read as a log.
    package init(of path: FilePath) throws {
        if (try? FileFacts(of: path))?.kind == .directory {
            let remedy = "name a log in it, CoreData/<content>/<peer>/<epoch>/<sequence>.<content hash>.ublog of a container"
            throw UbiquitousStoreError(.fileSystem, "\(path) is a directory; \(remedy).", path: path)
        }
        let bytes: [UInt8]
        do {
            bytes = try LinuxFileLayer().read(path, limit: LogFile.limit)
        } catch {
            throw UbiquitousStoreError(.fileSystem, "\(path) cannot be read; check the name and the file's mode.", path: path, cause: error)
        }
        let name = LogFileName(path.lastComponent?.string ?? "")
        do {
            let log = try LogFile(decoding: bytes)
            var fault: String?
            if let name {
                do { _ = try LogFile(decoding: bytes, named: name) } catch { fault = error.description }
            } else {
                fault = "its name is not that of a log, so that its bytes cannot be checked"
            }
            try self.init(log, file: path.lastComponent?.string ?? "", fault: fault)
        } catch let error as LogFault {
            throw UbiquitousStoreError(.malformed, "\(path) cannot be read as a log: \(error).", path: path)
        } catch is WireReader.Fault {
            throw UbiquitousStoreError(.malformed, "\(path) cannot be read as a log: its body is malformed.", path: path)
        }
    }

    private init(_ log: LogFile, file: String, fault: String?) throws {
        let header = log.header
        self.file = file
        self.fault = fault
        peer = header.peer.description
        contentName = header.contentName
        epoch = header.epoch
        sequence = header.sequence
        predecessor = header.predecessor?.description
        news = header.news.entries.map {
            Receipt.Entry(peer: $0.peer.description, sequence: $0.position.sequence, hash: $0.position.hash.description)
        }
        schema = header.schema
        created = header.created
        saves = header.saves
        changes = []
        same = []
        let contents = try LogBody.decode(log)
        retired = contents.retired.sorted { $0.key < $1.key }.map {
            Retired(peer: $0.key.description, receipt: $0.value.receipt, sequence: $0.value.sequence)
        }
        for group in contents.groups {
            for rows in group.rows {
                let table = contents.tables[rows.table]
                try rows.forEach(in: table, values: { .text("\($0.length) bytes in values/\($0.hash)") }) { change in
                    var columns: [Column] = []
                    var values = change.values.makeIterator()
                    change.columns.forEach { columns.append(Column(name: table.columns[$0], value: values.next()!.description)) }
                    changes.append(
                        Change(
                            table: table.name, key: change.key.map(\.description), life: change.life, stamp: group.time.date,
                            counter: Int(group.time.rawValue & 0xFFFF), columns: columns))
                }
            }
            same += group.same.map { entry in
                let records = [entry.fact.first, entry.fact.second]
                return Same(
                    table: contents.tables[entry.table].name, keys: records.map { $0.key.map(\.description) }, lives: records.map(\.life))
            }
        }
    }
}
