import Foundation
import SystemPackage
import UbiquityContainers
import UbiquityStores

/// What a container's logs come to, joined by the rules as they are written down, slowly and without a database.
struct LogModel {
    /// A value with its stamp: the time, then the peer's name.
    private struct Register {
        var time: Int64
        var peer: String
        var value: RecordValue
    }

    private struct Record {
        var life: Int64 = 0
        var registers: [String: Register] = [:]
    }

    private var records: [String: Record] = [:]

    /// Reads every log of a content, in the order of the directory: which is no order at all.
    init(container: FilePath, contentName: String) throws {
        let content = container.appending("CoreData").appending(contentName)
        for path in try FileManager.default.subpathsOfDirectory(atPath: content.string) {
            guard let name = FilePath(path).lastComponent?.string, LogFileName(name) != nil else { continue }
            let bytes = [UInt8](try Data(contentsOf: URL(filePath: content.appending(path).string)))
            try join(LogFile(decoding: bytes))
        }
    }

    private mutating func join(_ log: LogFile) throws {
        let contents = try LogBody.decode(log)
        for group in contents.groups {
            let peer = (group.peer ?? log.header.peer).description
            for rows in group.rows {
                let table = contents.tables[rows.table]
                try rows.forEach(in: table) { change in
                    let key = change.key.map(\.description).joined(separator: "/")
                    var record = records[key] ?? Record()
                    if change.life < record.life { return }
                    if change.life > record.life { record = Record(life: change.life) }
                    var values = change.values.makeIterator()
                    change.columns.forEach { column in
                        let name = table.columns[column]
                        let register = Register(time: group.time.rawValue, peer: peer, value: values.next()!)
                        if let there = record.registers[name], (there.time, there.peer) >= (register.time, register.peer) { return }
                        record.registers[name] = register
                    }
                    records[key] = record
                }
            }
        }
    }

    /// The living records, as SQL quotes them.
    func rows(columns: [String]) -> [String] {
        records.filter { !$0.value.life.isMultiple(of: 2) }.sorted { $0.key < $1.key }.map { key, record in
            "'\(key)': " + columns.map { record.registers[$0]?.value.description ?? "NULL" }.joined(separator: ", ")
        }
    }
}
