import Foundation
import GRDB
import Glibc
import UbiquityContainers
import UbiquityStores

/// The encoding of logs: life, key, mask, values, one change after the other.
struct RowWise: ChangeEncoding {
    let name = "row-wise"

    func encode(_ changes: [LogBody.Change]) -> [UInt8] {
        var writer = WireWriter()
        for change in changes {
            writer.varint(UInt64(change.life))
            for value in change.key { writer.recordValue(value) }
            if change.life.isMultiple(of: 2) { continue }
            writer.varint(UInt64(change.columns.rawValue))
            for value in change.values { writer.recordValue(value) }
        }
        var body = LogBodyBuilder()
        body.add(Item.logTable, count: changes.count, rows: writer)
        return body.encoded(time: .least)
    }

    func decode(_ bytes: [UInt8], _ body: (LogBody.Change) -> Void) throws {
        let header = LogHeader(
            peer: PeerIdentifier(account: "bench", uuid: UUID()), contentName: "Items", epoch: 1, sequence: 1, predecessor: nil, news: Knowledge(),
            schema: "", created: Date(timeIntervalSince1970: 0), saves: 1, changes: 0)
        let contents = try LogBody.decode(LogFile(decoding: LogFile.encode(header, body: bytes)))
        try contents.groups[0].rows[0].forEach(in: contents.tables[0]) { body($0) }
    }
}

/// All lives, then all keys, then all masks, then the values by column, so that similar values are adjacent.
struct ColumnWise: ChangeEncoding {
    let name = "column-wise"

    func encode(_ changes: [LogBody.Change]) -> [UInt8] {
        var writer = WireWriter()
        writer.varint(UInt64(changes.count))
        for change in changes { writer.varint(UInt64(change.life)) }
        for change in changes { writer.recordValue(change.key[0]) }
        for change in changes where !change.life.isMultiple(of: 2) { writer.varint(UInt64(change.columns.rawValue)) }
        for column in Item.logTable.columns.indices {
            let bit = ColumnSet(column: column)
            for change in changes where change.columns.contains(bit) {
                let below = change.columns.rawValue & ((1 << Int64(column)) - 1)
                writer.recordValue(change.values[below.nonzeroBitCount])
            }
        }
        return writer.bytes
    }

    func decode(_ bytes: [UInt8], _ body: (LogBody.Change) -> Void) throws {
        var reader = WireReader(bytes[...])
        let count = Int(try reader.varint())
        var changes = [LogBody.Change](repeating: LogBody.Change(), count: count)
        for index in 0..<count { changes[index].life = Int64(try reader.varint()) }
        for index in 0..<count { changes[index].key.append(try reader.recordValue()) }
        for index in 0..<count where !changes[index].life.isMultiple(of: 2) {
            changes[index].columns = ColumnSet(rawValue: Int64(try reader.varint()))
        }
        for column in Item.logTable.columns.indices {
            let bit = ColumnSet(column: column)
            for index in 0..<count where changes[index].columns.contains(bit) { changes[index].values.append(try reader.recordValue()) }
        }
        // A join handles one record after the other, so all columns must be decoded before the first record.
        for change in changes { body(change) }
    }
}

/// A Protocol Buffers message for each change and for each value.
struct TaggedFields: ChangeEncoding {
    let name = "a message a change"

    func encode(_ changes: [LogBody.Change]) -> [UInt8] {
        var writer = WireWriter()
        for change in changes {
            var message = WireWriter()
            message.field(1, varint: UInt64(change.life))
            var key = WireWriter()
            for value in change.key { key.recordValue(value) }
            message.field(2, bytes: key.bytes)
            var index = 0
            change.columns.forEach { column in
                var value = WireWriter()
                value.recordValue(change.values[index])
                message.field(column + 3, bytes: value.bytes)
                index += 1
            }
            writer.field(1, bytes: message.bytes)
        }
        return writer.bytes
    }

    func decode(_ bytes: [UInt8], _ body: (LogBody.Change) -> Void) throws {
        var reader = WireReader(bytes[...])
        while let (_, value) = try reader.nextField() {
            var change = LogBody.Change()
            var message = WireReader(try value.data)
            while let (number, value) = try message.nextField() {
                if number == 1 {
                    change.life = Int64(try value.number)
                    continue
                }
                var part = WireReader(try value.data)
                if number == 2 {
                    change.key.append(try part.recordValue())
                } else {
                    change.columns.insert(ColumnSet(column: number - 3))
                    change.values.append(try part.recordValue())
                }
            }
            body(change)
        }
    }
}

/// One object on each line, as a careful programmer would write it.
struct JSONLines: ChangeEncoding {
    let name = "JSON"

    private struct Line: Codable {
        var life: Int64
        var key: String
        var values: [String: Value]
    }

    private enum Value: Codable {
        case integer(Int64)
        case real(Double)
        case text(String)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                self = .text(text)
            } else if let integer = try? container.decode(Int64.self) {
                self = .integer(integer)
            } else {
                self = .real(try container.decode(Double.self))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .integer(let value): try container.encode(value)
            case .real(let value): try container.encode(value)
            case .text(let value): try container.encode(value)
            }
        }
    }

    func encode(_ changes: [LogBody.Change]) throws -> [UInt8] {
        let encoder = JSONEncoder()
        var bytes: [UInt8] = []
        for change in changes {
            var line = Line(life: change.life, key: change.key[0].description, values: [:])
            var values = change.values.makeIterator()
            change.columns.forEach { column in
                let value: Value =
                    switch values.next()! {
                    case .integer(let integer): .integer(integer)
                    case .real(let bits): .real(Double(bitPattern: bits))
                    case let other: .text(other.description)
                    }
                line.values[Item.logTable.columns[column]] = value
            }
            bytes += try encoder.encode(line)
            bytes.append(UInt8(ascii: "\n"))
        }
        return bytes
    }

    func decode(_ bytes: [UInt8], _ body: (LogBody.Change) -> Void) throws {
        let decoder = JSONDecoder()
        for text in bytes.split(separator: UInt8(ascii: "\n")) {
            let line = try decoder.decode(Line.self, from: Data(text))
            var change = LogBody.Change()
            change.life = line.life
            change.key = [.text(line.key)]
            for (column, name) in Item.logTable.columns.enumerated() {
                guard let value = line.values[name] else { continue }
                change.columns.insert(ColumnSet(column: column))
                switch value {
                case .integer(let integer): change.values.append(.integer(integer))
                case .real(let real): change.values.append(.real(real.bitPattern))
                case .text(let text): change.values.append(.text(text))
                }
            }
            body(change)
        }
    }
}

/// A database with one table of changes, like that of a session extension or a baseline.
struct SQLiteImage: ChangeEncoding {
    let name = "an SQLite image"

    private var file: URL {
        // In memory, so that the disk has no influence.
        URL(filePath: "/dev/shm/ubiquity-bench-\(getpid()).sqlite")
    }

    func encode(_ changes: [LogBody.Change]) throws -> [UInt8] {
        defer { try? FileManager.default.removeItem(at: file) }
        let queue = try DatabaseQueue(path: file.path)
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA journal_mode = OFF")
            try db.inTransaction {
                let columns = Item.logTable.columns.joined(separator: ", ")
                try db.execute(sql: "CREATE TABLE change (life INTEGER, id TEXT, mask INTEGER, \(columns))")
                let insert = try db.makeStatement(
                    sql: "INSERT INTO change VALUES (?,?,?\(String(repeating: ",?", count: Item.logTable.columns.count)))")
                for change in changes {
                    var arguments: [(any DatabaseValueConvertible)?] = [change.life, change.key[0].description, change.columns.rawValue]
                    var index = 0
                    for column in Item.logTable.columns.indices {
                        guard change.columns.contains(ColumnSet(column: column)) else {
                            arguments.append(nil)
                            continue
                        }
                        switch change.values[index] {
                        case .integer(let integer): arguments.append(integer)
                        case .real(let bits): arguments.append(Double(bitPattern: bits))
                        case let other: arguments.append(other.description)
                        }
                        index += 1
                    }
                    try insert.execute(arguments: StatementArguments(arguments))
                }
                return .commit
            }
        }
        try queue.close()
        return [UInt8](try Data(contentsOf: file))
    }

    func decode(_ bytes: [UInt8], _ body: (LogBody.Change) -> Void) throws {
        try Data(bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let queue = try DatabaseQueue(path: file.path)
        try queue.read { db in
            let rows = try Row.fetchCursor(db, sql: "SELECT * FROM change")
            while let row = try rows.next() {
                var change = LogBody.Change()
                change.life = row[0]
                change.key = [.text(row[1] as String)]
                change.columns = ColumnSet(rawValue: row[2])
                change.columns.forEach { column in
                    let value: RecordValue =
                        switch (row[column + 3] as DatabaseValue).storage {
                        case .int64(let integer): .integer(integer)
                        case .double(let real): .real(real.bitPattern)
                        case .string(let text): .text(text)
                        default: .null
                        }
                    change.values.append(value)
                }
                body(change)
            }
        }
        try queue.close()
    }
}
